"""The uploads that the policy of an HTML form allows."""

import json
from base64 import b64encode
from typing import Any

import pytest

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.post_policy import UploadSizes, allowed

END = "2020-01-01T00:00:00Z"
END_S = 1_577_836_800
BUCKET: dict[str, str] = {"bucket": "b"}


def form(document: Any, **fields: str) -> dict[str, str]:
    """A form signed in the old way, whose own fields no policy has to name."""
    policy = b64encode(json.dumps(document).encode()).decode()
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return {"awsaccesskeyid": "a", "signature": "s", "policy": policy, "key": "up/a.txt", **named}


def saying(*conditions: Any, **fields: str) -> dict[str, str]:
    return form({"expiration": END, "conditions": [BUCKET, ["starts-with", "$key", ""], *conditions]}, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        saying(),
        saying(["eq", "$key", "up/a.txt"]),
        saying(["StArTs-WiTh", "$KeY", "up/"]),
        saying({"AcL": "private"}, acl="private"),
        saying(["starts-with", "$x-amz-meta-a", ""], x_amz_meta_a="anything"),
        saying(["starts-with", "$Content-Type", "image/"], content_type="image/png,image/gif"),
        saying(x_ignore_me="1"),
        form({"expiration": "2020-01-01T00:00:00.000Z", "conditions": [BUCKET, {"key": "up/a.txt"}]}),
    ],
)
def test_a_form_that_meets_its_policy_is_allowed_until_it_expires(fields: dict[str, str]) -> None:
    assert allowed("b", fields, END_S) == UploadSizes()
    with pytest.raises(S3Error, match="Policy expired") as refused:
        allowed("b", fields, END_S + 1)
    assert refused.value.refusal is Refusal.AccessDenied


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (saying({"key": "other"}), 'Policy Condition failed: ["eq", "$key", "other"]'),
        (saying(["starts-with", "$key", "down/"]), 'Policy Condition failed: ["starts-with", "$key", "down/"]'),
        (saying(["starts-with", "$acl", ""]), 'Policy Condition failed: ["starts-with", "$acl", ""]'),
        (saying(["starts-with", "$content-type", "image/"], content_type="image/png,text/x"), "Condition failed"),
        (saying({"bucket": "other"}), "Condition failed"),
        (saying(acl="private"), "Extra input fields: acl"),
        (form({"expiration": END, "conditions": [{"key": "up/a.txt"}]}), "Extra input fields: bucket"),
    ],
)
def test_a_form_that_does_not_meet_its_policy_is_denied(fields: dict[str, str], told: str) -> None:
    with pytest.raises(S3Error) as refused:
        allowed("b", fields, END_S)
    assert refused.value.refusal is Refusal.AccessDenied
    assert f"Invalid according to Policy: {told}" in str(refused.value) or told in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [
        {**saying(), "policy": "no JSON"},
        {**saying(), "policy": "ü"},
        form([]),
        form({"EXPIRATION": END, "conditions": []}),
        form({"expiration": END}),
        form({"expiration": END, "CONDITIONS": []}),
        form({"expiration": "2020-01-01 00:00:00", "conditions": []}),
        saying({}),
        saying({"a": "1", "b": "2"}),
        saying({"a": 1}),
        saying(["eq", "key", "no dollar"]),
        saying(["ends-with", "$key", "a"]),
        saying([]),
        saying("key"),
        saying(["content-length-range", 0]),
        saying(["content-length-range", -1, 0]),
    ],
)
def test_a_malformed_policy_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(S3Error) as refused:
        allowed("b", fields, END_S)
    assert refused.value.refusal is Refusal.InvalidPolicyDocument


def test_a_policy_bounds_the_size() -> None:
    sizes = allowed("b", saying(["content-length-range", 2, "9"], ["content-length-range", 1, 5]), END_S)
    assert sizes == UploadSizes(2, 5)
    sizes.check(2)
    with pytest.raises(S3Error) as refused:
        sizes.check(1)
    assert refused.value.refusal is Refusal.EntityTooSmall


@pytest.mark.parametrize("missing", ["signature", "awsaccesskeyid"])
def test_a_policy_comes_with_its_signature(missing: str) -> None:
    with pytest.raises(S3Error, match=f"'{missing}'") as refused:
        allowed("b", {name: value for name, value in saying().items() if name != missing}, END_S)
    assert refused.value.refusal is Refusal.InvalidArgument


def test_a_form_without_a_policy_is_as_a_request_without_a_signature() -> None:
    assert allowed("b", {"key": "k", "acl": "public-read"}, END_S) == UploadSizes()
