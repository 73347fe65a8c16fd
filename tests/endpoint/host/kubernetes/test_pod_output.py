"""The output of a pod comes to its file, and goes on coming after a disk was full."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from tests.endpoint.helpers.virtual_time import ThreadlessTime
from tests.helpers.waiting import reached
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.pod_output import PodOutput


class FakeLogs:
    """The output of a pod. `between` is called between the pieces in which its lines come."""

    def __init__(self, *pieces: list[str], between: Callable[[], None] = lambda: None) -> None:
        self.asked: list[dict[str, str]] = []
        self._pieces = pieces
        self._between = between

    def path(self, *names: str) -> str:
        return "/".join(names)

    async def lines(self, path: str, query: dict[str, str], *how: Any) -> AsyncGenerator[list[bytes], None]:
        self.asked.append(query)
        for number, piece in enumerate(self._pieces):
            yield [f"2040-01-01T00:00:{number:02}.{at:09}Z {text}".encode() for at, text in enumerate(piece)]
            self._between()
        await asyncio.Event().wait()


def followed(logs: FakeLogs, path: Path, until: Callable[[], bool]) -> None:
    """Follow the output until this holds."""

    async def story() -> None:
        output = PodOutput(cast(KubernetesClient, logs), "pod", path)
        output.follow()
        await reached(until)
        await output.close()

    asyncio.run(story())


def test_lines_come_to_the_file_and_those_that_are_known_do_not_come_twice(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "output"
    logs = FakeLogs(["one", "two"], ["three"])
    followed(logs, path, lambda: path.exists() and path.read_text() == "one\ntwo\nthree\n")


def test_a_follower_goes_on_from_the_moment_at_which_the_file_was_written(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("before\n")
    written_s = datetime(2040, 1, 1, 0, 0, 1, 500_000, UTC).timestamp()
    os.utime(path, (written_s, written_s))
    logs = FakeLogs(["one", "two"], ["three"], ["four"])
    followed(logs, path, lambda: path.read_text() == "before\nfour\n")
    assert logs.asked[0]["sinceTime"] == "2040-01-01T00:00:01Z"


class Disk(type(Path())):  # type: ignore[misc]  # the class of this system's paths
    """A path that notes the thread of each opening."""

    threads: ClassVar[list[int]] = []

    def open(self, *how: Any) -> Any:
        self.threads.append(threading.get_ident())
        return super().open(*how)


def test_lines_that_come_together_are_written_at_once_and_on_a_thread(tmp_path: Path) -> None:
    path = Disk(tmp_path / "output")
    logs = FakeLogs([str(number) for number in range(500)], ["last"])
    followed(logs, path, lambda: path.exists() and Path(tmp_path / "output").read_text().endswith("last\n"))
    assert len(Path(tmp_path / "output").read_text().splitlines()) == 501
    assert len(Disk.threads) == 2
    assert threading.get_ident() not in Disk.threads


def test_output_that_the_disk_does_not_take_is_lost_and_what_follows_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "output"
    path.mkdir()  # no file can be written there
    moments = iter(["after one", "after two", "after three"])

    def between() -> None:
        if next(moments) == "after two":
            path.rmdir()

    logs = FakeLogs(["one"], ["two"], ["three"], between=between)
    followed(logs, path, lambda: path.is_file() and path.read_text() == "three\n")
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == [
        "output of pod is lost until it can be written again"
    ]


class LostMachine(FakeLogs):
    """The output of a pod whose machine answers no more, until its `end` is there."""

    end: str = ""

    async def lines(self, path: str, query: dict[str, str], *how: Any) -> AsyncGenerator[list[bytes], None]:
        self.asked.append(query)
        if not self.end:
            raise HostError("no machine answers")
        yield [f"2040-01-01T00:00:00.0Z {self.end}".encode()]


def test_a_machine_that_does_not_answer_is_asked_ever_less_and_an_end_waits_for_no_pause(tmp_path: Path) -> None:
    logs = LostMachine()

    async def story() -> None:
        output = PodOutput(cast(KubernetesClient, logs), "pod", tmp_path / "output")
        output.follow()
        await asyncio.sleep(3600.0)
        assert 120 <= len(logs.asked) <= 130
        logs.end = "the last words"
        before_s = asyncio.get_running_loop().time()
        await output.finish(replaced=False)
        assert asyncio.get_running_loop().time() - before_s < 1.0

    with asyncio.Runner(loop_factory=ThreadlessTime) as virtual:
        virtual.run(story())
    assert (tmp_path / "output").read_text() == "the last words\n"
