"""Finds the caller of a bearer token of Amazon SageMaker, which is a presigned request in base64.

A token is `sagemaker-api-key-` and the base64 of a POST's URL without its scheme: to `sagemaker.amazonaws.com`, with
`Action=CallWithBearerToken`, signed in its query for at most twelve hours, and then `&Version=1`, which is not signed
(AWS, "Invoke models with OpenAI-compatible endpoints"; token_generator.py of the SageMaker Python SDK 3). No service is
asked: the signature says all.
"""

from base64 import b64decode, urlsafe_b64decode
from binascii import Error as NotBase64

from torpor_account.access.problems import NotAuthentic, Problem
from torpor_account.access.verifying import Verifier
from torpor_account.aws.wire.asgi import Scope
from torpor_account.core.access.claims import decoded_pairs
from torpor_account.core.access.needs import AccessNeed, CallerAccess

PREFIX = b"sagemaker-api-key-"
HOST = "sagemaker.amazonaws.com"
ACTION = b"CallWithBearerToken"
VERSION = "&Version=1"
LASTS_MAX_S = 43_200
TOKEN_MAX_BYTES = 8192
CALLING = AccessNeed(("sagemaker:CallWithBearerToken",), "*")


def bearer_caller(verifier: Verifier, scope: Scope) -> CallerAccess | None:
    """Who made the bearer token of a request; None for a request without one. Raises NotAuthentic, and AccessRefused
    for a caller who may not call by tokens."""
    given = [value for name, value in scope["headers"] if name == b"authorization" and value[:7].lower() == b"bearer "]
    if len(given) != 1:
        return None
    query = query_of(given[0][7:].strip())
    asked = {**scope, "method": "POST", "path": "/", "raw_path": b"/", "query_string": query}
    known = verifier.signer({**asked, "headers": [(b"host", HOST.encode())]}, b"", "sagemaker")
    if known is None:
        raise _malformed("its request is not signed")
    caller = verifier.access(scope, known)
    caller.check((CALLING,))
    return caller


def query_of(token: bytes) -> bytes:
    """The signed query in a token. Raises NotAuthentic."""
    if not token.startswith(PREFIX) or len(token) > TOKEN_MAX_BYTES:
        raise _malformed("it does not begin with sagemaker-api-key-, or is too long")
    text = _text_of(token.removeprefix(PREFIX))
    host, slash, query = text.removesuffix(VERSION).partition("/?")
    if host != HOST or not slash or not text.endswith(VERSION):
        raise _malformed(f"it is for another address than {HOST}, or of another version")
    signed = query.encode("utf-8", "replace")
    pairs = dict(decoded_pairs(signed))
    if pairs.get(b"Action") != ACTION:
        raise _malformed("its action is not CallWithBearerToken")
    lasts = pairs.get(b"X-Amz-Expires", b"")
    if not lasts.isdigit() or len(lasts) > 5 or int(lasts) > LASTS_MAX_S:
        raise _malformed(f"X-Amz-Expires is a number of seconds up to {LASTS_MAX_S}")
    return signed


def _text_of(encoded: bytes) -> str:
    """Raises NotAuthentic."""
    try:
        padded = encoded + b"=" * (-len(encoded) % 4)
        decode = urlsafe_b64decode if b"-" in encoded or b"_" in encoded else b64decode
        return decode(padded).decode()
    except (NotBase64, ValueError):
        raise _malformed("it is not base64") from None


def _malformed(why: str) -> NotAuthentic:
    return NotAuthentic(Problem.INCOMPLETE, f"The bearer token is none of Amazon SageMaker: {why}.")
