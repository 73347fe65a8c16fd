"""The process that serves: gunicorn's ASGI worker with Torpor's connections, and a stop that waits for requests.

`DrainingWorker` runs below gunicorn's arbiter (see `lazy_worker`). `serve_alone` runs the same worker without an
arbiter, on an inherited socket: an instance has a supervisor already.
"""

import asyncio
import gc
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from torpor_container.http.connections import Connections, TrackedConnection
from torpor_container.http.exchange import Framed, InlineApp, InParts, Tell
from torpor_container.http.gunicorn_internals import GunicornWorker, Listener
from torpor_container.http.half_closed import HalfClosedConnections
from torpor_container.http.server import Server, ServerOptions, allowed_connections
from torpor_container.http.tls.certificate import ServerCertificate
from torpor_container.http.tls.front import Handshakes, TlsFront
from torpor_container.processes.process_tree import descendants, kill
from torpor_container.transport.frames import Header
from torpor_container.transport.greetings import CountedGreeting, Greetings

YOUNG_MAX = 5_000
"""So many more objects are made than freed before Python looks for garbage among the young. Its own number is 700."""

LAST_S = 0.2
"""So long before it would be killed itself, a process that cannot stop kills what it started."""


class InFlight:
    """An ASGI application around another one. It counts requests by either way, and `drained` waits for none.

    The answer to a HEAD has no body, whatever the inner application sends: many send that of a GET.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._take_inline = app.take_inline if isinstance(app, InlineApp) else _never
        self.framed = app.framed if isinstance(app, Framed) else None
        self.in_parts = isinstance(app, InParts) and app.in_parts
        self.requests = 0
        self._none: asyncio.Event | None = None  # there only while somebody waits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.requests += 1
        try:
            await self._app(scope, receive, send if scope["method"] != "HEAD" else _without_body(send))
        finally:
            self._request_ended()

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `exchange.InlineApp`."""

        def answered(status: int, headers: list[Header], content: bytes) -> None:
            self._request_ended()
            tell(status, headers, content)

        self.requests += 1
        taken = False
        try:
            taken = self._take_inline(scope, body, answered)
        finally:
            if not taken:
                self._request_ended()
        return taken

    async def drained(self) -> None:
        """Wait until the last request is answered."""
        while self.requests:  # one may have come since the last one was answered
            self._none = self._none or asyncio.Event()
            await self._none.wait()

    def _request_ended(self) -> None:
        self.requests -= 1
        if self._none is not None and not self.requests:
            self._none.set()
            self._none = None


def _without_body(send: Send) -> Send:
    async def bare(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return bare


def _never(scope: Scope, body: bytes, tell: Tell) -> bool:
    return False


class DrainingWorker(GunicornWorker):
    """gunicorn's worker. It hears SIGTERM at once, and then waits for requests in flight and clients that still read.

    gunicorn's own hears of it at its next heartbeat, and waits for connections: clients keep idle ones open for
    minutes.
    """

    _serving: "asyncio.Task[Any] | None" = None
    _watching: "tuple[asyncio.Task[None], ...]" = ()  # kept, since the event loop does not

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._options: ServerOptions = self.app.options
        allowed = self._options.connections_max or allowed_connections()
        each_max = self._options.connections_per_client
        self.connections = Connections(allowed, self._options.patience, self.log, each_max)
        self.greetings = Greetings(self.connections.room_for_greetings, self.connections.greetings_crowded)
        self.handshakes = Handshakes(self)
        tls = self._options.tls
        self.certificate = None if tls is None else ServerCertificate(tls, self.log)
        self.half_closed_connections = HalfClosedConnections()

    def make_connection(self) -> asyncio.Protocol:
        """A connection of whoever comes, by TLS if there is a certificate; with a secret, of those alone who prove that
        they know it."""
        secret, made = self._options.secret, partial(TrackedConnection, self)
        if secret is not None:
            return CountedGreeting(self.greetings, secret, made)
        return made() if self.certificate is None else TlsFront(self)

    def load_wsgi(self) -> None:
        self.asgi = InFlight(self.app.wsgi())
        gc.collect()
        gc.freeze()  # what is here now stays: a collection need not walk all modules for one request's garbage
        gc.set_threshold(YOUNG_MAX)

    async def serve(self) -> None:
        self._serving = asyncio.current_task()
        watched = (self.connections, *(() if self.certificate is None else (self.certificate,)))
        self._watching = tuple(asyncio.create_task(one.watch()) for one in watched)
        await super().serve()

    async def shut_down(self) -> None:
        for server in self.servers:
            server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.graceful_s):
                await self._answered()
        self.nr_conns = 0  # gunicorn waits for so many connections: those still open are idle
        await super().shut_down()

    async def _answered(self) -> None:
        """Wait until every request that has come is answered, and no answer waits for its client to read on."""
        while self.asgi.requests or self.connections.unfinished:
            await self.asgi.drained()
            await self.connections.until_read()

    def handle_exit_signal(self) -> None:
        if self.alive and self._serving is not None:  # a second signal must not cut the shutdown short
            self._serving.cancel()
            Thread(target=self._end_in_time, daemon=True).start()
        super().handle_exit_signal()

    def _end_in_time(self) -> None:
        """Whatever hangs, this process and all that it started end within the time that a stop has."""
        time.sleep(self._options.graceful_s + self._options.shutdown_s - LAST_S)
        self.log.warning("the stop takes too long, and what is left of it is killed")
        kill(descendants(os.getpid()))
        os._exit(1)

    def handle_quit_signal(self) -> None:
        """Ctrl-C drains too."""
        self.handle_exit_signal()


def serve_alone(make_app: Callable[[], ASGIApp], listener: socket.socket, options: ServerOptions) -> None:
    """Serve on one listening socket in this process until SIGTERM, or until its parent is gone."""
    server = Server(make_app, options)
    log = server.cfg.logger_class(server.cfg)
    DrainingWorker(1, os.getppid(), [Listener(listener)], server, 0, server.cfg, log).init_process()
