"""HTTP/1.1 over connections that are kept and shared by all threads. It signs nothing and repeats nothing."""

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

KEPT_MAX = 64
"""Connections that nobody uses. More threads than that may call at once."""


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is. By https: whose certificates are trusted, and the proxy, if there is one."""

    url: str
    ca_bundle: str | None = None
    proxy: str | None = None


class Unsent(Exception):
    """The request did not go out whole, so nobody has acted on it. Its cause is the reason."""


class Post:
    """Requests to one server. It may be used by all threads at once, and is closed at the end."""

    def __init__(self, connection: Callable[[], HTTPConnection], answer_within_s: float) -> None:
        """`connection` makes one that is not open yet. `answer_within_s` is how long each next piece may take."""
        self._connection = connection
        self._answer_within_s = answer_within_s
        self._kept: deque[tuple[HTTPConnection, int]] = deque()
        self._closed = False

    def send(self, request: bytes) -> Answer:
        """The answer to a whole request. Raises Unsent, NoAnswer."""
        connection = self._taken() or self._opened()
        with ExitStack() as unkept:
            unkept.callback(connection.close)
            answer, goes_on = _exchanged(connection, request)
            if goes_on and not self._closed and len(self._kept) < KEPT_MAX:
                self._kept.append((connection, os.getpid()))
                unkept.pop_all()
        return answer

    def close(self) -> None:
        """Close what is kept; a call that is in flight goes on, and closes its own."""
        self._closed = True
        with suppress(IndexError):
            while True:
                self._kept.pop()[0].close()

    def _taken(self) -> HTTPConnection | None:
        """The one that was used last and that the server has not closed since."""
        with suppress(IndexError):
            while True:
                connection, pid = self._kept.pop()
                # After a fork, parent and child have the same connections: one would get the other's answer.
                if pid == os.getpid() and not wait_for_read(connection.sock, 0):
                    return connection
                connection.close()
        return None

    def _opened(self) -> HTTPConnection:
        if self._closed:
            raise TorporError("this caller is closed: make another")
        connection = self._connection()
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            connection.close()
            raise Unsent from error
        connection.sock.settimeout(self._answer_within_s)
        return connection


def _exchanged(connection: HTTPConnection, request: bytes) -> tuple[Answer, bool]:
    """The answer, and whether the connection can take another request. Raises Unsent, NoAnswer."""
    unsent: OSError | None = None
    try:
        # In one piece, for Torpor parses at once what arrives whole. http.client would send the head by itself.
        connection.sock.sendall(request)
    except TimeoutError as error:
        raise NoAnswer(error) from error
    except OSError as error:
        unsent = error  # who refuses a body that is too large may have said so before it closed
    try:
        response = HTTPResponse(connection.sock, method="POST")
        with response:
            response.begin()
            body = response.read()
            if response.length is None and not response.chunked:
                raise IncompleteRead(body)  # it ended with the connection, so nobody knows whether it was whole
    except (OSError, HTTPException) as error:
        if unsent is not None:
            raise Unsent from unsent
        raise NoAnswer(error) from error
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(body, headers, response.status), unsent is None and not response.will_close


def connections(address: ServerAddress, within_s: float) -> Callable[[], HTTPConnection]:
    """What makes connections to a server. Raises TorporError for a proxy that it cannot use."""
    there = urlsplit(address.url)
    host, port = there.hostname or "", there.port
    if there.scheme == "http":
        return lambda: HTTPConnection(host, port, timeout=within_s)
    context = ssl.create_default_context(cafile=address.ca_bundle)
    if address.proxy is None:
        return lambda: HTTPSConnection(host, port, timeout=within_s, context=context)
    proxy = urlsplit(address.proxy if "://" in address.proxy else f"http://{address.proxy}")
    if proxy.scheme != "http":
        raise TorporError(f"the proxy is reached by {proxy.scheme}: let HTTPS_PROXY begin with http://")

    def tunnel() -> HTTPConnection:
        made = HTTPSConnection(proxy.hostname or "", proxy.port or 80, timeout=within_s, context=context)
        made.set_tunnel(host, port or 443, _proxy_headers(proxy))
        return made

    return tunnel


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    return make_headers(proxy_basic_auth=f"{unquote(proxy.username)}:{unquote(proxy.password or '')}")
