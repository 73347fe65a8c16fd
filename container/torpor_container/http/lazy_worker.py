"""The worker that gunicorn's arbiter forks, which it knows by its name only."""

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
"""For threads that write something to its end."""


class LazyWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """A worker as the arbiter knows it. In its own process it hands over to the one that serves, imported there alone:
    half of the arbiter's memory would be what it never uses."""

    def init_process(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # the arbiter's handlers are not for us
        end_with_parent(signal.SIGTERM)  # without its arbiter it stops, at once

        from torpor_container.http.worker import DrainingWorker

        self.app.wsgi()  # it is made while a signal still ends us: uvloop forgets those that come before it runs
        worker = DrainingWorker(self.age, self.ppid, self.sockets, self.app, self.timeout, self.cfg, self.log)
        worker.pid = self.pid
        try:
            worker.init_process()
        finally:
            self.booted = worker.booted  # what could not even boot is not forked again
        Thread(target=_leave, daemon=True).start()


def _leave() -> None:
    """End this process, whose application has shut down, unless it ends by itself: it first waits for its threads, and
    some may be stuck in models' own code. SageMaker kills what is still there 30 s after SIGTERM."""
    time.sleep(GRACE_S)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # broken, closed, or replaced by a model's None
            stream.flush()
    os._exit(0)
