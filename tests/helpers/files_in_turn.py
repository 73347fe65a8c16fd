"""Imports a file of tests when its turn comes, in the processes that share the tests.

xdist lets each process import all files before the first test, so each file as often as there are processes. Here a
process knows a file only by its name, as one item, until it is handed the file.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.helpers.joined_messages import send_joined

WHOLE = "whole"
FAILED_FIRST = "lf", "failedfirst"
STARTS = "subprocess", "live", "torpor.local"
"""A file of tests that start processes has one of these words."""
HOUSE = "tests"
"""The folder whose own files read the whole repository. One process runs them all, and parses each module once."""


def is_whole(item: str) -> bool:
    return item.endswith(f"::{WHOLE}")


def file_of(item: str) -> str:
    return item.split("::", maxsplit=1)[0]


def begins(file: str, text: str) -> int:
    """When the turn of a file comes: the least first. What takes long comes early, since whoever gets it last is waited
    for by all others: one process takes the tests of the house, then come slow tests, then those that start
    processes."""
    if is_of_the_house(file):
        return 0
    return 1 if "mark.slow" in text else 2 if any(word in text for word in STARTS) else 3


def is_of_the_house(item: str) -> bool:
    return file_of(item).rpartition("/")[0] == HOUSE


class BegunTests:
    """What began in processes that crashed: a list for each file of tests, in a folder that the processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of_file(self, item: str) -> list[str]:
        kept = self._kept(item)
        return kept.read_text().splitlines() if kept.exists() else []

    def keep(self, tests: Sequence[str]) -> None:
        """Keep the tests of one file."""
        self._folder.mkdir(exist_ok=True)
        self._kept(tests[0]).write_text("\n".join(tests))

    def _kept(self, item: str) -> Path:
        return self._folder / file_of(item).replace("/", "+")


class FileInTurn(pytest.Item):
    """A whole file, which is one item until it is run."""

    def tests(self) -> list[pytest.Item]:
        """Import the file, and choose the tests that the command line selects. pytest reports an import that fails.

        The garbage collector does not look through what an import leaves again and again.
        """
        assert self.parent is not None
        module = pytest.Module.from_parent(self.parent.parent, path=self.path)
        gc.disable()
        tests = list(self.session.genitems(module))
        gc.enable()
        gc.collect()
        gc.freeze()
        self.config.hook.pytest_collection_modifyitems(session=self.session, config=self.config, items=tests)
        return tests

    def runtest(self) -> None:
        raise NotImplementedError  # its tests are run in its place


class UnreadFile(pytest.File):
    def collect(self) -> Iterator[FileInTurn]:
        yield FileInTurn.from_parent(self, name=WHOLE)


class FilesInTurn:
    """The plugin of a process that is handed files."""

    def __init__(self, before: BegunTests) -> None:
        self._before = before

    @pytest.hookimpl
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Collector:
        return UnreadFile.from_parent(parent, path=module_path)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Keep all whole files: which of their tests are selected is not known yet."""
        files = [item for item in items if isinstance(item, FileInTurn)]
        yield
        if files:
            items[:] = sorted(files, key=lambda file: begins(file.nodeid, file.path.read_text()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not isinstance(item, FileInTurn):
            return None
        session, before = item.session, self._before.of_file(item.nodeid)
        tests = [test for test in item.tests() if test.nodeid not in before]
        place = session.items.index(item)
        for test, following in zip(tests, [*tests[1:], nextitem], strict=False):
            session.items[place] = test  # xdist holds a report against the item that it asked for
            item.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
            if session.shouldfail or session.shouldstop:
                break
        session.items[place] = item
        if not tests:  # what only this file would have shared with the file before it ends here
            session._setupstate.teardown_exact(nextitem)
        return True


def register(config: pytest.Config) -> None:
    """Read files in turn, in a process of xdist, if the command names no single tests and no earlier failures."""
    send_joined(config)
    single = any("::" in arg for arg in config.args) or any(config.getoption(name, False) for name in FAILED_FIRST)
    if not single:
        config.pluginmanager.register(FilesInTurn(BegunTests(Path(config.workerinput["crashed"]))))  # type: ignore[attr-defined]
