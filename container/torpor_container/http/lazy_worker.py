"""The worker class that gunicorn's arbiter imports. What serves is imported only in the process that it forks."""

import logging
import os
import signal
import sys
import time
from contextlib import suppress
from threading import Thread

from gunicorn.workers.base import Worker

from torpor_container.processes.process_tree import end_with_parent

GRACE_S = 2.0
"""How long threads may take to finish, once the application has shut down."""


class LazyWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """The worker that the arbiter makes, and then forks. In its own process it hands over to `DrainingWorker`.

    If the arbiter imported that one, half of its memory would be what it never uses.
    """

    def init_process(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # instead of the arbiter's handlers
        end_with_parent(signal.SIGTERM)  # it stops as soon as its arbiter is gone

        from torpor_container.http.worker import DrainingWorker

        self.app.wsgi()  # made while a signal still ends the process: uvloop forgets signals before it runs
        worker = DrainingWorker(self.age, self.ppid, self.sockets, self.app, self.timeout, self.cfg, self.log)
        worker.pid = self.pid
        try:
            worker.init_process()
        finally:
            self.booted = worker.booted  # the arbiter does not fork again what could not even boot
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
