"""Hands the tests out to processes by whole files, also after a process has crashed.

xdist's own scheduler hands out again what a crashed process had finished: whoever gets a file without a test left waits
for ever, and the run with it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from tests.helpers.files_in_turn import HOUSE, BegunTests, file_of, is_of_the_house, is_whole
from tests.helpers.forked_starts import starting
from tests.helpers.joined_messages import receive_joined


class WholeFiles(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Its items are tests, or whole files whose tests the process that runs them will find (`files_in_turn`)."""

    def __init__(self, config: pytest.Config, log: Any, run: SharedRun) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._run = run

    def _split_scope(self, nodeid: str) -> str:
        return HOUSE if is_of_the_house(nodeid) else file_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """The test that ran when the process ended, if one did. The others that it had left go to other processes."""
        left = {
            name: [test for test, done in tests.items() if not done]
            for name, tests in self.assigned_work.pop(node).items()
        }
        crashed = next((test for tests in left.values() for test in tests), None)
        if crashed and is_whole(crashed):
            crashed = self._run.crashed_in(crashed)
        for name, tests in left.items():
            if again := dict.fromkeys((test for test in tests if test != crashed), False):
                self.workqueue[name] = again
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        if is_whole(self.collection[0]):
            self._run.completed(len(self.collection))

    def _reschedule(self, node: WorkerController) -> None:
        """A process that takes the place of a crashed one gets no file before it has told which files it knows."""
        if node in self.registered_collections:
            super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        with suppress(OSError):  # it has just ended: `remove_node` will hand on what it got
            super()._assign_work_unit(node)


class SharedRun:
    """The plugin of the process that hands the tests out."""

    def __init__(self) -> None:
        self._begun: dict[str, list[str]] = defaultdict(list)
        self._folder = Path(tempfile.gettempdir()) / f"torpor-crashed-{token_hex(8)}"  # made by a crash alone
        self._session: pytest.Session | None = None
        self._unread = False
        self._tests = self._completed = self._files = 0

    def crashed_in(self, item: str) -> str:
        """The test of the file that began last, or the file where none did. No process begins what has begun."""
        begun = self._begun[file_of(item)]
        if begun:
            BegunTests(self._folder).keep(begun)
        return begun[-1] if begun else item

    def completed(self, files: int) -> None:
        """One of so many files is complete. The terminal shows their share: the number of tests is not known yet."""
        self._completed += 1
        self._files = files
        self._estimate()

    def _estimate(self) -> None:
        if self._session is not None and self._files:
            self._session.testscollected = max(self._tests, self._tests * self._files // max(1, self._completed))

    @pytest.hookimpl
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        receive_joined(node)
        node.workerinput["crashed"] = str(self._folder)
        forking = starting.forking()
        node.workerinput["forking"] = [forking.address.hex(), forking.pid, starting.AT_THE_START]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> WholeFiles:
        return WholeFiles(config, log, self)

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun[file_of(nodeid)].append(nodeid)
        self._tests += 1
        self._estimate()

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._unread |= report.failed

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A file that was not imported has tests that nobody counts: no run of the failed ones makes up for it."""
        if self._unread:
            session.exitstatus = pytest.ExitCode.INTERRUPTED

    @pytest.hookimpl
    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
