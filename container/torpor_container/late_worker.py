"""The worker that gunicorn's arbiter forks, which it knows by its name only."""

import signal

from gunicorn.workers.base import Worker


class LateWorker(Worker):  # type: ignore[misc]  # gunicorn has no types
    """A worker as the arbiter knows it. In its own process it hands over to the one that serves, imported there alone:
    half of the arbiter's memory would be what it never uses."""

    def init_process(self) -> None:
        for number in self.SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # the arbiter's handlers are not for us

        from torpor_container.worker import PromptWorker

        self.app.wsgi()  # it is made while a signal still ends us: uvloop forgets those that come before it runs
        worker = PromptWorker(self.age, self.ppid, self.sockets, self.app, self.timeout, self.cfg, self.log)
        worker.pid = self.pid
        try:
            worker.init_process()
        finally:
            self.booted = worker.booted  # what could not even boot is not forked again
