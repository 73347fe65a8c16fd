"""Reads presigned links: when they expire, and which headers they carry. It verifies no signature. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error

WEEK_S: Final = 604_800

_SIGNING: Final = frozenset(
    (
        *("x-amz-algorithm", "x-amz-content-sha256", "x-amz-credential", "x-amz-date", "x-amz-expires"),
        *("x-amz-security-token", "x-amz-signature", "x-amz-signedheaders", "x-amz-user-agent"),
    )
)
# The SDK for JavaScript signs a link with the checksum of an empty body.
_OF_THE_BODY: Final = ("x-amz-checksum-", "x-amz-sdk-checksum-", "x-amz-trailer", "x-amz-decoded-")

_DATE: Final = "%Y%m%dT%H%M%SZ"


def check_not_expired(query: Mapping[str, str], now_s: float) -> None:
    """Raises AccessDenied for an expired link, as S3 does. Other requests do not expire."""
    expires_s = _expires_s(query)
    if expires_s is None or now_s <= expires_s:
        return
    times = {"Expires": _iso(expires_s), "ServerTime": _iso(now_s)}
    if "X-Amz-Expires" in query:
        times = {"X-Amz-Expires": query["X-Amz-Expires"], **times}
    raise S3Error(Refusal.AccessDenied, "Request has expired", **times)


def carried(query: Mapping[str, str]) -> dict[str, str]:
    """The headers that a link's signer moved into its query: S3's own, and with old signatures also the content's."""
    if "X-Amz-Signature" not in query and "AWSAccessKeyId" not in query:
        return {}
    named = {name.lower(): value for name, value in query.items()}
    content = () if "X-Amz-Signature" in query else ("content-type", "content-md5")
    return {
        name: value.encode().decode("latin-1")  # like the bytes of a header
        for name, value in named.items()
        if name in content or (name.startswith("x-amz-") and name not in _SIGNING and not name.startswith(_OF_THE_BODY))
    }


def _expires_s(query: Mapping[str, str]) -> float | None:
    """When the link expires, in epoch seconds, by either version of signatures; None if it is no link."""
    if "X-Amz-Signature" in query:
        return _signed_s(query.get("X-Amz-Date", "")) + _lasts_s(query.get("X-Amz-Expires", ""))
    if "Signature" in query and "AWSAccessKeyId" in query:
        return _epoch_s(query.get("Expires", ""))
    return None


def _signed_s(date: str) -> float:
    try:
        return datetime.strptime(date, _DATE).replace(tzinfo=UTC).timestamp()
    except ValueError as error:
        text = "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\""
        raise S3Error(Refusal.AuthorizationQueryParametersError, text) from error


def _lasts_s(expires: str) -> int:
    if not (expires.isascii() and expires.isdecimal()):
        raise S3Error(Refusal.AuthorizationQueryParametersError, "X-Amz-Expires should be a number")
    if len(expires) > len(str(WEEK_S)) or int(expires) > WEEK_S:
        text = f"X-Amz-Expires must be less than a week (in seconds) that is {WEEK_S} seconds"
        raise S3Error(Refusal.AuthorizationQueryParametersError, text)
    return int(expires)


def _epoch_s(expires: str) -> float:
    if not (expires.isascii() and expires.isdecimal() and len(expires) <= 11):
        raise S3Error(Refusal.AccessDenied, f"Invalid date (should be seconds since epoch): {expires}")
    return float(expires)


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
