"""HTTP/1.1 POST requests over a pool of connections, which all threads share. It neither signs nor retries."""

import os
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import SplitResult, unquote, urlsplit

from urllib3.util import make_headers, wait_for_read

from torpor.calling.answer import Answer
from torpor.errors import NoAnswer, TorporError

IDLE_MAX = 64
"""The most idle connections. More threads than that may call at once."""


@dataclass(frozen=True)
class ServerAddress:
    """A server's address; for https with the trusted certificates, and the proxy if there is one."""

    url: str
    ca_bundle: str | None = None
    proxy: str | None = None


class Unsent(Exception):
    """The request was not sent completely, so the server has not acted on it. Its cause is the reason."""


class Post:
    """Sends requests to one server. It is safe for threads. Close it at the end."""

    def __init__(self, connection: Callable[[], HTTPConnection], answer_within_s: float) -> None:
        """`connection` makes a connection that is not open yet. `answer_within_s` is the longest wait for each
        piece."""
        self._connection = connection
        self._answer_within_s = answer_within_s
        self._idle: deque[tuple[HTTPConnection, int]] = deque()
        self._closed = False

    def send(self, request: bytes) -> Answer:
        """Send a whole request, and return its answer. Raises Unsent, NoAnswer."""
        connection = self._taken() or self._opened()
        with ExitStack() as on_exit:
            on_exit.callback(connection.close)
            answer, reusable = _exchange(connection, request)
            if reusable and not self._closed and len(self._idle) < IDLE_MAX:
                self._idle.append((connection, os.getpid()))
                on_exit.pop_all()
        return answer

    def close(self) -> None:
        """Close the idle connections; a call in flight continues, and closes its own."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop()[0].close()

    def _taken(self) -> HTTPConnection | None:
        """The idle connection that was used last and that the server has not closed; None if there is none."""
        with suppress(IndexError):
            while True:
                connection, pid = self._idle.pop()
                # After a fork, parent and child have the same connections: one could get the other's answer.
                if pid == os.getpid() and not wait_for_read(connection.sock, 0):
                    return connection
                connection.close()
        return None

    def _opened(self) -> HTTPConnection:
        if self._closed:
            raise TorporError("this caller is closed: make another one")
        connection = self._connection()
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise Unsent from error
        connection.sock.settimeout(self._answer_within_s)
        return connection


def _exchange(connection: HTTPConnection, request: bytes) -> tuple[Answer, bool]:
    """The answer, and whether the connection can take another request. Raises Unsent, NoAnswer."""
    unsent: OSError | None = None
    try:
        # In one piece: Torpor has a fast path for complete requests, and http.client would send the head by itself.
        connection.sock.sendall(request)
    except TimeoutError as error:
        raise NoAnswer(error) from error
    except OSError as error:
        unsent = error  # a server that refuses a large body may answer before it closes the connection
    try:
        response = HTTPResponse(connection.sock, method="POST")
        with response:
            response.begin()
            body = response.read()
            if response.length is None and not response.chunked:
                raise IncompleteRead(body)  # the connection's end ends the body, so it may be incomplete
    except (OSError, HTTPException) as error:
        if unsent is not None:
            raise Unsent from unsent
        raise NoAnswer(error) from error
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(body, headers, response.status), unsent is None and not response.will_close


def connections(address: ServerAddress, within_s: float) -> Callable[[], HTTPConnection]:
    """A function that makes connections to a server. Raises TorporError for a proxy that is not reached by http."""
    there = urlsplit(address.url)
    host, port = there.hostname or "", there.port
    if there.scheme == "http":
        return lambda: HTTPConnection(host, port, timeout=within_s)
    context = ssl.create_default_context(cafile=address.ca_bundle)
    if address.proxy is None:
        return lambda: HTTPSConnection(host, port, timeout=within_s, context=context)
    proxy = urlsplit(address.proxy if "://" in address.proxy else f"http://{address.proxy}")
    if proxy.scheme != "http":
        raise TorporError(f"a proxy must be reached by http, not {proxy.scheme}: HTTPS_PROXY must begin with http://")

    def tunnel() -> HTTPConnection:
        made = HTTPSConnection(proxy.hostname or "", proxy.port or 80, timeout=within_s, context=context)
        made.set_tunnel(host, port or 443, _proxy_headers(proxy))
        return made

    return tunnel


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    return make_headers(proxy_basic_auth=f"{unquote(proxy.username)}:{unquote(proxy.password or '')}")
