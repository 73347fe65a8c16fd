"""The contract of every host, whatever it runs instances on. A new host joins the table and passes the same stories."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.fake_cluster.hosts import ClusterGround
from tests.endpoint.helpers.local_hosts import local_host, warm_parent
from tests.endpoint.helpers.ray_cluster import HAS_RAY, NO_RAY, RayCluster, drivers
from tests.helpers.processes import children, gone, has_ended, marked, stop
from tests.helpers.waiting import PATIENCE_S, reached, soon
from torpor_container.processes.process_tree import parent as parent_of
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.host import Host, Launched, LaunchSpec, Phase, Resources, Slot
from torpor_endpoint.host.launch_names import deployment_digest
from torpor_endpoint.host.ray.ray_host import RayHost

Story = Coroutine[Any, Any, None]


Made = tuple[Host, Callable[[], Coroutine[Any, Any, None]]]
"""A host, and what ends it with all that it started."""
MakeHost = Callable[[Path], Coroutine[Any, Any, Made]]


async def local(folder: Path) -> Made:
    parent = warm_parent(folder / "sockets")
    host = local_host(folder / "sockets", folder / "disks", parent)

    async def close() -> None:
        await host.close()
        await parent.close()

    return host, close


async def kubernetes(folder: Path) -> Made:
    ground = ClusterGround(folder)
    await ground.start()
    host = ground.host()
    await host.open([])

    async def close() -> None:
        await host.close()
        await ground.close()

    return host, close


class RayMaker:
    """Makes hosts on one cluster, all of them with the same secret: one deployment."""

    def __init__(self) -> None:
        self.cluster = RayCluster()

    async def __call__(self, folder: Path) -> Made:
        host = self.host(folder)
        await host.open([])
        return host, host.close

    def host(self, folder: Path, *, keep: bool = False) -> RayHost:
        """A host that is not open yet."""
        secret = sha256(str(folder).encode()).digest()
        return RayHost("auto", secret, folder / "logs", keep=keep, environment=self.cluster.environment)

    def disks(self, folder: Path) -> Path:
        deployment = deployment_digest(sha256(str(folder).encode()).digest())
        return self.cluster.folder / "disks" / f"torpor-ray-{os.getuid()}-{deployment}" / "disks"


HOSTS: dict[str, MakeHost | None] = {"local": local, "kubernetes": kubernetes, "ray": None}
"""By name. Ray's host needs a cluster, which is started for all stories."""

NO_PARENT = "its instances have no parent on this machine"
NO_PLACES = "it starts an instance at once, wherever there is room"
ENDS = "its instances end with it"
ALL_END = "a container's processes end with its first one: the machine's kernel sees to that, and no host"
IN_A_CLUSTER = "tests/endpoint/host/kubernetes tells it, of a cluster's own objects"
PASSES_OVER: dict[str, dict[str, str]] = {
    "local": {
        "test_an_impossible_instance_is_pending_and_listed_with_its_reason": NO_PLACES,
        "test_a_killed_control_process_leaves_instances_to_the_next_one": ENDS,
        "test_two_control_processes_that_launch_at_once_get_one_instance": ENDS,
        "test_an_instance_of_a_lost_node_comes_back_elsewhere": "it has one node",
        "test_the_end_of_a_variant_that_is_not_served_is_up_to_the_next_control_process": ENDS,
    },
    "kubernetes": {
        "test_a_process_that_an_instance_started_ends_with_it_whatever_its_session": ALL_END,
        "test_a_second_termination_completes_a_cancelled_one": ALL_END,
        "test_an_instance_with_another_role_gets_another_disk": "a disk ends with its pod",
        "test_a_stopped_instance_ends_on_termination": "the cluster waits for the whole grace period",
        "test_a_killed_parent_ends_its_instances_and_the_next_launch_starts_another": NO_PARENT,
        "test_a_launch_succeeds_though_the_parent_of_instances_was_just_killed": NO_PARENT,
        "test_an_impossible_instance_is_pending_and_listed_with_its_reason": IN_A_CLUSTER,
        "test_a_killed_control_process_leaves_instances_to_the_next_one": IN_A_CLUSTER,
        "test_two_control_processes_that_launch_at_once_get_one_instance": IN_A_CLUSTER,
        "test_an_instance_of_a_lost_node_comes_back_elsewhere": "the cluster moves a Deployment's pod, and no host",
        "test_the_end_of_a_variant_that_is_not_served_is_up_to_the_next_control_process": IN_A_CLUSTER,
    },
    "ray": {
        "test_a_killed_parent_ends_its_instances_and_the_next_launch_starts_another": NO_PARENT,
        "test_a_launch_succeeds_though_the_parent_of_instances_was_just_killed": NO_PARENT,
    },
}
"""The stories that make no sense for a host, and why."""


@pytest.fixture(scope="module", params=HOSTS)
def make_host(request: pytest.FixtureRequest) -> Iterator[MakeHost]:
    made = HOSTS[request.param]
    if made is not None:
        yield made
        return
    if not HAS_RAY:
        pytest.skip(NO_RAY)
    maker = RayMaker()
    yield maker
    maker.cluster.close()


@pytest.fixture(autouse=True)
def makes_sense(request: pytest.FixtureRequest, make_host: MakeHost) -> None:
    name = next((name for name, made in HOSTS.items() if made is make_host), "ray")
    if why := PASSES_OVER[name].get(request.function.__name__):
        pytest.skip(why)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all stories: the host that they share belongs to it."""
    with asyncio.Runner() as runner:
        yield runner


SOONER_S = 0.001
"""No process ends in this time."""


class Ground:
    """A host, and the specs of instances that need no endpoint: in contract mode they wait for a load."""

    def __init__(self, folder: Path) -> None:
        self._others = set(children(os.getpid()))  # of other tests in this process, such as a shared endpoint
        self.sockets = folder / "sockets"
        self.folder = folder

    async def begin(self, make_host: MakeHost) -> None:
        self.maker = make_host
        self.host, self.close = await make_host(self.folder)

    def parents(self) -> list[int]:
        """The processes that this host started itself."""
        return [pid for pid in children(os.getpid()) if pid not in self._others]

    def instances(self) -> list[int]:
        """The first process of each of this host's instances."""
        if isinstance(self.maker, RayMaker):
            carrying = marked(self.cookie)
            return [pid for pid in carrying if parent_of(pid) not in carrying and not has_ended(pid)]
        return [pid for parent in self.parents() for pid in children(parent)]

    def spec(self, number: int = 0) -> LaunchSpec:
        environment = {
            "COOKIE": self.cookie,
            "SAGEMAKER_MULTI_MODEL": "true",
            "TORPOR_TRIALS": "false",  # so that every child of the zygote is an instance
        }
        return LaunchSpec(Slot("shop", "AllTraffic", number), environment, self.folder / str(number), Resources(1, 512))

    @property
    def cookie(self) -> str:
        """A text that each process of an instance has in its environment, and no other."""
        return f"of-{self.folder}-itself"

    @property
    def ray(self) -> RayMaker:
        assert isinstance(self.maker, RayMaker)
        return self.maker

    async def launched(self, number: int = 0, role: str = "", model_source: str = "") -> Launched:
        """Launch it, and wait until it answers. It makes its disk if it has a source of models."""
        spec = self.spec(number)
        environment = {**spec.environment, "TORPOR_MODEL_SOURCE": model_source}
        launched = await self.settled(await self.host.launch(replace(spec, environment=environment, role=role)))
        assert launched.address is not None
        upstream = Upstream(launched.address)
        await pinged(upstream)
        upstream.close()
        return launched

    async def settled(self, launched: Launched) -> Launched:
        """The launch once it has a place."""
        return await self.host.placed(launched.slot) if launched.phase is Phase.PENDING else launched

    def disk(self, number: int) -> Path:
        """The folder of the slot's disk."""
        disks = self.maker.disks(self.folder) if isinstance(self.maker, RayMaker) else self.folder / "disks"
        return disks / "shop" / "AllTraffic" / str(number)

    async def clear(self) -> None:
        """End all instances."""
        await asyncio.gather(*(self.host.terminate(launched.slot, 5.0) for launched in self.host.list()))


@pytest.fixture(scope="module")
def ground(make_host: MakeHost, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One host for all stories: the parent of instances takes seconds to start."""
    shared = Ground(tmp_path_factory.mktemp("host"))
    runner.run(shared.begin(make_host))
    yield shared
    runner.run(shared.close())


@pytest.fixture
def at(ground: Ground, runner: asyncio.Runner) -> Iterator[Ground]:
    """Without any instance, before the story and after it."""
    yield ground
    started = ground.instances()
    runner.run(ground.clear())
    assert [pid for pid in started if not gone(pid)] == []


@pytest.fixture
def run(runner: asyncio.Runner) -> Callable[[Story], None]:
    return lambda story: runner.run(asyncio.wait_for(story, 120.0))


async def pinged(upstream: Upstream) -> None:
    async def answered() -> bool:
        with suppress(UpstreamError):
            return (await upstream.send("GET", "/ping", (), [], 2.0)).status == 200
        return False

    await reached(answered, 60.0, 0.01)


def test_a_slot_holds_one_instance_however_often_it_is_launched(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        declared = await asyncio.gather(*(at.host.launch(at.spec()) for _ in range(5)))
        first = await asyncio.gather(*map(at.settled, declared))
        other = await at.launched(1)
        assert set(first) == {await at.launched()}
        assert set(at.host.list()) == {first[0], other}
        assert len(at.instances()) == 2
        assert (first[0].phase, at.host.health(other.slot)) == (Phase.RUNNING, other)

    run(story())


def test_an_instance_of_another_configuration_ends_before_the_launch(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        before = await at.settled(await at.host.launch(replace(at.spec(), configuration="before")))
        same = await at.settled(await at.host.launch(replace(at.spec(), configuration="before")))
        after = await at.settled(await at.host.launch(replace(at.spec(), configuration="after")))
        assert (same, after.incarnation == before.incarnation) == (before, False)
        assert [(one.incarnation, one.configuration) for one in at.host.list()] == [(after.incarnation, "after")]
        await reached(lambda: len(at.instances()) == 1)

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
        assert seen.phase is Phase.EXITED or seen.incarnation != before.incarnation  # the engine starts another itself
        after = await at.launched()
        assert after.slot == before.slot
        assert after.incarnation != before.incarnation
        assert at.host.list() == (after,)

    run(story())


def test_an_instance_that_cannot_start_logs_the_reason(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        spec = at.spec()
        broken = replace(spec, environment={**spec.environment, "TORPOR_VCPU": "many"})
        ended = await at.host.exited((await at.settled(await at.host.launch(broken))).slot)
        assert ended.phase is Phase.EXITED
        assert "TORPOR_VCPU" in log_of(ended)

    run(story())


def test_a_process_that_an_instance_started_ends_with_it_whatever_its_session(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        launched = await at.launched()
        async with stray_of(at.disk(0)) as stray:
            await at.host.terminate(launched.slot, 5.0)
            assert await asyncio.wait_for(stray.wait(), PATIENCE_S) == -signal.SIGKILL

    run(story())


@asynccontextmanager
async def stray_of(base_dir: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that an instance has started and left behind, in a session of its own."""
    environment = {"SAGEMAKER_BASE_DIR": str(base_dir)}
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
        await asyncio.wait_for(at.host.terminate(willing.slot, 600.0), PATIENCE_S)
        await asyncio.wait_for(at.host.terminate(stuck.slot, 0.2), PATIENCE_S)
        assert (at.host.list(), at.host.health(stuck.slot)) == ((), None)
        await reached(lambda: at.instances() == [])
        await at.host.terminate(stuck.slot, 1.0)  # nothing there is no error

    run(story())


def test_a_cancelled_termination_leaves_no_instance_running(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        launched = await at.launched()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(at.host.terminate(launched.slot, 30.0), SOONER_S)
        await reached(lambda: at.instances() == [])

    run(story())


def test_a_stopped_instance_ends_on_termination(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        launched = await at.launched()
        stop(at.instances()[0])
        await asyncio.wait_for(at.host.terminate(launched.slot, 600.0), PATIENCE_S)
        assert at.instances() == []

    run(story())


def test_an_instance_with_another_role_gets_another_disk(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        for role in ("arn:aws:iam::123456789012:role/one", "arn:aws:iam::123456789012:role/other"):
            launched = await at.launched(role=role, model_source="file:///nowhere/")
            await at.host.terminate(launched.slot, 5.0)
        assert len(list(at.disk(0).parent.glob("0@*"))) == 2

    run(story())


def test_a_second_termination_completes_a_cancelled_one(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        async with stray_of(at.disk(0)) as stray:
            launched = await at.launched()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(at.host.terminate(launched.slot, 30.0), SOONER_S)
            await at.host.terminate(launched.slot, 5.0)
            assert at.host.list() == ()
            assert await asyncio.wait_for(stray.wait(), PATIENCE_S) == -signal.SIGKILL

    run(story())


def test_a_killed_parent_ends_its_instances_and_the_next_launch_starts_another(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        before = [await at.launched(number) for number in (0, 1)]
        pids = at.instances()
        for parent in {parent_of(pid) for pid in pids}:  # another zygote may run beside, which has forked none of them
            assert parent in at.parents()
            os.kill(parent, signal.SIGKILL)
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
    make_host: MakeHost, run: Callable[[Story], None], tmp_path: Path
) -> None:
    async def story() -> None:
        at = Ground(tmp_path)
        await at.begin(make_host)
        await at.launched()
        started = [*at.parents(), *at.instances()]
        await at.close()
        assert [pid for pid in started if not gone(pid)] == []
        assert not at.sockets.exists()

    run(story())


# -- hosts of other machines -------------------------------------------------------------------------------------------
def test_an_impossible_instance_is_pending_and_listed_with_its_reason(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        launched = await at.host.launch(replace(at.spec(), resources=Resources(64, 512)))
        waiting = asyncio.create_task(at.host.placed(launched.slot))
        assert (launched.phase, launched.address) == (Phase.PENDING, None)
        assert "64 CPUs" in launched.reason
        assert at.host.list() == (launched,)
        await at.host.terminate(launched.slot, 5.0)
        assert (await waiting).phase is Phase.EXITED
        assert at.host.list() == ()

    run(story())


def test_a_killed_control_process_leaves_instances_to_the_next_one(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        before = await at.launched()
        ended = asyncio.create_task(at.host.exited(before.slot))
        (driver,) = drivers(at.ray.cluster.environment)
        os.kill(driver, signal.SIGKILL)
        assert (await at.launched(1)).address is not None  # by another driver
        assert (at.host.health(before.slot), ended.done()) == (before, False)
        ended.cancel()

        next_one = at.ray.host(at.folder, keep=True)
        await next_one.open([("shop", "AllTraffic")])
        adopted = next_one.health(before.slot)
        assert adopted is not None
        assert (adopted.incarnation, adopted.address) == (before.incarnation, before.address)
        assert adopted.since_s is not None
        assert adopted.address is not None
        upstream = Upstream(adopted.address)
        await pinged(upstream)
        upstream.close()
        await next_one.close()
        assert len(at.instances()) == 2

    run(story())


def test_the_end_of_a_variant_that_is_not_served_is_up_to_the_next_control_process(
    at: Ground, run: Callable[[Story], None]
) -> None:
    async def story() -> None:
        await at.launched()
        next_one = at.ray.host(at.folder)
        await next_one.open([("shop", "Other")])
        assert next_one.list() == ()
        await reached(lambda: at.instances() == [])
        await next_one.close()
        await reached(lambda: not at.disk(0).exists(), look_s=0.05)

    run(story())


def test_two_control_processes_that_launch_at_once_get_one_instance(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        other = at.ray.host(at.folder, keep=True)
        await other.open([("shop", "AllTraffic")])
        hosts = (at.host, other)
        await asyncio.gather(*(host.launch(at.spec()) for host in hosts))
        one, same = await asyncio.gather(*(host.placed(at.spec().slot) for host in hosts))
        assert (one.incarnation, one.address) == (same.incarnation, same.address)
        await other.close()
        await reached(lambda: len(at.instances()) == 1)

    run(story())


def test_an_instance_of_a_lost_node_comes_back_elsewhere(at: Ground, run: Callable[[Story], None]) -> None:
    async def story() -> None:
        before = await at.launched()
        (pid,) = at.instances()
        node = at.ray.cluster.node_of(pid)
        waiting = asyncio.create_task(at.host.exited(before.slot))
        at.ray.cluster.kill(node)
        assert (await waiting).incarnation == before.incarnation
        assert gone(pid, 60)
        after = await at.launched()  # by Ray itself
        assert after.incarnation != before.incarnation
        (pid,) = at.instances()
        assert at.ray.cluster.node_of(pid) != node
        await asyncio.to_thread(at.ray.cluster.add, node)

    run(story())
