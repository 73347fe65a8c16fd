"""Reads the body of a request: how many bytes of what has come belong to it, and which of these are content."""

import re

from torpor_container.http.messages.request_heads import BARE_LF, FIELD_MAX_BYTES, HEADERS_MAX, RequestRefused

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_EXTENSIONS = rb"(?:;%b(?:=(?:%b|%b))?)*" % (_TOKEN, _TOKEN, _QUOTED)
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})%b\r\n" % _EXTENSIONS)
"""RFC 9112, section 7.1: a size, and extensions, which are not for us. llhttp refuses spaces around these too."""
TRAILER = re.compile(rb"(%b):[\t -~\x80-\xff]*\r\n" % _TOKEN)
FORBIDDEN_TRAILERS = frozenset({b"host", b"content-length", b"transfer-encoding", b"trailer", b"authorization", b"te"})
"""RFC 9110, section 6.5.1: they alter where a message ends, who sent it, or to whom it goes."""

CHUNKS_AT_ONCE = 2_000
"""So many chunks are read at once: in some milliseconds, whatever their size."""


class SizedBody:
    """A body of a known length. `whole`: its last byte was read."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.whole = not length

    def read(self, data: bytes | bytearray, at: int = 0) -> tuple[bytes, int]:
        """The content in `data` from `at` on, and where it ends."""
        end = min(len(data), at + self._left)
        self._left -= end - at
        self.whole = not self._left
        return bytes(data[at:end]), end


class ChunkedBody:
    """A body in chunks, and what may follow it: trailers, which are checked and dropped."""

    def __init__(self) -> None:
        self.whole = False
        self._left = 0  # of a chunk that has begun, with the CRLF behind it
        self._last = False  # the chunk of size 0 was read
        self._trailers = 0

    def read(self, data: bytes | bytearray, at: int = 0) -> tuple[bytes, int]:
        """The content of at most CHUNKS_AT_ONCE chunks in `data` from `at` on, and where that ends.

        Raises RequestRefused.
        """
        pieces: list[bytes] = []
        for _ in range(CHUNKS_AT_ONCE):
            before = at
            at = self._trailer(data, at) if self._last else self._chunk(data, at, pieces)
            if at == before or self.whole:
                break
        return b"".join(pieces), at

    def _chunk(self, data: bytes | bytearray, at: int, pieces: list[bytes]) -> int:
        """Read on in a chunk, or begin the next one. The same place again means that more must come first."""
        if not self._left:
            line = CHUNK_LINE.match(data, at) if _has_line(data, at) else None
            if line is None:
                return _awaited(data, at, "Invalid chunk size")
            self._left = int(line[1], 16) + 2
            self._last = self._left == 2
            if self._last:
                return line.end()
            at = line.end()
        end = min(len(data), at + self._left - 2)
        if end > at:
            pieces.append(bytes(data[at:end]))
            self._left -= end - at
        if self._left > 2 or len(data) < end + 2:
            return max(at, end)
        if data[end : end + 2] != b"\r\n":
            raise RequestRefused(400, "A chunk is not followed by CRLF")
        self._left = 0
        return end + 2

    def _trailer(self, data: bytes | bytearray, at: int) -> int:
        if data[at : at + 2] == b"\r\n":
            self.whole = True
            return at + 2
        trailer = TRAILER.match(data, at) if _has_line(data, at) else None
        if trailer is None:
            return _awaited(data, at, "Invalid trailer")
        if trailer.end() - at > FIELD_MAX_BYTES or self._trailers == HEADERS_MAX:
            raise RequestRefused(431, "Too many trailer fields")
        if trailer[1].lower() in FORBIDDEN_TRAILERS:
            raise RequestRefused(400, f"{trailer[1].decode('ascii')} may not be a trailer")
        self._trailers += 1
        return trailer.end()


def _has_line(data: bytes | bytearray, at: int) -> bool:
    """Whether the line that begins there is whole: an expression that is tried on a part may take long to fail."""
    return data.find(b"\r\n", at) >= 0


def _awaited(data: bytes | bytearray, at: int, fault: str) -> int:
    """The same place, if the line that begins there is not whole. Raises RequestRefused if it is, or never will be."""
    if _has_line(data, at) or BARE_LF.search(data, at) or len(data) - at > FIELD_MAX_BYTES:
        raise RequestRefused(400, fault)
    return at
