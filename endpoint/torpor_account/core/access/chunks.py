"""Verifies the chunks of an S3 body that was signed piece by piece, and the signed trailers after them.

https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html. It decodes nothing: the bytes go on as they are.
It is strict about their form, so that whoever decodes them afterwards finds the same chunks.
"""

import hmac
import re
from enum import Enum, auto
from hashlib import sha256

from torpor_account.core.access.claims import BadSignature, Claim, Flaw
from torpor_account.core.access.signatures import EMPTY, MISMATCH, signing_key

LINE_MAX_BYTES = 4096
TRAILERS_MAX_BYTES = 16384

_HEAD = re.compile(rb"([0-9a-f]{1,12});chunk-signature=([0-9a-f]{64})")
_SIGNED_TRAILER = b"x-amz-trailer-signature:"


class _At(Enum):
    HEAD = auto()
    PAYLOAD = auto()
    PAYLOAD_END = auto()
    TRAILERS = auto()
    LAST_LINE = auto()
    END = auto()


class ChunkSignatures:
    """Takes a body in any pieces. `feed` and `finish` raise BadSignature for the first chunk that was not signed.

    `trailing`: a signature of the trailers follows the last chunk.
    """

    _left_bytes: int
    _stated: str

    def __init__(self, claim: Claim, secret: str, *, trailing: bool) -> None:
        self._key = signing_key(secret, claim.date, claim.region, claim.service)
        self._about = f"{claim.moment}\n{claim.scope}"
        self._before = claim.signature
        self._trailing = trailing
        self._at = _At.HEAD
        self._line = b""
        self._trailers = b""

    def feed(self, piece: bytes) -> None:
        at = 0
        while at < len(piece):
            if self._at is _At.PAYLOAD:
                taken = piece[at : at + self._left_bytes]
                self._digest.update(taken)
                self._left_bytes -= len(taken)
                at += len(taken)
                if not self._left_bytes:
                    self._at = _At.PAYLOAD_END
            elif self._at is _At.END:
                raise _malformed("bytes follow the last chunk")
            else:
                at = self._read_line(piece, at)

    def finish(self) -> None:
        """Raises BadSignature if the last chunk, or the signature of the trailers, did not come."""
        if self._at is not _At.END:
            raise _malformed("the body ends before its last chunk")

    def _read_line(self, piece: bytes, at: int) -> int:
        end = piece.find(b"\n", at)
        stop = len(piece) if end < 0 else end + 1
        self._line += piece[at:stop]
        if len(self._line) > LINE_MAX_BYTES:
            raise _malformed("a line is too long")
        if end >= 0:
            if not self._line.endswith(b"\r\n"):
                raise _malformed("a line does not end with CRLF")
            line, self._line = self._line[:-2], b""
            self._line_ended(line)
        return stop

    def _line_ended(self, line: bytes) -> None:
        match self._at:
            case _At.HEAD:
                self._begin(line)
            case _At.PAYLOAD_END if not line:
                self._check_chunk()
                self._at = _At.HEAD
            case _At.TRAILERS:
                self._trailer(line)
            case _At.LAST_LINE if not line:
                self._at = _At.END
            case _:
                raise _malformed("a chunk is longer than it says")

    def _begin(self, line: bytes) -> None:
        found = _HEAD.fullmatch(line)
        if found is None:
            raise _malformed("a chunk has no size with a signature")
        self._left_bytes, self._stated = int(found[1], 16), found[2].decode()
        self._digest = sha256()
        self._at = _At.PAYLOAD
        if not self._left_bytes:
            self._check_chunk()
            self._at = _At.TRAILERS if self._trailing else _At.LAST_LINE

    def _check_chunk(self) -> None:
        self._check(f"AWS4-HMAC-SHA256-PAYLOAD\n{self._about}\n{self._before}\n{EMPTY}\n{self._digest.hexdigest()}")

    def _trailer(self, line: bytes) -> None:
        if not line.startswith(_SIGNED_TRAILER):
            self._trailers += line + b"\n"
            if not line or len(self._trailers) > TRAILERS_MAX_BYTES:
                raise _malformed("the trailers are not signed")
            return
        self._stated = line.removeprefix(_SIGNED_TRAILER).decode("latin-1")
        digest = sha256(self._trailers).hexdigest()
        self._check(f"AWS4-HMAC-SHA256-TRAILER\n{self._about}\n{self._before}\n{digest}")
        self._at = _At.LAST_LINE

    def _check(self, to_sign: str) -> None:
        """Each signature covers the one before, so no chunk can be left out, repeated or moved."""
        signature = hmac.digest(self._key, to_sign.encode(), "sha256").hex()
        if not hmac.compare_digest(signature.encode(), self._stated.encode("latin-1")):
            raise BadSignature(Flaw.MISMATCH, MISMATCH, b"", to_sign)
        self._before = signature


def _malformed(why: str) -> BadSignature:
    return BadSignature(Flaw.PAYLOAD, f"The signed chunks of the body are malformed: {why}.")
