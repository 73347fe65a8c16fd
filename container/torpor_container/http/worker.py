"""gunicorn's ASGI worker as Torpor runs it, and the same worker alone on an inherited socket, without an arbiter.

Alone is for an instance that a host supervises already.
"""

import asyncio
import gc
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any

from gunicorn.asgi import protocol
from gunicorn.workers import gasgi
from starlette.types import ASGIApp, Receive, Scope, Send

from torpor_container.core.patience import Kind
from torpor_container.http.bounded_requests import JoinedBody
from torpor_container.http.departures import Departures
from torpor_container.http.exchange import AtOnce, Framed, Tell
from torpor_container.http.server import Server, ServerOptions, allowed_connections
from torpor_container.http.short_requests import ShortRequests
from torpor_container.processes.memory import give_back
from torpor_container.processes.process_tree import descendants, kill
from torpor_container.transport.frames import Header

YOUNG_MAX = 5_000
"""How many more objects are made than freed before the young ones are looked through. Python's own number is 700."""


LOOK_S = 1.0
"""How often the connections are looked at for clients that keep them waiting."""

TOLD_EVERY_S = 60.0
"""How often the log says that there are too many connections."""

BODIES_MIN_BYTES = 16 * 1024 * 1024

LAST_S = 0.2
"""So long before it would be killed itself, a process that cannot stop kills what it started."""

IDLE_LOOKED_AT = 1_000
"""Where all connections are taken, so many of the oldest are looked at for an idle one."""


class InFlight:
    """An ASGI application that knows when nobody is inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._at_once = app.at_once if isinstance(app, AtOnce) else _never
        self.framed = app.framed if isinstance(app, Framed) else None
        self.requests = 0
        self._none: asyncio.Event | None = None  # somebody waits for it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.requests += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._went()

    def at_once(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `exchange.AtOnce`."""

        def told(status: int, headers: list[Header], content: bytes) -> None:
            self._went()
            tell(status, headers, content)

        self.requests += 1
        taken = False
        try:
            taken = self._at_once(scope, body, told)
        finally:
            if not taken:
                self._went()
        return taken

    async def drained(self) -> None:
        """Wait until the last request is answered."""
        while self.requests:  # one may have come since the last one was answered
            self._none = self._none or asyncio.Event()
            await self._none.wait()

    def _went(self) -> None:
        self.requests -= 1
        if self._none is not None and not self.requests:
            self._none.set()
            self._none = None


def _never(scope: Scope, body: bytes, tell: Tell) -> bool:
    return False


class WakingProtocol(ShortRequests):
    """gunicorn's connection, but for short requests and its end.

    It wakes an answer that waits for its client to read, since a client who left never will; and it ends the task that
    waits for a next request at once. gunicorn leaves that one, and with it the whole connection, for the grace period.
    """

    _task: "asyncio.Task[None] | None"

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.worker.connections[self] = None
        self.worker.make_room()

    @property
    def unfinished(self) -> bool:
        """Whether requests have come that are not answered, or its client has yet to read more than the system holds:
        that would be lost with this process."""
        unanswered = self._framed is not None and self._framed.unanswered and not self._gone.is_set()
        return bool(unanswered or self.transport.get_write_buffer_size())

    async def until_read(self) -> None:
        """Wait until the system holds all that is left of its answers, or its client is gone."""
        if self.transport.is_closing():
            await self._gone.wait()  # it goes by itself, once it has sent what is left
            return
        self.transport.set_write_buffer_limits(high=0)  # it tells by this when nothing is left
        await self._flow_control.drain()

    def connection_lost(self, exc: Exception | None) -> None:
        self.worker.connections.pop(self, None)
        if self._flow_control:
            self._flow_control.resume_writing()
        task, self._task = self._task, None
        super().connection_lost(exc)
        self._task = task
        if task is None or task.done():
            return
        if self._awaiting_request and not self._finishing_calls:
            task.cancel()
            return
        self._cancel_late(task)


getattr(protocol, "_CHUNK_PREFIXES", {}).clear()  # the lengths of chunks, ready-made: 1.7 MiB that it can do without
gasgi.ASGIProtocol = WakingProtocol  # the worker makes connections of this name, and offers no other way in
protocol.BodyReceiver = JoinedBody  # and its connections bodies of this name


class PromptWorker(gasgi.ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker, which hears SIGTERM at once instead of at its next heartbeat.

    It then waits for the requests in flight and for the clients that still read, and not, as gunicorn's own does, for
    all connections: clients keep those open, idle, for minutes.
    """

    _serving: "asyncio.Task[Any] | None" = None
    _looking: "asyncio.Task[None] | None" = None  # kept, since the loop does not

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connections: dict[WakingProtocol, None] = {}  # the oldest first
        self.departures = Departures()
        self._told_s = -TOLD_EVERY_S
        self._bodies_bytes = 0  # the most that unfinished ones held, since memory was given back
        self._options: ServerOptions = self.app.options
        self._patience = self._options.patience
        self._connections_max = self._options.connections_max or allowed_connections()

    def load_wsgi(self) -> None:
        self.asgi = InFlight(self.app.wsgi())
        gc.collect()
        gc.freeze()  # what is here now stays: a collection need not walk all modules for one request's garbage
        gc.set_threshold(YOUNG_MAX)

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        self._looking = asyncio.create_task(self._look())
        await super()._serve()

    async def _look(self) -> None:
        """End the connections whose clients keep it waiting."""
        while True:
            await asyncio.sleep(min(LOOK_S, self._patience.head_s / 4, self._patience.body_s / 4))
            await self._give_back_bodies()
            self._end_overdue()

    def _end_overdue(self) -> None:
        """In a function of its own, whose locals hold no connection while the loop above sleeps."""
        now_s = self.loop.time()
        for connection in tuple(self.connections):
            match connection.waiting.overdue(connection.stage(), self._patience, now_s):
                case Kind.SILENT:
                    connection.transport.abort()
                case Kind.HEAD:
                    connection.refuse(408, f"The request's head took over {self._patience.head_s:g} s.")
                case Kind.BODY:
                    connection.refuse(408, f"Nothing of the body came for {self._patience.body_s:g} s.")

    async def _give_back_bodies(self) -> None:
        """Once most of what unfinished bodies held is freed, the system gets it back."""
        held_bytes = sum(connection.unfinished_bytes for connection in self.connections)
        self._bodies_bytes = max(self._bodies_bytes, held_bytes)
        if self._bodies_bytes > BODIES_MIN_BYTES and held_bytes < self._bodies_bytes // 4:
            self._bodies_bytes = held_bytes
            await asyncio.to_thread(give_back)

    def make_room(self) -> None:
        """For a connection too many an idle one goes, else it goes itself, with a 503."""
        if len(self.connections) <= self._connections_max:
            return
        *others, newest = self.connections
        idle = next((one for one in others[:IDLE_LOOKED_AT] if one.idle), None)
        if idle is not None:
            idle.transport.abort()
            return
        if self.loop.time() - self._told_s > TOLD_EVERY_S:
            self._told_s = self.loop.time()
            self.log.warning("clients are turned away: all of %d connections are in use", self._connections_max)
        newest.refuse(503, f"All of {self._connections_max} connections are in use: try again.")

    async def _shutdown(self) -> None:
        for server in self.servers:
            server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.graceful_s):
                await self._answered()
        self.nr_conns = 0  # those still open are idle
        await super()._shutdown()

    async def _answered(self) -> None:
        """Wait until every request that has come is answered, and no answer waits for its client to read on."""
        while self.asgi.requests or any(connection.unfinished for connection in self.connections):
            await self.asgi.drained()
            await asyncio.gather(*(connection.until_read() for connection in self.connections))

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
    worker = PromptWorker(
        1, os.getppid(), [_Listener(listener)], server, 0, server.cfg, server.cfg.logger_class(server.cfg)
    )
    worker.init_process()


@dataclass
class _Listener:
    """What gunicorn wraps a listening socket in."""

    sock: socket.socket

    def fileno(self) -> int:
        return self.sock.fileno()

    def close(self) -> None:
        self.sock.close()

    def __str__(self) -> str:
        return str(self.sock.getsockname())
