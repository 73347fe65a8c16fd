"""How much a document may hold: counted on its bytes, in one pass each, before a parser takes it up; pure.

Parsers in native code let nothing else run until they are done. What they cost depends on how many values a document
has far more than on its bytes, so the values are bounded too.
"""

VALUES_MAX = 400_000
"""PutMetricData takes 1,000 metrics of 150 values and 150 counts each, and no call of AWS's takes more values."""

FORM_FIELDS_MAX = 100_000
FORM_DEPTH_MAX = 32
"""How many parts the name of a form's field may have: `MetricData.member.1.Dimensions.member.1.Name` has seven."""


def json_values(document: bytes) -> int:
    """At least as many as the document has: each but the first stands behind a comma, or opens what it stands in."""
    return 1 + document.count(b",") + document.count(b"[") + document.count(b"{")


def form_fields(form: str) -> int:
    return 1 + form.count("&")
