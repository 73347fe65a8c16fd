"""The contract of every host, whatever it runs instances on. A new host joins the table and passes the same stories."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.processes import children, gone, stop
from tests.helpers.waiting import reached, soon
from tests.helpers.zygotes import LIGHT
from torpor_container.processes.zygote_client import OwnedZygote
from torpor_container.transport.upstream import Upstream, UpstreamError
from torpor_endpoint.host import Host, Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.local import LocalHost

Story = Coroutine[Any, Any, None]


def local(folder: Path) -> Host:
    return LocalHost(folder, partial(OwnedZygote.start, command=LIGHT))


HOSTS: dict[str, Callable[[Path], Host]] = {"local": local}


@pytest.fixture(scope="module", params=HOSTS)
def make_host(request: pytest.FixtureRequest) -> Callable[[Path], Host]:
    return HOSTS[request.param]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all stories: the host that they share belongs to it."""
    with asyncio.Runner() as runner:
        yield runner


SOONER_S = 0.001
"""No process ends in this time."""


class Ground:
    """A host, and the specs of instances that need no endpoint: in contract mode they wait for a load."""

    def __init__(self, make_host: Callable[[Path], Host], folder: Path) -> None:
        self._others = set(children(os.getpid()))  # of other tests in this process, such as a shared endpoint
        self.sockets = folder / "sockets"
        self.host = make_host(self.sockets)
        self.folder = folder

    def parents(self) -> list[int]:
        """The processes that this host started itself."""
        return [pid for pid in children(os.getpid()) if pid not in self._others]

    def instances(self) -> list[int]:
        """The processes of this host's instances."""
        return [pid for parent in self.parents() for pid in children(parent)]

    def spec(self, number: int = 0) -> LaunchSpec:
        environment = {
            "SAGEMAKER_MULTI_MODEL": "true",
            "SAGEMAKER_BASE_DIR": str(self.folder / str(number)),
            "TORPOR_TRIALS": "false",  # so that every child of the zygote is an instance
        }
        return LaunchSpec(Slot("shop", "AllTraffic", number), environment, self.folder / str(number))

    async def launched(self, number: int = 0) -> Launched:
        """Launch it, and wait until it answers."""
        launched = await self.host.launch(self.spec(number))
        upstream = Upstream(launched.socket)
        await pinged(upstream)
        upstream.close()
        return launched

    async def clear(self) -> None:
        """End all instances."""
        await asyncio.gather(*(self.host.terminate(launched.slot, 5.0) for launched in self.host.list()))


@pytest.fixture(scope="module")
def ground(
    make_host: Callable[[Path], Host], runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ground]:
    """One host for all stories: the parent of instances takes seconds to start."""
    shared = Ground(make_host, tmp_path_factory.mktemp("host"))
    yield shared
    runner.run(shared.host.close())


@pytest.fixture
def at(ground: Ground, runner: asyncio.Runner) -> Iterator[Ground]:
    """Without any instance, before the story and after it."""
    yield ground
    started = ground.instances()
    runner.run(ground.clear())
    assert [pid for pid in started if not gone(pid)] == []


@pytest.fixture
def run(runner: asyncio.Runner) -> Callable[[Story], None]:
    return lambda story: runner.run(asyncio.wait_for(story, 60.0))


async def pinged(upstream: Upstream) -> None:
    async def answered() -> bool:
        with suppress(UpstreamError):
            return (await upstream.send("GET", "/ping", (), [], 2.0)).status == 200
        return False

    await reached(answered, 60.0, 0.01)


def test_a_slot_holds_one_instance_however_often_it_is_launched(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        first = await asyncio.gather(*(at.host.launch(at.spec()) for _ in range(5)))
        other = await at.launched(1)
        assert set(first) == {await at.launched()}
        assert set(at.host.list()) == {first[0], other}
        assert len(at.instances()) == 2
        assert (first[0].phase, at.host.health(other.slot)) == (Phase.RUNNING, other)

    run(story())


def test_the_end_of_an_instance_is_reported_and_the_next_one_is_a_new_incarnation(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        before = await at.launched()
        waiting = asyncio.create_task(at.host.exited(before.slot))
        os.kill(at.instances()[0], signal.SIGKILL)
        ended = await waiting
        assert (ended.phase, ended.incarnation) == (Phase.EXITED, before.incarnation)
        assert "signal 9" in ended.reason
        seen = at.host.health(before.slot)
        assert seen is not None
        assert seen.phase is Phase.EXITED
        after = await at.launched()
        assert after.slot == before.slot
        assert after.incarnation != before.incarnation
        assert at.host.list() == (after,)

    run(story())


def test_an_instance_that_cannot_start_logs_the_reason(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        spec = at.spec()
        broken = LaunchSpec(spec.slot, {**spec.environment, "TORPOR_VCPU": "many"}, spec.logs)
        ended = await at.host.exited((await at.host.launch(broken)).slot)
        assert ended.phase is Phase.EXITED
        assert "TORPOR_VCPU" in log_of(ended)

    run(story())


def test_a_process_that_an_instance_started_ends_with_it_whatever_its_session(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        launched = await at.launched()
        async with stray_of(at.spec()) as stray:
            await at.host.terminate(launched.slot, 5.0)
            assert await asyncio.wait_for(stray.wait(), 5.0) == -signal.SIGKILL

    run(story())


@asynccontextmanager
async def stray_of(spec: LaunchSpec) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that an instance has started and left behind, in a session of its own."""
    environment = {"SAGEMAKER_BASE_DIR": spec.environment["SAGEMAKER_BASE_DIR"]}
    stray = await asyncio.create_subprocess_exec("/bin/sleep", "600", env=environment, start_new_session=True)
    seen = Path(f"/proc/{stray.pid}/environ")
    try:
        assert soon(lambda: seen.read_bytes() != b"")  # a moment after it is told that it has begun
        yield stray
    finally:
        with suppress(ProcessLookupError):
            stray.kill()
        await stray.wait()


def log_of(launched: Launched) -> str:
    assert launched.log is not None
    return launched.log.read_text()


def test_terminating_asks_first_and_forces_when_the_grace_is_over(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        willing, stuck = await at.launched(0), await at.launched(1)
        (pid,) = [pid for pid in at.instances() if pid != at.instances()[0]]
        stop(pid)
        await asyncio.wait_for(at.host.terminate(willing.slot, 30.0), 5.0)
        await asyncio.wait_for(at.host.terminate(stuck.slot, 0.2), 5.0)
        assert (at.host.list(), at.host.health(stuck.slot)) == ((), None)
        assert soon(lambda: at.instances() == [])
        await at.host.terminate(stuck.slot, 1.0)  # nothing there is no error

    run(story())


def test_a_cancelled_termination_leaves_no_instance_running(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        launched = await at.launched()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(at.host.terminate(launched.slot, 30.0), SOONER_S)
        assert soon(lambda: at.instances() == [])

    run(story())


def test_a_stopped_instance_ends_on_termination(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        launched = await at.launched()
        stop(at.instances()[0])
        await asyncio.wait_for(at.host.terminate(launched.slot, 30.0), 5.0)
        assert at.instances() == []

    run(story())


def test_a_second_termination_completes_a_cancelled_one(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        async with stray_of(at.spec()) as stray:
            launched = await at.launched()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(at.host.terminate(launched.slot, 30.0), SOONER_S)
            await at.host.terminate(launched.slot, 5.0)
            assert at.host.list() == ()
            assert await asyncio.wait_for(stray.wait(), 5.0) == -signal.SIGKILL

    run(story())


def test_a_killed_parent_ends_its_instances_and_the_next_launch_starts_another(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        before = [await at.launched(number) for number in (0, 1)]
        pids = at.instances()
        os.kill(at.parents()[0], signal.SIGKILL)
        ended = await asyncio.gather(*(at.host.exited(launched.slot) for launched in before))
        assert [launched.phase for launched in ended] == [Phase.EXITED] * 2
        assert [pid for pid in pids if not gone(pid)] == []
        assert (await at.launched()).incarnation != before[0].incarnation

    run(story())


def test_a_launch_succeeds_though_the_parent_of_instances_was_just_killed(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        before = await at.launched()
        for parent in at.parents():
            os.kill(parent, signal.SIGKILL)
            assert gone(parent)  # and the loop of this host stands still meanwhile
        after = await at.launched(1)
        assert after.incarnation != before.incarnation

    run(story())


def test_a_host_that_is_closed_leaves_nothing(
    make_host: Callable[[Path], Host], run: Callable[[Story], None], tmp_path: Path
) -> None:
    async def story() -> None:
        at = Ground(make_host, tmp_path)
        await at.launched()
        started = [*at.parents(), *at.instances()]
        await at.host.close()
        assert [pid for pid in started if not gone(pid)] == []
        assert not at.sockets.exists()

    run(story())
