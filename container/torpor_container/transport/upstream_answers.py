"""What comes of a request to a server: an answer, or why there is none and whether the server may have acted on it."""

from dataclasses import dataclass, field

Body = list[bytes]
"""In the chunks in which it came: to join those of a large one takes as much memory again."""


class UpstreamError(Exception):
    """The server gave no whole answer."""


class UpstreamRefused(UpstreamError):
    """The request was never sent: the server took no connection, or the connection was lost first."""


class UpstreamBroken(UpstreamError):
    """The connection broke after the request was sent: the server may or may not have acted on it."""


class UpstreamStale(UpstreamBroken):
    """A connection that was used before was closed, and nothing of an answer came: the server had closed it first."""


class UpstreamTimedOut(UpstreamError):
    """No whole answer came in time."""


@dataclass(slots=True)
class UpstreamAnswer:
    """A server's answer. Header names are in lower case.

    `alike`: the header lines that many answers have in common, all but `Server-Timing`; empty if that is unknown.
    """

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: Body = field(default_factory=list)
    alike: bytes = b""

    @property
    def body(self) -> bytes:
        return self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)

    @property
    def announces_its_end(self) -> bool:
        """Whether the headers say where the answer ends. Otherwise its end is that of the connection."""
        return any(name in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    def header(self, name: bytes) -> bytes | None:
        """The value of the first header of this name, which is in lower case."""
        for key, value in self.headers:
            if key == name:
                return value
        return None
