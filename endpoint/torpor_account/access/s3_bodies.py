"""Checks the body of an S3 request against what was signed of it, while it arrives."""

from hashlib import sha256

from torpor_account.access.problems import not_authentic
from torpor_account.access.verifying import SignedBody
from torpor_account.aws.wire.asgi import Message, Receive, Scope
from torpor_account.core.access.chunks import ChunkSignatures
from torpor_account.core.access.claims import BadSignature, Flaw
from torpor_account.core.access.signatures import Payload

BODILESS = ("GET", "HEAD", "DELETE")
NEEDLESS_MAX_BYTES = 64 * 1024


class HashedBody:
    """A body whose SHA-256 was signed."""

    def __init__(self, digest: str) -> None:
        self._expected = digest
        self._digest = sha256()

    def feed(self, piece: bytes) -> None:
        self._digest.update(piece)

    def finish(self) -> None:
        """Raises BadSignature."""
        if self._digest.hexdigest() != self._expected:
            raise BadSignature(
                Flaw.PAYLOAD, "The provided 'x-amz-content-sha256' header does not match what was computed."
            )


def checked(body: SignedBody, method: str, receive: Receive) -> Receive:
    """A `receive` that raises S3Error instead of the last piece of a body that was not signed so.

    The body of a PUT whose hash is in a header goes on as it is: S3 compares the two in the thread that stores it.
    """
    match body.kind:
        case Payload.CHUNKS | Payload.CHUNKS_TRAILER:
            trailing = body.kind is Payload.CHUNKS_TRAILER
            return _checking(ChunkSignatures(body.claim, body.secret, trailing=trailing), receive)
        case Payload.HASHED if method != "PUT" or body.claim.lasts_s is not None:
            return _checking(HashedBody(body.payload), receive)
    return receive


def is_needless(body: SignedBody, scope: Scope) -> bool:
    """Whether a request has a body that its operation does not read, though it was signed what the body is."""
    return scope["method"] in BODILESS and body.kind is Payload.HASHED and _has_body(scope)


def compare(body: SignedBody, content: bytes) -> None:
    """Raises NotAuthentic if this is not the body that was signed."""
    check = HashedBody(body.payload)
    check.feed(content)
    try:
        check.finish()
    except BadSignature as bad:
        raise not_authentic(bad, link=False, given="") from None


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _checking(check: ChunkSignatures | HashedBody, receive: Receive) -> Receive:
    """After it has raised, it gives the rest of the body as it is: S3 reads that before it answers."""
    failed_at: list[Message] = []

    async def passed_on() -> Message:
        if failed_at and not failed_at[0].get("more_body", False):
            return {"type": "http.request", "body": b"", "more_body": False}
        message = await receive()
        if message["type"] == "http.request" and not failed_at:
            try:
                check.feed(message.get("body", b""))
                if not message.get("more_body", False):
                    check.finish()
            except BadSignature as bad:
                failed_at.append({**message, "body": b""})
                raise _refusal(bad) from None
        return message

    return passed_on


def _refusal(bad: BadSignature) -> Exception:
    from torpor_account.s3.errors import Refusal, S3Error

    mismatch = bad.flaw is Flaw.MISMATCH
    return S3Error(Refusal.SignatureDoesNotMatch if mismatch else Refusal.XAmzContentSHA256Mismatch, bad.message)
