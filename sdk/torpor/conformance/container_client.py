"""HTTP/1.1 to a container as SageMaker speaks it. It follows no redirect, retries nothing, and times each answer."""

import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, RemoteDisconnected
from types import MappingProxyType

SHOWN_BYTES = 200
READ_BYTES = 64 * 1024
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class NoContainerAnswer(Exception):
    """No whole answer came. The message says to which request, and why."""


@dataclass(frozen=True)
class ContainerAnswer:
    """A whole answer. `headers` has lower-case names."""

    request: str
    """The method and the path, such as `POST /models`."""
    status: int
    headers: Mapping[str, str]
    body: bytes
    first_s: float
    """From the request to the first byte of the body, or to the end of an empty one."""
    took_s: float
    closes: bool
    """Whether the answer says that its connection ends with it."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def content_type(self) -> str:
        """Without parameters, in lower case; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def shown(self) -> str:
        """One line for a person: status, type and the start of the body."""
        text = self.body[:SHOWN_BYTES].decode(errors="replace")
        more = "…" if len(self.body) > SHOWN_BYTES else ""
        return " ".join(f"{self.status} {self.content_type} {text}{more}".split())


class ContainerConnection:
    """One connection, for requests one after another."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS, *, within_s: float
    ) -> ContainerAnswer:
        """The answer, read to its end within so many seconds. Raises NoContainerAnswer."""
        request = f"{method} {path}"
        start_s = time.monotonic()
        try:
            self._wait_until(start_s + within_s)
            response = self._responded(method, path, body, headers)
            content, first_s = self._read(response, start_s, start_s + within_s)
        except TimeoutError:
            raise NoContainerAnswer(f"{request}: no whole answer within {within_s:g} s") from None
        except RemoteDisconnected:
            raise NoContainerAnswer(f"{request}: the container closed the connection without an answer") from None
        except (HTTPException, OSError) as error:
            raise NoContainerAnswer(f"{request}: no whole answer ({type(error).__name__}: {error})") from None
        named = {name.lower(): value for name, value in response.getheaders()}
        took_s = time.monotonic() - start_s
        return ContainerAnswer(request, response.status, named, content, first_s, took_s, response.will_close)

    def _responded(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> HTTPResponse:
        with suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read the whole body
            self._connection.request(method, path, body or None, dict(headers))
        return self._connection.getresponse()

    def _read(self, response: HTTPResponse, start_s: float, until_s: float) -> tuple[bytes, float]:
        """The body, and the seconds from the start to its first byte."""
        pieces: list[bytes] = []
        first_s = 0.0
        while piece := response.read1(READ_BYTES):
            first_s = first_s or time.monotonic() - start_s
            pieces.append(piece)
            self._wait_until(until_s)
        if response.length:
            raise HTTPException(f"the body ended {response.length} bytes before its Content-Length")
        response.read()  # nothing is left of it: the connection is free for the next request
        return b"".join(pieces), first_s or time.monotonic() - start_s

    def _wait_until(self, moment_s: float) -> None:
        """Raises TimeoutError if the moment has passed."""
        left_s = moment_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        if self._connection.sock is not None:  # it is None once an answer has said that its connection ends
            self._connection.sock.settimeout(left_s)


class ContainerClient:
    """Opens connections to one container."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    @contextmanager
    def connected(self, within_s: float) -> Iterator[ContainerConnection]:
        """A new connection, which is closed at the end. Raises NoContainerAnswer if it is not accepted in time."""
        connection = HTTPConnection(self.host, self.port, timeout=within_s)
        try:
            try:
                connection.connect()
            except TimeoutError:
                raise NoContainerAnswer(f"{self.address} accepted no connection within {within_s:g} s") from None
            except OSError as error:
                raise NoContainerAnswer(f"{self.address} accepts no connection: {error}") from None
            yield ContainerConnection(connection)
        finally:
            connection.close()

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS, *, within_s: float
    ) -> ContainerAnswer:
        """One request on a connection of its own. Raises NoContainerAnswer."""
        with self.connected(within_s) as connection:
            return connection.send(method, path, body, headers, within_s=within_s)

    def closes_after(self, method: str, path: str, within_s: float) -> bool:
        """Whether the container closes the connection after its answer to `Connection: close`. Raises
        NoContainerAnswer."""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.address}\r\nConnection: close\r\n\r\n"
        try:
            with socket.create_connection((self.host, self.port), within_s) as connection:
                connection.sendall(head.encode())
                until_s = time.monotonic() + within_s
                while connection.recv(READ_BYTES):
                    connection.settimeout(max(0.001, until_s - time.monotonic()))
                return True
        except TimeoutError:
            return False
        except OSError as error:
            raise NoContainerAnswer(f"{method} {path}: no answer ({error})") from None

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"
