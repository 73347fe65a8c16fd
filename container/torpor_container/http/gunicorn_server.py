"""Serves by gunicorn: its arbiter opens the port, and starts, watches and stops the process that serves.

This is all of gunicorn that there is: `BaseApplication` and `Worker`, which its documentation names for those who embed
it and for those who write a worker. No request is its own. The arbiter imports nothing that serves, so that it stays
small.
"""

import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

from gunicorn.app.base import BaseApplication
from gunicorn.workers.base import Worker

from torpor_container.http.server import ServerOptions, log_config
from torpor_container.processes.process_tree import end_with_parent

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GRACE_S = 2.0
"""How long threads may take to finish, once the application has shut down."""


class GunicornServer(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """A gunicorn application whose options and ASGI callable are given, not read from a file."""

    def __init__(self, make_app: Callable[[], "ASGIApp"], options: ServerOptions) -> None:
        self._make_app = make_app
        self.options = options
        super().__init__()

    def load_config(self) -> None:
        """From the options alone: neither a file nor the command line is read."""
        for name, value in settings(self.options).items():
            if name in self.cfg.settings:  # older versions lack some, and what they would turn off
                self.cfg.set(name, value)

    def load(self) -> "ASGIApp":
        return self._make_app()


def settings(options: ServerOptions) -> dict[str, object]:
    """gunicorn's settings. Those that are not here have gunicorn's defaults."""
    formatter, level = options.log_formatter, options.log_level
    return {
        **({} if formatter is None else {"logconfig_dict": log_config(formatter, level)}),
        "bind": options.bind,
        "workers": 1,
        "worker_class": "torpor_container.http.gunicorn_server.GunicornWorker",
        "timeout": 0,  # no heartbeat: one missed under load is no reason to lose every model in memory
        "graceful_timeout": options.graceful_s + options.shutdown_s,
        "loglevel": level,
        "control_socket_disable": True,
    }


class GunicornWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """The worker that the arbiter makes, and then forks. In its own process it hands over to `HttpWorker`."""

    def init_process(self) -> None:
        end_with_parent(signal.SIGTERM)  # it stops as soon as its arbiter is gone
        gc.disable()  # until it serves: to look through imported objects, which stay, takes a sixth of an import's time
        super().init_process()

    def init_signals(self) -> None:
        """Until it serves, a signal ends the process."""
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGUSR1, self.handle_usr1)

    def load_wsgi(self) -> None:
        """Make all that can fail: the arbiter does not fork again what fails here."""
        from torpor_container.http.worker import HttpWorker

        app = self.app.wsgi()
        self._worker = HttpWorker(app, self.sockets, self.app.options, self.log, self.ppid, self.notify)

    def run(self) -> None:
        self._worker.run()
        Thread(target=_leave, daemon=True).start()


def _leave() -> None:
    """End this process, whose application has shut down, if it does not end by itself.

    Python waits for its threads first, and some may be stuck in models' own code. SageMaker kills what is still there
    30 s after SIGTERM.
    """
    time.sleep(GRACE_S)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # broken, closed, or replaced by a model's None
            stream.flush()
    os._exit(0)
