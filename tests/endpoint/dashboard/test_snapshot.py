"""The page's view of the endpoint, from the fleet's records and the instances' own reports."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_account.storage.record_table import Card
from torpor_container import wire
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.core.rollouts.rollout import FleetSizes, Rollout, RolloutPhase
from torpor_endpoint.core.rollouts.rollout_policy import RolloutPolicy
from torpor_endpoint.dashboard.figures import VariantFigures
from torpor_endpoint.dashboard.rollout_rows import rollout_row
from torpor_endpoint.dashboard.snapshot import snapshot, state_of_pool
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.readings import InstanceReading
from torpor_endpoint.fleet.supervision.resident_models import ResidentModels
from torpor_endpoint.in_service.served_endpoints import TrafficShift

NOW_S = 1e9


def status(**used: tuple[int, float]) -> wire.InstanceStatus:
    """An instance with these models, each with its hits and the seconds since its last use."""
    models: list[wire.LoadedModel] = [
        {"name": name, "size_bytes": 100, "in_flight": 0, "idle_s": idle_s, "format": "onnx", "hits": hits}
        for name, (hits, idle_s) in used.items()
    ]
    return {
        "unready": None,
        "fault": None,
        "kept": True,
        "models": models,
        "budget_bytes": 1000,
        "used_bytes": 300,
        "own_bytes": 100,
        "disk_bytes": 0,
        "disk_budget_bytes": 1,
        "cpu_s": 0.0,
        "decisions": [],
        "last_seq": 0,
        "waiting": 0,
    }


def seen(fake: PoolOnFakeHost, report: wire.InstanceStatus, at_s: float = NOW_S, before: Any = None) -> dict[str, Any]:
    """The snapshot of an endpoint with this pool, whose instances all report this."""
    live = FleetEndpoint("shop", "arn", {"v": fake.pool})
    models = ResidentModels()
    models.take(report, at_s)
    readings = {
        one.id: InstanceReading(at_s, {"primary": report}, {"primary": models}) for one in fake.pool.incarnations
    }
    cards = [Card("shop", 1.0, 1.0, "InService"), Card("new", 2.0, 2.0, "Creating")]
    return snapshot(cards, [live], readings, {("shop", "v"): VariantFigures(requests=7)}, before or {})


def test_an_instance_that_predicts_on_a_device_shows_what_it_takes_there() -> None:
    device = {
        "name": "cuda:0",
        "model": "card",
        "busy_percent": 1.0,
        "used_bytes": 9,
        "total_bytes": 99,
        "own_bytes": 5,
        "kept_bytes": 2,
        "budget_bytes": 50,
        "models": [],
        "bound_models": [],
    }

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            reported = cast(wire.InstanceStatus, {**status(), "device": device})
            for report, shown in ((reported, ("cuda:0", 5, 50)), (status(), (None, None, None))):
                ((part,),) = (one["parts"] for one in seen(fake, report)["instances"].values())
                assert tuple(part.get(name) for name in ("device", "device_bytes", "device_budget_bytes")) == shown
            await fake.end()

    run(story())


def test_a_snapshot_has_every_endpoint_and_what_runs_for_it() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            found = seen(fake, status(a=(3, 5.0)))
            assert {name: one["status"] for name, one in found["endpoints"].items()} == {
                "shop": "InService",
                "new": "Creating",
            }
            variant = found["variants"]["shop/v"]
            assert (variant["state"], variant["ready"], variant["requests"]) == ("awake", 2, 7)
            assert [one["slot"] for one in found["instances"].values()] == [0, 1]
            assert list(found["models"].values()) == [{"a": [100, NOW_S - 5.0, 3, 0, "onnx"]}] * 2
            await fake.end()

    run(story())


def test_a_pool_without_instances_is_asleep() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            found = seen(fake, status())
            assert (found["variants"]["shop/v"]["state"], found["instances"], found["models"]) == ("asleep", {}, {})
            fake.pool.wake()
            await asyncio.sleep(0)
            assert seen(fake, status())["variants"]["shop/v"]["state"] == "starting"
            await fake.end()

    run(story())


def test_a_model_that_nobody_called_keeps_its_row() -> None:
    """The time of its last use is measured anew each second, and would differ by some milliseconds."""

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            before = seen(fake, status(a=(3, 5.0), b=(1, 1.0)))
            (after,) = seen(fake, status(a=(3, 6.21), b=(2, 0.4)), NOW_S + 1.0, before)["models"].values()
            (rows,) = before["models"].values()
            assert after["a"] == rows["a"]
            assert after["b"] == [100, NOW_S + 0.6, 2, 0, "onnx"]
            await fake.end()

    run(story())


def test_a_snapshot_has_no_null() -> None:
    """A merge patch uses null to remove."""

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            assert list(nulls(seen(fake, status(a=(0, 0.0))))) == []
            await fake.end()

    run(story())


def nulls(value: Any, path: str = "") -> Any:
    if value is None:
        yield path
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield from nulls(inner, f"{path}/{name}")


@pytest.mark.parametrize(("wanted", "ready", "state"), [(0, 0, "asleep"), (1, 0, "starting"), (2, 1, "awake")])
def test_the_state_of_a_pool_follows_from_its_instances(wanted: int, ready: int, state: str) -> None:
    assert state_of_pool(wanted, ready) == state


def test_a_rollout_has_a_row_for_each_fleet_and_one_for_itself() -> None:
    async def story() -> None:
        with FakeHost() as host:
            blue, green = PoolOnFakeHost(host), PoolOnFakeHost(host)
            await blue.ready(1)
            live = FleetEndpoint("shop", "arn", {"v": blue.pool})
            live.serve({"v": blue.pool}, TrafficShift({"v": green.pool}, {"v": 0.25}))
            row = {"to": "new", "step": 1, "steps": 2, "said": "Baking.", "back": ""}
            card = Card("shop", 1.0, 1.0, "Updating")
            figures = {("shop", "v"): VariantFigures(requests=7)}
            found = snapshot([card], [live], {}, figures, {}, {"shop": row})
            assert found["endpoints"]["shop"]["rollout"] == row
            old, new = found["variants"]["shop/v"], found["variants"]["shop/v new"]
            assert (old["fleet"], old["share"], old["requests"]) == ("old", 0.75, 7)
            assert (new["fleet"], new["share"], "requests" in new) == ("new", 0.25, False)
            assert [one["fleet"] for one in found["instances"].values()] == ["old"]
            await blue.end()
            await green.end()

    run(story())


def test_a_pool_that_serves_both_configurations_has_one_row() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            live = FleetEndpoint("shop", "arn", {"v": fake.pool})
            live.serve({"v": fake.pool}, TrafficShift({"v": fake.pool}, {"v": 0.5}))
            found = snapshot([], [live], {}, {}, {})
            assert (list(found["variants"]), "fleet" in found["variants"]["shop/v"]) == (["shop/v"], False)
            await fake.end()

    run(story())


def test_the_row_of_a_rollout_says_what_happens_and_why_it_goes_back() -> None:
    rollout = Rollout(RolloutPolicy(), RolloutPhase.CREATING, (FleetSizes("v", 1, 2),), step=1)
    endpoint = EndpointRecord("shop", "arn", 1.0, 1.0, EndpointStatus.UPDATING, "old", (), "new", rollout=rollout)
    row = {"to": "new", "step": 1, "steps": 1, "said": "Launching 2 instance(s).", "back": ""}
    assert rollout_row(endpoint) == row
    back = replace(rollout, phase=RolloutPhase.REMOVING, reason="an alarm", back=1)
    assert (rollout_row(replace(endpoint, rollout=back)) or {})["back"] == "an alarm"
    assert rollout_row(replace(endpoint, rollout=None)) is None
