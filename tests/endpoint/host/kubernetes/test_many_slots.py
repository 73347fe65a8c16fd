"""What one change in a cluster costs does not grow with the instances that are there: it is counted."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.host import Phase, Slot
from torpor_endpoint.host.kubernetes import preflight
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost
from torpor_endpoint.host.kubernetes.manifests import CONTAINER, Generation
from torpor_endpoint.host.kubernetes.slots import PodSlot
from torpor_endpoint.host.launch_names import deployment_digest

SLOTS = 200
DEPLOYMENT = deployment_digest(b"secret")


def slot(number: int) -> Slot:
    return Slot("many", "AllTraffic", number, 0)


def declared(number: int) -> dict[str, Any]:
    launch = Generation(slot(number), DEPLOYMENT, f"g{number}")
    made = {"uid": f"uid-{number}", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    return {"metadata": {"name": launch.name, **launch.metadata, **made}, "spec": {"replicas": 1}}


def running(number: int) -> dict[str, Any]:
    labels = Generation(slot(number), DEPLOYMENT, f"g{number}").metadata["labels"]
    container = {"name": CONTAINER, "containerID": "c", "restartCount": 0, "state": {"running": {}}}
    metadata = {"name": f"pod-{number}", "uid": f"pod-uid-{number}", "labels": labels, "resourceVersion": "2"}
    return {
        "metadata": metadata,
        "status": {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": [container]},
    }


class FullCluster:
    """Deployments without pods; the watch of pods tells what is put into `events`."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def path(self, resource: str) -> str:
        return resource

    async def call(self, verb: str, resource: str, *named: Any, **how: Any) -> dict[str, Any]:
        assert verb == "list"
        found = [declared(number) for number in range(SLOTS)] if resource == "deployments" else []
        return {"items": found, "metadata": {"resourceVersion": "1"}}

    async def lines(self, path: str, query: Mapping[str, str], *how: Any) -> AsyncGenerator[list[bytes], None]:
        while True:
            event = await (self.events if path == "pods" else asyncio.Queue[dict[str, Any]]()).get()
            yield [json.dumps({"type": "ADDED", "object": event}).encode()]

    async def close(self) -> None:
        """There is nothing to close."""


def test_an_event_makes_its_own_slot_look_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    ordinary = PodSlot.look

    def look(one: PodSlot, *shown: Any) -> str:
        looks.append(one.slot.number)
        return ordinary(one, *shown)

    async def no_check(*asked: Any) -> None:
        """The cluster has all that is needed."""

    monkeypatch.setattr(PodSlot, "look", look)
    monkeypatch.setattr(preflight, "check", no_check)

    async def story() -> None:
        cluster = FullCluster()
        settings = KubernetesSettings("i", disruption_budgets=False)
        host = KubernetesHost(cast(KubernetesClient, cluster), settings, b"secret", keep=True)
        await host.open([("many", "AllTraffic")])
        looks.clear()
        for number in (7, 3):
            await cluster.events.put(running(number))
        placed = [await host.placed(slot(number)) for number in (7, 3)]
        assert [one.phase for one in placed] == [Phase.RUNNING] * 2
        assert looks == [7, 3]
        await host.close()

    run(story())
