"""Three hundred instances at a real control plane: its API server is killed, and one of their machines is lost.

TORPOR_KUBERNETES_BINARIES names the folder with etcd, kube-apiserver, kube-scheduler and kube-controller-manager.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from socket import socket

import pytest

from tests.endpoint.helpers.fake_cluster.control_plane import (
    ADMIN,
    AT_HAND,
    PROGRAMS,
    add_machine,
)
from tests.endpoint.helpers.fake_cluster.real_ground import RealGround
from tests.helpers.waiting import PATIENCE_S
from torpor_endpoint.host import LaunchSpec, Phase, Resources, Slot
from torpor_endpoint.host.kubernetes.api.client import MERGE, KubernetesClient

pytestmark = pytest.mark.skipif(
    not AT_HAND,
    reason=f"TORPOR_KUBERNETES_BINARIES names no folder with {', '.join(PROGRAMS)}",
)

INSTANCES = 300
MACHINES = ("first", "second", "third")
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
AT_ONCE = {"key": UNREACHABLE["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}


class IdleContainer:
    """Does nothing until it is ended."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()

    async def wait(self) -> int:
        await self._ended.wait()
        return 0

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def terminate(self) -> None:
        self._ended.set()

    def kill(self) -> None:
        self._ended.set()


async def idle(environment: Mapping[str, str], log: Path, listener: socket) -> IdleContainer:
    return IdleContainer()


def launch_spec(folder: Path, number: int) -> LaunchSpec:
    environment = {"SAGEMAKER_MULTI_MODEL": "true"}
    return LaunchSpec(Slot("Shop", "AllTraffic", number), environment, folder / "logs", Resources(1, 512))


async def machines_of(admin: KubernetesClient) -> Mapping[str, str]:
    """The machine of each pod, by the pod's uid."""
    pods = (await admin.call("list", "pods"))["items"]
    return {one["metadata"]["uid"]: one["spec"]["nodeName"] for one in pods}


def test_of_three_hundred_instances_those_of_a_lost_machine_end_and_no_other(tmp_path: Path) -> None:
    async def story(ground: RealGround) -> None:
        await ground.start()
        admin = ground.plane.client(ADMIN)
        for name in MACHINES:
            await add_machine(admin, name, cpus=200, memory_gib=500)
        ground.settings = replace(ground.settings, tolerations=(AT_ONCE,))
        host = ground.host()
        await host.open([])
        specs = [launch_spec(tmp_path, number) for number in range(INSTANCES)]
        await asyncio.gather(*map(host.launch, specs))
        placed = await asyncio.gather(*(host.placed(one.slot) for one in specs))
        assert {one.phase for one in placed} == {Phase.RUNNING}

        await ground.plane.restart_api()
        another = launch_spec(tmp_path, INSTANCES)
        await host.launch(another)
        last = await host.placed(another.slot)
        kept = {one.slot: one.incarnation for one in (*placed, last)}
        assert {one.slot: (one.incarnation, one.phase) for one in host.list()} == {
            slot: (incarnation, Phase.RUNNING) for slot, incarnation in kept.items()
        }

        machines = await machines_of(admin)
        lost = next(name for name, _ in Counter(machines.values()).most_common() if name in MACHINES)
        gone = {one.slot for one in (*placed, last) if machines[one.incarnation.rpartition("-")[0]] == lost}
        assert 50 < len(gone) < 150
        ground.lost.add(lost)
        taints = {"spec": {"taints": [UNREACHABLE]}}
        await admin.ask("PATCH", f"/api/v1/nodes/{lost}", taints, content_type=MERGE)
        ended = await asyncio.gather(*map(host.exited, gone))
        assert {one.phase for one in ended} == {Phase.EXITED}
        running = {one.slot: one.incarnation for one in host.list() if one.phase is Phase.RUNNING}
        assert {slot for slot, incarnation in kept.items() if running.get(slot) == incarnation} == kept.keys() - gone
        await admin.close()
        await host.close()

    async def whole() -> None:
        ground = RealGround(tmp_path, idle)
        try:
            async with asyncio.timeout(4 * PATIENCE_S):
                await story(ground)
            await ground.close()
        finally:
            ground.plane.stop()

    asyncio.run(whole())
