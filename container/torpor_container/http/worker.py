"""The process that serves: it accepts connections, hears signals, and stops once every request is answered.

`HttpWorker` runs in a process that gunicorn's arbiter has forked (`gunicorn_server`). `serve_alone` runs it without an
arbiter, on an inherited socket: an instance has a supervisor already.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Protocol

from starlette.types import ASGIApp

from torpor_container.http.asgi_lifespan import ApplicationLife, ApplicationNotStarted
from torpor_container.http.clients.client_connection import Connection
from torpor_container.http.clients.served_port import ServedPort
from torpor_container.http.exchange import CertifiedApp
from torpor_container.http.server import NOT_STARTED, ServerOptions, log_alone
from torpor_container.http.sharing.accepting import SharedAccepting
from torpor_container.http.sharing.taking import Taking
from torpor_container.http.tls.certificate import ServerCertificate
from torpor_container.http.tls.front import Handshakes, HttpsTerms, TlsFront, TlsTerms
from torpor_container.processes.process_tree import descendants, kill
from torpor_container.transport.greetings import CountedGreeting

YOUNG_MAX = 5_000
"""So many more objects are made than freed before Python looks for garbage among the young. Its own number is 700."""

LAST_S = 0.2
"""So long before it would be killed itself, a process that cannot stop kills what it started."""

BEAT_S = 1.0
"""How often it tells its arbiter that it lives, and looks whether its parent does."""

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


class ListeningSocket(Protocol):
    """A listening socket: gunicorn's, or Python's own."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class Closable(Protocol):
    """What brings connections until it is closed."""

    def close(self) -> None: ...


class HttpWorker:
    """One process that serves `app` on `sockets`, from `run` to its end. `parent` is the process that it ends with."""

    def __init__(
        self,
        app: ASGIApp,
        sockets: Sequence[ListeningSocket],
        options: ServerOptions,
        log: logging.Logger,
        parent: int,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """`beat` is called every BEAT_S while it serves. Raises BadCertificate."""
        self._app = app
        self._sockets = sockets
        self._options = options
        self._log = log
        self._parent = parent
        self._beat = beat
        self._certificate = None if options.tls is None else ServerCertificate(options.tls, log)
        self._stopping = False
        self._serving: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve until a signal, or until the parent is gone. Raises SystemExit(NOT_STARTED) if the app cannot start."""
        gc.freeze()  # what is here now stays: a collection need not walk all modules for one request's garbage
        gc.set_threshold(YOUNG_MAX)
        gc.enable()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:  # at its end it cancels what is left
            runner.run(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        port = ServedPort(self._app, self._options, self._log)
        self._serving = asyncio.current_task()
        for number in STOPS:
            loop.add_signal_handler(number, self._stop, port)
        life = ApplicationLife(self._app, port.state, self._log)
        try:
            await life.start()
        except ApplicationNotStarted as error:
            self._log.error("ASGI lifespan startup failed: %s", error)
            raise SystemExit(NOT_STARTED) from None
        except asyncio.CancelledError:
            return  # told to stop before it has started
        certificate = self._certificate
        made = self._maker(port)
        servers: list[Closable] = []
        watched = (port.connections, *(() if certificate is None else (certificate,)))
        watching = [asyncio.create_task(one.watch()) for one in watched]
        with suppress(asyncio.CancelledError):
            for one in self._sockets:
                servers.append(await self._server(port, made, _own(one)))
                self._log.info("ASGI server listening on %s", one)
            if self._options.shared is not None and self._options.shared.taking is not None:
                Taking(port, self._options.shared.taking)  # to the end: others have something to say while this stops
            while not self._stopping and os.getppid() == self._parent:
                self._beat()
                await asyncio.sleep(BEAT_S)
        port.stop()
        for server in servers:
            server.close()
        for listener in self._sockets:
            listener.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._options.graceful_s):
                await port.connections.at_rest()
        for task in watching:
            task.cancel()
        await life.end()

    async def _server(
        self, port: ServedPort, made: Callable[[], asyncio.Protocol], listener: socket.socket
    ) -> Closable:
        if port.board is None:
            return await asyncio.get_running_loop().create_server(made, sock=listener)
        return SharedAccepting(port.board, listener, made, self._log)

    def _maker(self, port: ServedPort) -> Callable[[], asyncio.Protocol]:
        """What makes the connection of whoever comes: by TLS if it is spoken here; with a secret, of those alone who
        prove that they know it, or whose requests have tickets."""
        options, terms = self._options, self._terms(port)
        if terms is not None:
            return partial(TlsFront, port, Handshakes(port, terms))
        if options.secret is None:
            return partial(Connection, port)
        ticketed = self._ticketed(port, options.tickets, options.shares_artifacts)
        return partial(CountedGreeting, port.greetings, options.secret, partial(Connection, port), ticketed)

    def _terms(self, port: ServedPort) -> TlsTerms | None:
        """None: no TLS is spoken."""
        options = self._options
        if options.secret is not None and options.peers is not None:
            # here: most instances speak no TLS
            from torpor_container.http.tls.peer_terms import PeerTerms

            gateways = self._ticketed(port, options.tickets, artifacts=False)
            neighbours = self._ticketed(port, invocations=False, artifacts=options.shares_artifacts)
            return PeerTerms(port, options.peers, options.secret, gateways, neighbours)
        if self._certificate is not None:
            return HttpsTerms(port, self._certificate)
        peers = self._app.peers if isinstance(self._app, CertifiedApp) and options.shared is None else None
        if peers is None:
            return None
        from torpor_container.http.tls.control_terms import ControlTerms

        return ControlTerms(port, peers)

    def _ticketed(self, port: ServedPort, invocations: bool, artifacts: bool) -> Callable[[], asyncio.Protocol] | None:
        """What serves connections that do not greet, for requests with these tickets; None: they are closed."""
        secret = self._options.secret
        if secret is None or not (invocations or artifacts):
            return None
        # here: a zygote imports no more than every instance needs
        from torpor_container.http.ticketed_app import TicketedApp, TicketKinds

        kinds = TicketKinds(invocations, artifacts)
        return partial(Connection, port.beside(TicketedApp(self._app, secret, time.time, kinds)))

    # -- its end -----------------------------------------------------------------------------------------------------
    def _stop(self, port: ServedPort) -> None:
        if self._stopping:  # a second signal must not cut the stop short
            return
        self._stopping = True
        port.stop()
        Thread(target=self._end_in_time, daemon=True).start()
        if self._serving is not None:
            self._serving.cancel()

    def _end_in_time(self) -> None:
        """Whatever hangs, this process and all that it started end within the time that a stop has."""
        time.sleep(self._options.graceful_s + self._options.shutdown_s - LAST_S)
        self._log.warning("the stop takes too long, and what is left of it is killed")
        kill(descendants(os.getpid()))
        os._exit(1)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _own(listener: ListeningSocket) -> socket.socket:
    """The listening socket as asyncio wants it: gunicorn's class is its own."""
    return socket.socket(fileno=os.dup(listener.fileno()))


def serve_alone(make_app: Callable[[], ASGIApp], listener: socket.socket, options: ServerOptions) -> None:
    """Serve on one listening socket in this process until SIGTERM, or until its parent is gone."""
    parent, log = os.getppid(), log_alone(options)
    HttpWorker(make_app(), [listener], options, log, parent).run()
