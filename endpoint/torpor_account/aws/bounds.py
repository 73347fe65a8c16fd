"""Counts the values in a document before it is parsed, in one pass over its bytes, so that their number has a bound.

A parser in native code lets nothing else run until it is done, and its time depends on the number of values far more
than on the number of bytes.
"""

VALUES_MAX = 400_000
"""PutMetricData takes 1,000 metrics of 150 values and 150 counts each. No other AWS operation takes more values."""

FORM_FIELDS_MAX = 100_000
FORM_DEPTH_MAX = 32
"""The most parts in the name of a form field: `MetricData.member.1.Dimensions.member.1.Name` has seven."""


def json_values(document: bytes) -> int:
    """An upper bound of the number of values: each but the first follows a comma or an opening bracket."""
    return 1 + document.count(b",") + document.count(b"[") + document.count(b"{")


def form_fields(form: str) -> int:
    """The number of fields in a URL-encoded form."""
    return 1 + form.count("&")
