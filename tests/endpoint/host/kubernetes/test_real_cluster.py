"""The host and the chart's rights at a real control plane, whose one machine is played by a process kubelet.

TORPOR_KUBERNETES_BINARIES names the folder with etcd, kube-apiserver, kube-scheduler and kube-controller-manager.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endpoint.helpers.fake_cluster.containers import forked
from tests.endpoint.helpers.fake_cluster.control_plane import ADMIN, AT_HAND, PROGRAMS
from tests.endpoint.helpers.fake_cluster.real_ground import RealGround
from tests.endpoint.helpers.local_hosts import warm_parent
from tests.helpers.waiting import PATIENCE_S, reached
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.host import HostError, LaunchSpec, Phase, Resources, Slot
from torpor_endpoint.host.kubernetes.api.client import refused_with

pytestmark = pytest.mark.skipif(
    not AT_HAND,
    reason=f"TORPOR_KUBERNETES_BINARIES names no folder with {', '.join(PROGRAMS)}",
)

SLOT = Slot("Shop", "AllTraffic", 0)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def ground(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGround]:
    folder = tmp_path_factory.mktemp("real")
    parent = warm_parent(folder / "kubelet")
    shared = RealGround(folder, forked(parent))
    try:
        runner.run(shared.start())
        yield shared
        runner.run(shared.close())
        runner.run(parent.close())
    finally:
        shared.plane.stop()


def spec(folder: Path, number: int = 0, memory_mib: int = 1024, variant: str = SLOT.variant) -> LaunchSpec:
    environment = {"SAGEMAKER_MULTI_MODEL": "true", "TORPOR_TRIALS": "false"}
    slot = Slot(SLOT.endpoint, variant, number)
    return LaunchSpec(slot, environment, folder / "logs", Resources(1, memory_mib))


async def answers(upstream: Upstream) -> bool:
    try:
        return (await upstream.send("GET", "/ping", (), [], 2.0)).status == 200
    except UpstreamError:
        return False


def test_an_instance_runs_with_the_charts_rights_and_is_adopted(
    ground: RealGround, runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def story() -> None:
        host = ground.host(keep=True)
        await host.open([])
        first = await asyncio.gather(*(host.launch(spec(tmp_path)) for _ in range(2)))
        assert first[0] == first[1]
        placed = await host.placed(SLOT)
        assert placed.phase is Phase.RUNNING, placed.reason
        assert placed.address is not None
        upstream = Upstream(placed.address)
        await reached(lambda: answers(upstream), 60.0, 0.05)
        upstream.close()
        await host.close()
        after = ground.host()
        await after.open([(SLOT.endpoint, SLOT.variant)])
        assert [one.incarnation for one in after.list()] == [placed.incarnation]
        await after.launch(spec(tmp_path))
        await after.terminate(SLOT, 5.0)
        assert after.list() == ()
        again = await after.launch(spec(tmp_path))
        assert again.phase is Phase.PENDING
        assert (await after.placed(SLOT)).incarnation != placed.incarnation
        await after.close()

    runner.run(asyncio.wait_for(story(), 120.0))


def test_a_container_that_is_killed_is_another_incarnation(
    ground: RealGround, runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def story() -> None:
        host = ground.host()
        await host.open([])
        await host.launch(spec(tmp_path))
        before = await host.placed(SLOT)
        ended = asyncio.ensure_future(host.exited(SLOT))
        (pid,) = ground.containers()
        os.kill(pid, signal.SIGKILL)
        assert (await ended).reason == "its process was ended by signal 9"
        await host.terminate(SLOT, 0.0)
        await host.launch(spec(tmp_path))
        assert (await host.placed(SLOT)).incarnation != before.incarnation
        await host.close()
        await reached(lambda: not ground.containers(), 60.0, 0.05)

    runner.run(asyncio.wait_for(story(), 120.0))


def test_one_that_fits_nowhere_waits_with_the_schedulers_reason(
    ground: RealGround, runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def story() -> None:
        host = ground.host()
        await host.open([])
        await host.launch(spec(tmp_path, 1, 1024**2))
        await reached(lambda: "Insufficient memory" in host.list()[0].reason, 30.0, 0.05)
        await host.close()

    runner.run(asyncio.wait_for(story(), PATIENCE_S))


def test_a_pod_that_waits_holds_up_no_drain_of_another_variant(
    ground: RealGround, runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def story() -> None:
        host, admin = ground.host(), ground.plane.client(ADMIN)
        await host.open([])
        await host.launch(spec(tmp_path))
        await host.launch(spec(tmp_path, 1, 1024**2, "waits"))
        placed = await host.placed(SLOT)
        pods = (await admin.call("list", "pods"))["items"]
        (pod,) = (one["metadata"]["name"] for one in pods if placed.incarnation.startswith(one["metadata"]["uid"]))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}

        async def evicted() -> bool:
            """The cluster counts the pods of a new budget before it lets one go."""
            with refused_with(429):
                await admin.ask("POST", admin.path("pods", pod, "eviction"), eviction)
                return True
            return False

        await reached(evicted, 30.0, 0.1)
        assert (await host.exited(SLOT)).phase is Phase.EXITED
        await admin.close()
        await host.close()

    runner.run(asyncio.wait_for(story(), 90.0))


def test_deleting_the_installation_deletes_its_instances(
    ground: RealGround, runner: asyncio.Runner, tmp_path: Path
) -> None:
    async def story() -> None:
        host, admin = ground.host(keep=True), ground.plane.client(ADMIN)
        await host.open([])
        await host.launch(spec(tmp_path, 2))
        slot = Slot(SLOT.endpoint, SLOT.variant, 2)
        await host.placed(slot)
        await admin.call("delete", "configmaps", "mine-torpor")
        assert (await host.exited(slot)).phase is Phase.EXITED
        await host.close()
        late = ground.host()
        with pytest.raises(HostError, match="the owner ConfigMap/mine-torpor is not in the namespace models"):
            await late.open([])
        await late.close()
        await admin.close()

    runner.run(asyncio.wait_for(story(), 120.0))
