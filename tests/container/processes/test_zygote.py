"""The zygote: children get their arguments, their ends are reported, and no process outlives its owner."""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.container.helpers.lingering_child import lingering, told
from tests.helpers.processes import gone
from tests.helpers.thorough_values import thorough
from tests.helpers.waiting import PATIENCE_S, soon
from tests.helpers.zygotes import LIGHT, zygote
from torpor_container.processes import process_tree as cores
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Job, OwnedZygote, ZygoteClient

HELPERS = Path(__file__).parents[1] / "helpers"
MODULES = os.pathsep.join((str(HELPERS), str(HELPERS.parents[2]), os.environ.get("PYTHONPATH", "")))


OF_THE_OPERATOR = {"AWS_PROFILE": "work", "AWS_ENDPOINT_URL_S3": "http://elsewhere"}


@dataclass(frozen=True)
class Ground:
    """A running zygote: where it listens, its process, and a folder for the children's logs."""

    path: Path
    pid: int
    folder: Path

    @property
    def parent(self) -> ZygoteClient:
        return ZygoteClient(self.path)

    def children(self) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("warm")
    with zygote(folder / "s", {**OF_THE_OPERATOR, "PYTHONPATH": MODULES}) as pid:
        yield Ground(folder / "s", pid, folder)


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def rests(pid: int) -> int:
    """How often a process has stopped working of its own accord: one that tries again at once never does."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("voluntary")]
    return int(line.split()[1])


def test_a_child_gets_its_environment_its_log_its_arguments_and_its_descriptors(ground: Ground) -> None:
    async def story() -> None:
        read, write = os.pipe()
        log = ground.folder / "log"
        child = await ground.parent.fork(Job("zygote_jobs:tell", {"word": "hello"}, {"COLOUR": "green"}, log), [write])
        assert await child.wait() == 0
        assert await told(read) == "hello"
        assert log.read_text() == "green None\n"  # the threads that the parent must not start are the child's to start
        os.close(read)
        os.close(write)

    run(story())


@pytest.mark.parametrize("forgotten", [("AWS_",), ()])
def test_a_child_inherits_nothing_that_is_to_be_forgotten(ground: Ground, forgotten: tuple[str, ...]) -> None:
    async def story() -> None:
        read, write = os.pipe()
        job = Job("zygote_jobs:tell_of_aws", {}, {"AWS_ENDPOINT_URL": "http://here"}, forgotten=forgotten)
        await (await ground.parent.fork(job, [write])).wait()
        seen = set((await told(read)).split())
        assert "AWS_ENDPOINT_URL" in seen
        assert (seen >= OF_THE_OPERATOR.keys()) == (not forgotten)
        os.close(read)
        os.close(write)

    run(story())


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    ("how", "code"), [("0", 0), ("3", 3), ("exit", 7), ("raise", 1), ("mute", 5), ("signal", -signal.SIGSEGV)], ids=str
)
def test_the_way_a_child_ends_is_reported(ground: Ground, how: str, code: int, guarded: bool) -> None:
    async def story() -> None:
        job = Job("zygote_jobs:leave", {"how": how}, log=ground.folder / "ends", guarded=guarded)
        child = await ground.parent.fork(job)
        assert await child.wait() == code
        assert not child.running

    run(story())


def test_a_killed_child_ends_with_all_its_processes_even_detached_ones(ground: Ground) -> None:
    async def story() -> None:
        (own, started, away), child = await lingering(ground.parent)
        child.kill()
        assert await child.wait() == -signal.SIGKILL
        assert [pid for pid in (own, started, away) if not gone(pid)] == []

    run(story())


@pytest.mark.parametrize("guarded", [False, True])
def test_a_child_ends_with_all_its_processes_when_its_connection_closes(ground: Ground, guarded: bool) -> None:
    async def story() -> None:
        assert soon(lambda: not ground.children())
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(ground.path))
        read, write = os.pipe()
        socket.send_fds(line, [Job("zygote_jobs:linger", guarded=guarded).message()], [write])
        started, away = map(int, (await told(read)).split())
        (own,) = [pid for pid in ground.children() if pid != away]
        line.close()
        assert [pid for pid in (own, started, away) if not gone(pid)] == []
        for descriptor in (read, write):
            os.close(descriptor)

    run(story())


@pytest.mark.parametrize("message", [b"hello\n", b"[]\n", b'{"run": "nowhere:nothing"}\n', b"half a line", b""])
def test_a_malformed_request_harms_no_other_request(ground: Ground, message: bytes) -> None:
    async def story() -> None:
        await (await ground.parent.fork(Job("zygote_jobs:leave", {"how": "0"}))).wait()  # it opens what it needs first
        assert soon(lambda: not ground.children())
        before = ground.open_files()
        read, write = os.pipe()
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(ground.path))
            if message:
                socket.send_fds(line, [message], [read, write])
        child = await ground.parent.fork(Job("zygote_jobs:leave", {"how": "0"}))
        assert await child.wait() == 0
        assert soon(lambda: ground.open_files() <= before)
        os.close(read)
        os.close(write)

    run(story())


def test_a_job_too_large_for_the_socket_is_refused_before_it_is_sent(ground: Ground) -> None:
    async def story() -> None:
        with pytest.raises(ValueError, match="200000"):
            await ground.parent.fork(Job("zygote_jobs:leave", environment={"BIG": "x" * 300_000}))

    run(story())


def test_the_parent_has_one_thread_however_many_children_it_had(ground: Ground) -> None:
    """A fork of a process with threads may hang."""

    async def story() -> None:
        child = await ground.parent.fork(Job("zygote_jobs:leave", {"how": "0"}))
        await child.wait()
        assert len(os.listdir(f"/proc/{ground.pid}/task")) == 1

    run(story())


def test_fifty_children_leave_no_zombie_and_no_open_descriptor(ground: Ground) -> None:
    async def story() -> None:
        parent, job = ground.parent, Job("zygote_jobs:leave", {"how": "0"})
        await (await parent.fork(job)).wait()
        assert soon(lambda: not ground.children())
        before = ground.open_files()
        children = [await parent.fork(job) for _ in range(50)]
        assert [await child.wait() for child in children] == [0] * 50
        assert soon(lambda: not ground.children() and ground.open_files() <= before)

    run(story())


def test_a_zygote_out_of_file_descriptors_pauses_between_its_tries(ground: Ground) -> None:
    async def story() -> None:
        usual = resource.prlimit(ground.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(ground.pid, resource.RLIMIT_NOFILE, (0, usual[1]))
        try:
            waiting = asyncio.create_task(ground.parent.fork(Job("zygote_jobs:leave", {"how": "0"})))
            rested = rests(ground.pid)
            assert await asyncio.to_thread(soon, lambda: rests(ground.pid) >= rested + 3)
            assert not waiting.done()
        finally:
            resource.prlimit(ground.pid, resource.RLIMIT_NOFILE, usual)
        assert await (await waiting).wait() == 0

    run(story())


OWNER = """
import asyncio, sys, time
from pathlib import Path
from tests.container.helpers.lingering_child import lingering
from torpor_container.processes.zygote_client import OwnedZygote
from tests.helpers.zygotes import LIGHT

async def main():
    parent = await OwnedZygote.start(Path(sys.argv[1]), LIGHT)
    pids, child = await lingering(parent)
    print(parent.pid, *pids, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_killed_owner_ends_every_process_even_detached_ones(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "s")],
        stdout=subprocess.PIPE,
        env={**os.environ, **OF_THE_OPERATOR, "PYTHONPATH": MODULES},
        start_new_session=True,
    )
    with owner, suppress(ProcessLookupError):
        assert owner.stdout is not None
        pids = list(map(int, owner.stdout.readline().split()))
        owner.kill()
        assert len(pids) == 4
        assert [pid for pid in pids if not gone(pid)] == []


def test_a_killed_zygote_ends_its_children_and_their_ends_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT)
        (own, started, away), child = await lingering(parent)
        os.kill(parent.pid, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        await parent.ready()  # it was, since it forked, though nobody asked meanwhile
        assert [pid for pid in (own, started) if not gone(pid)] == []
        os.kill(away, signal.SIGKILL)
        with pytest.raises(OSError):
            await parent.fork(Job("zygote_jobs:leave"))
        await parent.close()
        assert not parent.running

    monkeypatch.setenv("PYTHONPATH", MODULES)
    run(story())


def test_a_guardian_ends_every_process_of_a_killed_zygote_even_detached_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT)
        pids, child = await lingering(parent, guarded=True)
        os.kill(parent.pid, signal.SIGKILL)
        assert await child.wait() == -signal.SIGKILL
        assert [pid for pid in pids if not gone(pid)] == []
        await parent.close()

    monkeypatch.setenv("PYTHONPATH", MODULES)
    run(story())


def test_a_zygote_that_does_not_respond_is_killed_with_all_its_descendants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT, closed_within_s=0.0)
        pids, _ = await lingering(parent, guarded=True)
        os.kill(parent.pid, signal.SIGSTOP)
        await parent.close()
        assert not parent.running
        assert [pid for pid in pids if not gone(pid)] == []

    monkeypatch.setenv("PYTHONPATH", MODULES)
    run(story())


def test_a_stopped_zygote_continues_when_a_fork_is_requested(tmp_path: Path) -> None:
    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT)
        os.kill(parent.pid, signal.SIGSTOP)
        child = await asyncio.wait_for(parent.fork(Job("gc:collect")), PATIENCE_S)
        await child.wait()
        await parent.close()

    run(story())


@pytest.mark.parametrize(("ready_s", "least_s", "most_s"), [(1e12, 1e11, 1e12), (0.0, 0.0, 0.0)])
def test_a_child_knows_how_long_its_request_waited_for_imports(
    tmp_path: Path, ready_s: float, least_s: float, most_s: float
) -> None:
    """The zygote says at which moment, of a clock that begins with the machine, it had its imports."""

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(json.dumps({"pid": os.getpid(), "ready_s": ready_s}).encode() + b'\n{"exit": 0}\n')
        writer.close()
        await writer.wait_closed()

    async def story() -> None:
        async with await asyncio.start_unix_server(answered, tmp_path / "s"):
            child = await ZygoteClient(tmp_path / "s").fork(Job("gc:collect"))
            assert await child.wait() == 0
        assert least_s <= child.imports_s <= most_s

    run(story())


@pytest.mark.parametrize("guarded", [True, *thorough(False)])
def test_the_end_of_a_child_that_stopped_the_zygote_is_reported_too(
    tmp_path: Path, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", MODULES)

    async def story() -> None:
        parent = await OwnedZygote.start(tmp_path / "s", LIGHT)
        _, child = await lingering(parent, guarded)
        os.kill(parent.pid, signal.SIGSTOP)
        child.terminate()
        assert await asyncio.wait_for(child.wait(), PATIENCE_S) in (-signal.SIGTERM, -signal.SIGKILL)
        await parent.close()

    run(story())


def test_a_guardian_that_was_stopped_ends_when_its_line_closes(ground: Ground) -> None:
    """As when the instance that asked for the script is killed."""

    async def story() -> None:
        pids, child = await lingering(ground.parent, guarded=True)
        os.kill(child.pid, signal.SIGSTOP)
        child._writer.close()
        assert [pid for pid in pids if not await asyncio.to_thread(gone, pid)] == []

    run(story())


@pytest.mark.parametrize(("parent", "code"), [("os.getppid()", 7), ("os.getppid() + 1", 1)])
def test_a_child_whose_zygote_has_ended_before_it_began_does_nothing(parent: str, code: int) -> None:
    """Killed between its fork and the child's first line, the zygote cannot take the child with it."""
    program = f"""
import os, sys, types
from torpor_container.processes.zygote import run_job
sys.modules["own"] = types.SimpleNamespace(seven=lambda arguments, descriptors: 7)
child = os.fork()
if child == 0:
    run_job({{"run": "own:seven"}}, [], {parent})
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=30.0).returncode == code


def test_a_child_with_bounded_cores_keeps_to_them_and_so_does_what_it_forks_and_starts(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, said = str(min(os.sched_getaffinity(0))), ground.folder / "processors"
    monkeypatch.setenv(cores.PROCESSORS, one)

    async def story() -> None:
        bounded = Job("zygote_jobs:processors", environment={cores.PROCESSORS: one}, log=said)
        assert await (await ground.parent.fork(bounded)).wait() == 0
        for guarded in (False, True):  # an instance's own scripts and trials
            job = Job("zygote_jobs:processors", guarded=guarded, log=said)
            assert await (await ZygoteAccess(str(ground.path)).fork(job)).wait() == 0
        assert await (await ground.parent.fork(Job("zygote_jobs:processors", log=said))).wait() == 0

    run(story())
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    assert said.read_text().split() == [one, one, one, every]
