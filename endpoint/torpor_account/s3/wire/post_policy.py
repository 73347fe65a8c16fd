"""Checks an HTML form against its policy: what its signer allows to upload, and until when. Pure.

https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
"""

import json
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.intake import OBJECT_MAX_BYTES

POLICY: Final = "policy"

# AWS: each of these "must be present if a policy document is included with the request", by either kind of signature.
_SIGNATURES: Final = {
    "x-amz-signature": ("x-amz-algorithm", "x-amz-credential", "x-amz-date"),
    "signature": ("awsaccesskeyid",),
}
# AWS: "Each form field that you specify in a form (except x-amz-signature, file, policy, and field names that have an
# x-ignore- prefix) must appear in the list of conditions."
_UNASKED: Final = frozenset((POLICY, "x-amz-signature", "signature", "awsaccesskeyid"))
_IGNORED: Final = "x-ignore-"

_DATES: Final = ("%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%SZ")
_RANGE: Final = "content-length-range"


def _starts(name: str, value: str, beginning: str) -> bool:
    """AWS: content types "that include commas are interpreted as lists"; "each value in the list must meet the
    condition"."""
    values = value.split(",") if name == "content-type" else [value]
    return all(one.startswith(beginning) for one in values)


_MATCHES: Final[Mapping[str, Callable[[str, str, str], bool]]] = {
    "eq": lambda _, value, expected: value == expected,
    "starts-with": _starts,
}


@dataclass(frozen=True)
class UploadSizes:
    """The least and the most bytes that an upload may have."""

    least: int = 0
    most: int = OBJECT_MAX_BYTES

    def check(self, size_bytes: int) -> None:
        """Raises EntityTooSmall. A file that is too large is refused while it arrives."""
        if size_bytes < self.least:
            given = {"ProposedSize": str(size_bytes), "MinSizeAllowed": str(self.least)}
            raise S3Error(Refusal.EntityTooSmall, **given)


@dataclass(frozen=True)
class _Condition:
    """The condition on a field's value. `field` is in lower case."""

    match: str
    field: str
    expected: str

    def __str__(self) -> str:
        return json.dumps([self.match, f"${self.field}", self.expected])

    def holds(self, values: Mapping[str, str]) -> bool:
        return self.field in values and _MATCHES[self.match](self.field, values[self.field], self.expected)


def allowed(bucket: str, fields: Mapping[str, str], now_s: float) -> UploadSizes:
    """The sizes that the form's file may have. `fields` are by lower-case name, with expanded variables.

    Raises AccessDenied if the form violates its policy, and InvalidPolicyDocument for a malformed policy. A form
    without a policy is like an unsigned request.
    """
    if POLICY not in fields:
        return UploadSizes()
    _check_signed(fields)
    expires_s, conditions, sizes = _read(fields[POLICY])
    if now_s > expires_s:
        raise _denied("Policy expired.")
    values = {**fields, "bucket": bucket}
    for condition in conditions:
        if not condition.holds(values):
            raise _denied(f"Policy Condition failed: {condition}")
    extra = values.keys() - {condition.field for condition in conditions} - _UNASKED
    if extra := {name for name in extra if not name.startswith(_IGNORED)}:
        raise _denied(f"Extra input fields: {', '.join(sorted(extra))}")
    return sizes


def _check_signed(fields: Mapping[str, str]) -> None:
    signature = "signature" if "signature" in fields or "awsaccesskeyid" in fields else "x-amz-signature"
    for name in (signature, *_SIGNATURES[signature]):
        if name not in fields:
            text = f"Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of "
            raise S3Error(Refusal.InvalidArgument, f"{text}the fields.", ArgumentName=name)


def _read(policy: str) -> tuple[float, list[_Condition], UploadSizes]:
    try:
        document = json.loads(b64decode(policy))
    except (ValueError, RecursionError) as error:
        raise _invalid("Invalid JSON.") from error
    match document:
        case {"expiration": str(expiration), "conditions": list(rules)}:
            ranges = [rule for rule in rules if _operator(rule) == _RANGE]
            conditions = [_condition(rule) for rule in rules if _operator(rule) != _RANGE]
            return _moment_s(expiration), conditions, _sizes(ranges)
        case {"expiration": _}:
            raise _invalid("Policy missing conditions.")
    raise _invalid("Policy missing expiration.")


def _condition(rule: Any) -> _Condition:
    match rule:
        case dict() if len(rule) != 1:
            raise _invalid("Invalid Simple-Condition: Simple-Conditions must have exactly one property specified.")
        case dict():
            ((name, expected),) = rule.items()
            return _Condition("eq", name.lower(), _text(expected))
        case [_, str(name), expected] if _operator(rule) in _MATCHES and name.startswith("$"):
            return _Condition(_operator(rule), name[1:].lower(), _text(expected))
    raise _invalid(f"Invalid Condition: {json.dumps(rule)}")


def _sizes(ranges: list[Any]) -> UploadSizes:
    found = UploadSizes()
    for rule in ranges:
        match [_whole(number) for number in rule[1:]]:
            case [int(least), int(most)]:
                found = UploadSizes(max(found.least, least), min(found.most, most))
            case _:
                raise _invalid(f"Invalid {_RANGE}: {json.dumps(rule)}")
    return found


def _whole(number: Any) -> int | None:
    """A number of bytes, which some clients write as a string."""
    text = str(number)
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 19 else None


def _operator(rule: Any) -> str:
    return rule[0].lower() if isinstance(rule, list) and rule and isinstance(rule[0], str) else ""


def _text(expected: Any) -> str:
    if not isinstance(expected, str):
        raise _invalid(f"Invalid Condition: {json.dumps(expected)} is no string")
    return expected


def _moment_s(expiration: str) -> float:
    for form in _DATES:
        try:
            return datetime.strptime(expiration, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise _invalid(f"Invalid 'expiration' value: '{expiration}'")


def _invalid(why: str) -> S3Error:
    return S3Error(Refusal.InvalidPolicyDocument, f"Invalid Policy: {why}")


def _denied(why: str) -> S3Error:
    return S3Error(Refusal.AccessDenied, f"Invalid according to Policy: {why}")
