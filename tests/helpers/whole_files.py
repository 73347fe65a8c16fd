"""Hands the tests out to processes by whole files, also after a process has crashed.

xdist's own scheduler hands out again what a crashed process had finished: whoever gets a file without a test left waits
for ever, and the run with it.
"""

from __future__ import annotations

from contextlib import suppress

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class WholeFiles(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    def remove_node(self, node: WorkerController) -> str | None:
        """The test that ran when the process ended, if one did. The others that it had left go to other processes."""
        left = {
            name: [test for test, done in tests.items() if not done]
            for name, tests in self.assigned_work.pop(node).items()
        }
        crashed = next((test for tests in left.values() for test in tests), None)
        for name, tests in left.items():
            if again := dict.fromkeys((test for test in tests if test != crashed), False):
                self.workqueue[name] = again
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _assign_work_unit(self, node: WorkerController) -> None:
        with suppress(OSError):  # it has just ended: `remove_node` will hand on what it got
            super()._assign_work_unit(node)
