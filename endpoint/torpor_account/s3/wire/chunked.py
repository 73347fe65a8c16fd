"""Decodes an `aws-chunked` body into payload and trailers. It reads no socket and checks no signature."""

from enum import Enum, auto
from typing import Final

from torpor_account.s3.errors import Refusal, S3Error

_LINE_MAX_BYTES: Final = 4096
_TRAILERS_MAX: Final = 16


class _Expect(Enum):
    SIZE = auto()
    PAYLOAD = auto()
    PAYLOAD_END = auto()
    TRAILER = auto()
    NOTHING = auto()


class ChunkedDecoder:
    """`<hex>[;chunk-signature=...]\\r\\n<payload>\\r\\n ... 0\\r\\n[name:value\\r\\n ...]\\r\\n`, fed in any pieces."""

    def __init__(self) -> None:
        self.trailers: dict[str, str] = {}
        self._expect = _Expect.SIZE
        self._left_bytes = 0
        self._line = b""

    def feed(self, piece: bytes) -> list[bytes]:
        """The payload within `piece`."""
        payload: list[bytes] = []
        at = 0
        while at < len(piece) and self._expect is not _Expect.NOTHING:
            if self._expect is _Expect.PAYLOAD:
                taken = piece[at : at + self._left_bytes]
                payload.append(taken)
                at += len(taken)
                self._took(len(taken))
            else:
                at = self._read_line(piece, at)
        return payload

    def finish(self) -> dict[str, str]:
        """The trailers, after the end of the body. Raises IncompleteBody if it ended before its last chunk."""
        if self._expect not in (_Expect.TRAILER, _Expect.NOTHING):
            raise S3Error(Refusal.IncompleteBody)
        if self._line:  # the last trailer may come without a line end
            self._trailer(self._line)
        return self.trailers

    def _took(self, size_bytes: int) -> None:
        self._left_bytes -= size_bytes
        if not self._left_bytes:
            self._expect = _Expect.PAYLOAD_END

    def _read_line(self, piece: bytes, at: int) -> int:
        end = piece.find(b"\n", at)
        stop = len(piece) if end < 0 else end + 1
        self._line += piece[at:stop]
        if len(self._line) > _LINE_MAX_BYTES:
            raise S3Error(Refusal.InvalidRequest, "A chunk header of the request body is too long.")
        if end >= 0:
            line, self._line = self._line.rstrip(b"\r\n"), b""
            self._line_ended(line)
        return stop

    def _line_ended(self, line: bytes) -> None:
        if self._expect is _Expect.SIZE:
            self._left_bytes = _size(line)
            self._expect = _Expect.PAYLOAD if self._left_bytes else _Expect.TRAILER
        elif self._expect is _Expect.PAYLOAD_END:
            if line:
                raise S3Error(Refusal.IncompleteBody)
            self._expect = _Expect.SIZE
        elif line:
            self._trailer(line)
        else:
            self._expect = _Expect.NOTHING

    def _trailer(self, line: bytes) -> None:
        name, _, value = line.decode("latin-1").partition(":")
        self.trailers[name.strip().lower()] = value.strip()
        if len(self.trailers) > _TRAILERS_MAX:
            raise S3Error(Refusal.InvalidRequest, "The request body has too many trailers.")


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or not all(char in b"0123456789abcdefABCDEF" for char in digits) or len(digits) > 16:
        raise S3Error(Refusal.IncompleteBody, "The request body has a malformed chunk header.")
    return int(digits, 16)
