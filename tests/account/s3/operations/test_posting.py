"""A form's fields are what a policy sees of it: not the headers of the request that brings the form."""

from torpor_account.s3.operations.posting import _as_headers


def test_the_fields_of_a_form_are_the_headers_of_a_put() -> None:
    tags = "<Tagging><TagSet><Tag><Key>owner</Key><Value>a b</Value></Tag></TagSet></Tagging>"
    fields = {"key": "k", "acl": "private", "tagging": tags, "x-amz-storage-class": "GLACIER", "policy": "p"}
    assert _as_headers(fields) == {
        "key": "k",
        "x-amz-acl": "private",
        "x-amz-tagging": "owner=a+b",
        "x-amz-storage-class": "GLACIER",
        "policy": "p",
    }
