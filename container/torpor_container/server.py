"""Serves an ASGI application by gunicorn's ASGI worker: under its arbiter, or alone on an inherited socket.

Both ways run the same protocol code. Alone is for an instance that a host supervises already.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.workers import gasgi
from starlette.types import ASGIApp, Receive, Scope, Send

SHUTDOWN_S = 70
"""What the application's own shutdown may take after the last request, before the arbiter kills its worker."""

KEEP_ALIVE_S = 3600
"""Idle connections are the endpoint's to close: one closed here could be in use at that moment."""


class InFlight:
    """An ASGI application that knows when nobody is inside."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._requests = 0
        self._none = asyncio.Event()
        self._none.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._requests += 1
        self._none.clear()
        try:
            await self._app(scope, receive, send)
        finally:
            self._requests -= 1
            if not self._requests:
                self._none.set()

    async def drained(self, within_s: float) -> None:
        """Wait until the last request is answered, but no longer than this."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), within_s)


class WakingProtocol(ASGIProtocol):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's connection, but for its end.

    It wakes an answer that waits for its client to read, since a client who left never will; and it ends the task that
    waits for a next request at once. gunicorn leaves that one, and with it the whole connection, for the grace period.
    """

    _task: "asyncio.Task[None] | None"

    def connection_lost(self, exc: Exception | None) -> None:
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
        late = self.worker.loop.call_later(self.cfg.asgi_disconnect_grace_period, task.cancel)
        task.add_done_callback(lambda _: late.cancel())


gasgi.ASGIProtocol = WakingProtocol  # the worker makes connections of this name, and offers no other way in


class PromptWorker(gasgi.ASGIWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's worker, which hears SIGTERM at once instead of at its next heartbeat.

    It then waits for the requests in flight and not, as gunicorn's own does, for the connections: clients keep those
    open, idle, for minutes.
    """

    _serving: "asyncio.Task[Any] | None" = None

    def load_wsgi(self) -> None:
        self.asgi = InFlight(self.app.wsgi())

    async def _serve(self) -> None:
        self._serving = asyncio.current_task()
        await super()._serve()

    async def _shutdown(self) -> None:
        for server in self.servers:
            server.close()
        await self.asgi.drained(self.cfg.graceful_timeout - SHUTDOWN_S)
        self.nr_conns = 0  # those still open are idle
        await super()._shutdown()

    def handle_exit_signal(self) -> None:
        if self.alive and self._serving is not None:  # a second signal must not cut the shutdown short
            self._serving.cancel()
        super().handle_exit_signal()

    def handle_quit_signal(self) -> None:
        """Ctrl-C drains too."""
        self.handle_exit_signal()


@dataclass(frozen=True)
class ServerOptions:
    """`bind` as gunicorn has it: `host:port` or `unix:/path`."""

    bind: str = "127.0.0.1:8080"
    graceful_s: int = 60
    log_level: str = "info"

    def gunicorn(self) -> dict[str, object]:
        return {
            "bind": self.bind,
            "workers": 1,
            "worker_class": "torpor_container.server.PromptWorker",
            "keepalive": KEEP_ALIVE_S,
            "timeout": 0,  # a heartbeat missed under load is no reason to lose every model in memory
            "graceful_timeout": self.graceful_s + SHUTDOWN_S,
            "loglevel": self.log_level,
            "asgi_lifespan": "on",
            "control_socket_disable": True,
            # The C parser (gunicorn_h1c 0.6.9) takes in 64 KiB of a request that comes early on a keep-alive connection
            # and hangs up on the rest: a client that uploads one object after another loses some.
            "http_parser": "python",
            "header_map": "dangerous",  # to WSGI only: S3 metadata may well be called `x-amz-meta-my_key`
            "limit_request_line": 0,  # presigned URLs are long
            "limit_request_field_size": 64 * 1024,  # and so are session tokens
            "asgi_disconnect_grace_period": 600,  # who leaves early does not undo what others may wait for
        }


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application whose options and ASGI callable are given, not read from a file."""

    def __init__(self, make_app: Callable[[], ASGIApp], options: ServerOptions) -> None:
        self._make_app = make_app
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.gunicorn().items():
            self.cfg.set(name, value)

    def load(self) -> ASGIApp:
        return self._make_app()


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
