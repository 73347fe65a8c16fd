"""Reads the requests of one connection out of its bytes, however these are cut.

A request is read in two steps, and nothing behind it is looked at before the caller asks for the next one:

    HEAD ──── `head` returns one ────> BODY ──── `body_whole` ────> HEAD

It holds what has come and is not read: how much that may be is for the caller to bound.
"""

from typing import Generic, Protocol, TypeVar

from torpor_container.http.messages.body_framing import ChunkedBody, SizedBody
from torpor_container.http.messages.request_heads import RequestHead, RequestRefused, check_begun

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Heads(Protocol[T_co]):
    """A mapping that has every head: it reads what it does not know."""

    def __getitem__(self, data: bytes, /) -> T_co: ...


class RequestReader(Generic[T]):
    """`unread`: what has come and is not read. `body_whole`: the request in hand is read to its end. `last_head`: the
    bytes of the head that was read last."""

    def __init__(self, heads: Heads[T]) -> None:
        """`heads` has what is made of a head, by its bytes, and raises RequestRefused for one that is none."""
        self._heads = heads
        self.unread: bytes | bytearray = b""
        self.last_head = b""
        self._searched = 0  # of a head that is not whole
        self._skipped = False
        self._body: SizedBody | ChunkedBody | None = None  # None where a body came with its head, or in HEAD

    def add(self, data: bytes) -> None:
        if not self.unread:
            self.unread = data
            return
        if isinstance(self.unread, bytes):
            self.unread = bytearray(self.unread)
        self.unread += data

    # -- HEAD --------------------------------------------------------------------------------------------------------
    def head(self) -> T | None:
        """The next head, if it is there as a whole. Raises RequestRefused."""
        unread = self.unread
        end = unread.find(b"\r\n\r\n", self._searched) + 4
        if end <= 4 or unread[:2] == b"\r\n":
            return self._begun()
        self.last_head = bytes(unread[:end])
        head = self._heads[self.last_head]
        if isinstance(unread, bytes):
            self.unread = unread[end:]
        else:
            del unread[:end]
        self._searched, self._skipped = 0, False
        return head

    def _begun(self) -> T | None:
        """What is there of a head. RFC 9112, section 2.2: one empty line before it is ignored."""
        if self.unread.startswith(b"\r\n") and not self._skipped:
            self._skipped, self._searched = True, 0
            self._drop(2)
            return self.head()
        if self.unread.startswith(b"\r\n"):
            raise RequestRefused(400, "Invalid request line")
        check_begun(self.unread, self._searched)
        self._searched = max(len(self.unread) - 3, 0)
        return None

    # -- BODY --------------------------------------------------------------------------------------------------------
    def whole_body(self, head: RequestHead) -> bytes | None:
        """The body of this head, if all of it is there already."""
        length, there = head.length, len(self.unread)
        if length is None or length > there:
            return None
        if length == there:
            body, self.unread = bytes(self.unread), b""
        else:
            body = bytes(self.unread[:length])
            self._drop(length)
        return body

    def begin_body(self, head: RequestHead) -> None:
        self._body = ChunkedBody() if head.length is None else SizedBody(head.length) if head.length else None

    def body(self) -> bytes:
        """What has come of the body, or as much of that as may be read at once. Raises RequestRefused."""
        assert self._body is not None
        content, end = self._body.read(self.unread)
        self._drop(end)
        if self._body.whole:
            self._body = None
        return content

    @property
    def body_whole(self) -> bool:
        return self._body is None

    def _drop(self, size: int) -> None:
        """Most often that is everything. A large rest is not copied again for each request in it."""
        if size == len(self.unread):
            self.unread = b""
        elif isinstance(self.unread, bytearray):
            del self.unread[:size]
        elif size:
            self.unread = bytearray(memoryview(self.unread)[size:])
