"""What grows with the instances and the models: a change in a cluster, a change in a table, the choice of an instance.

Slots are simulated: a cluster of this process tells their pods, and no process serves. Times are processor time.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from statistics import median
from time import process_time
from typing import Any, cast
from unittest.mock import patch

from benchmarks.measure import Figures
from benchmarks.sizes import Sizes
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.core.routing.ready_slots import FleetLoad, PlacedInstance
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import Launched, LaunchSpec, Phase, Slot
from torpor_endpoint.host.kubernetes import preflight
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost
from torpor_endpoint.host.kubernetes.manifests import CONTAINER, Generation
from torpor_endpoint.host.launch_names import deployment_digest
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.protocol.routing_table import RoutingTable, table_text
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.following import FollowedRoster, TableFollower

DEPLOYMENT = deployment_digest(b"secret")
MANY = Variant("v", "m", (Container("torpor", "s3://b/p/", multi_model=True),), instances_min=0)
MICROSECONDS, MILLISECONDS = 1e6, 1e3
TURNS = 5


def rows(sizes: Sizes) -> list[Figures]:
    return [
        *(asyncio.run(_pod_changes(slots, sizes.wakes)) for slots in sizes.slots),
        *(asyncio.run(_instances_come(slots, sizes.wakes)) for slots in sizes.slots),
        *(_choices(slots, sizes.named[-1], sizes.picks) for slots in sizes.slots),
        *(_choices(sizes.slots[-1], models, sizes.picks) for models in sizes.named[:-1]),
    ]


# -- a pod changes in a cluster ----------------------------------------------------------------------------------------
class ToldCluster:
    """A cluster of so many Deployments, whose watch of pods tells what is put into `events`."""

    def __init__(self, slots: int) -> None:
        self.events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._slots = slots

    def path(self, resource: str) -> str:
        return resource

    async def call(self, verb: str, resource: str, *named: Any, **how: Any) -> dict[str, Any]:
        makes = {"deployments": _declared, "pods": _running}.get(resource)
        found = [] if makes is None else [makes(number) for number in range(self._slots)]
        return {"items": found, "metadata": {"resourceVersion": "1"}}

    async def lines(self, path: str, query: Mapping[str, str], *how: Any) -> AsyncGenerator[list[bytes], None]:
        while True:
            event = await (self.events if path == "pods" else asyncio.Queue[dict[str, Any]]()).get()
            yield [json.dumps({"type": "MODIFIED", "object": event}).encode()]

    async def close(self) -> None:
        """There is nothing to close."""


async def _pod_changes(slots: int, changes: int) -> Figures:
    """One event after another, until the host has taken it in: what the control's loop spends on it."""

    async def no_check(*asked: Any) -> None:
        """The cluster has all that is needed."""

    cluster, took = ToldCluster(slots), []
    with patch.object(preflight, "check", no_check):
        settings = KubernetesSettings("i", disruption_budgets=False)
        host = KubernetesHost(cast(KubernetesClient, cluster), settings, b"secret", keep=True)
        await host.open([("many", "AllTraffic")])
    for at in range(min(changes, slots)):
        number = at * 7 % slots  # each is another one
        began_s = process_time()
        await cluster.events.put(_running(number, ended=True))
        await host.exited(Slot("many", "AllTraffic", number))
        took.append(process_time() - began_s)
        await cluster.events.put(_running(number))
        await asyncio.sleep(0)
    await host.close()
    return {"curve": "a pod ends", "instances": slots, "control_ms": median(took) * MILLISECONDS}


def _declared(number: int) -> dict[str, Any]:
    launch = Generation(Slot("many", "AllTraffic", number), DEPLOYMENT, f"g{number}")
    made = {"uid": f"uid-{number}", "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    return {"metadata": {"name": launch.name, **launch.metadata, **made}, "spec": {"replicas": 1}}


def _running(number: int, ended: bool = False) -> dict[str, Any]:
    labels = Generation(Slot("many", "AllTraffic", number), DEPLOYMENT, f"g{number}").metadata["labels"]
    state: dict[str, Any] = {"terminated": {"exitCode": 1}} if ended else {"running": {}}
    container = {"name": CONTAINER, "containerID": "c", "restartCount": 0, "state": state}
    metadata = {"name": f"pod-{number}", "uid": f"pod-uid-{number}", "labels": labels, "resourceVersion": "2"}
    phase = "Failed" if ended else "Running"
    return {"metadata": metadata, "status": {"phase": phase, "podIP": "10.0.0.1", "containerStatuses": [container]}}


# -- an instance comes to an endpoint ----------------------------------------------------------------------------------
async def _instances_come(slots: int, changes: int) -> Figures:
    """One more instance of a variant that has so many: the control's table for a router, and the router's part, to
    where it would connect to the instance."""
    tables = TablePublisher(lambda: roster, "control")
    roster = FleetRoster(tables.changed)
    factory = InstanceFactory(
        cast(Any, None), lambda variant, slot: LaunchSpec(slot), lambda: 0.0, changed=tables.changed
    )
    pool = InstancePool("shop", MANY, factory, SlotNumbers())
    for number in range(slots):
        pool.ready.offer(number, _incarnation(number))
    roster.serve(FleetEndpoint("shop", "arn:aws:sagemaker:::shop", {"v": pool}))
    follower = TableFollower(ControlClient("http://nowhere"), FollowedRoster())
    whole = tables.since(None)
    assert whole is not None, "an endpoint is served"
    follower.apply(RoutingTable.read(json.loads(table_text(whole))))
    control, following, told = [], [], 0
    for at in range(min(changes, TURNS)):
        began_s = process_time()
        pool.ready.offer(slots + at, _incarnation(slots + at))
        tables.changed("shop")
        found = tables.since(follower.version)
        assert found is not None, "an instance has come"
        text = table_text(found)
        made_s = process_time()
        follower.apply(RoutingTable.read(json.loads(text)))
        control.append(made_s - began_s)
        following.append(process_time() - made_s)
        told = len(text)
    follower.close()
    return {
        "curve": "an instance comes to an endpoint",
        "instances": slots,
        "control_ms": median(control) * MILLISECONDS,
        "router_ms": median(following) * MILLISECONDS,
        "told_bytes": told,
    }


def _incarnation(number: int) -> Incarnation:
    slot, ended = Slot("shop", "v", number), asyncio.get_running_loop().create_future()
    launched = Launched(slot, f"i-{number}", ("10.0.0.1", 8080), Phase.RUNNING)
    container = LiveContainer.of(MANY.containers[0], launched, ended)
    return Incarnation(slot, f"i-{number}", [container], InstancePhase.READY)


# -- the choice of an instance -----------------------------------------------------------------------------------------
class CountedInstance(PlacedInstance):
    def __init__(self) -> None:
        self.in_flight = 0
        self.fleet = FleetLoad()


def _choices(slots: int, models: int, picks: int) -> Figures:
    """A request for each of these models, at random: all are as likely."""
    ready: Placement[CountedInstance] = Placement()
    for number in range(slots):
        ready.offer(number, CountedInstance())
    draw = random.Random(1)
    names = [f"models/{draw.randrange(models)}.tar.gz" for _ in range(picks)]
    choices = [_spent(lambda: [ready.pick(name) for name in names]) / picks for _ in range(TURNS)]
    changes = [_spent(lambda: ready.offer(slots - 1, CountedInstance())) for _ in range(TURNS)]
    return {
        "curve": "a choice",
        "instances": slots,
        "models": models,
        "router_us_a_request": median(choices) * MICROSECONDS,
        "router_ms": median(changes) * MILLISECONDS,
    }


def _spent(does: Callable[[], object]) -> float:
    began_s = process_time()
    does()
    return process_time() - began_s
