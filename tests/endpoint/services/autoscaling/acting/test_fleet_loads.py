"""What automatic scaling reads of a variant while a rollout gives it two fleets, and after it."""

from dataclasses import replace

from tests.endpoint.helpers.fake_host import FakeHost
from torpor_endpoint.core.resource_records import Container, CopyNeeds, Variant
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import LaunchSpec
from torpor_endpoint.in_service.served_endpoints import TrafficShift
from torpor_endpoint.services.autoscaling.acting.fleet_loads import FleetLoads

OF = "endpoint/shop/variant/v"
VARIANT = Variant("v", "m", (Container("torpor"),))
NEEDS = CopyNeeds("one", "v", 512)


def pool_of(variant: Variant, host: FakeHost) -> InstancePool:
    factory = InstanceFactory(host, lambda variant, slot: LaunchSpec(slot), lambda: 1.0)
    return InstancePool("shop", variant, factory, SlotNumbers())


def served(live: FleetEndpoint) -> FleetLoads:
    roster = FleetRoster()
    roster.serve(live)
    return FleetLoads(roster)


def came(pool: InstancePool, requests: int) -> None:
    for _ in range(requests):
        pool.traffic.came(1.0)
        pool.traffic.went(1.0)


def read(loads: FleetLoads, of: str = OF) -> int:
    load = loads.load(of)
    assert load is not None
    return load.invocations


def test_the_requests_of_both_fleets_count_and_none_twice_when_the_old_one_goes() -> None:
    with FakeHost() as host:
        blue, green = pool_of(VARIANT, host), pool_of(VARIANT, host)
        live = FleetEndpoint("shop", "arn", {"v": blue})
        loads = served(live)
        came(blue, 100)
        assert read(loads) == 100
        live.serve({"v": blue}, TrafficShift({"v": green}, {"v": 0.5}))
        came(blue, 5)
        came(green, 6)
        blue.traffic.came(1.0)
        green.traffic.came(1.0)
        load = loads.load(OF)
        assert load is not None
        assert (load.invocations, load.in_flight) == (113, 2)
        live.serve({"v": green})
        came(green, 1)
        assert read(loads) == 114  # no request of the new fleet is counted anew


def test_a_variant_that_keeps_its_instances_in_a_rollout_is_read_once() -> None:
    with FakeHost() as host:
        pool = pool_of(VARIANT, host)
        live = FleetEndpoint("shop", "arn", {"v": pool})
        live.serve({"v": pool}, TrafficShift({"v": pool}, {"v": 0.5}))
        pool.traffic.came(1.0)
        load = served(live).load(OF)
        assert load is not None
        assert (load.invocations, load.in_flight) == (1, 1)


def test_the_copies_before_and_after_an_update_by_batches_count_together() -> None:
    with FakeHost() as host:
        old = pool_of(replace(VARIANT, name="component.one", copies=NEEDS, weight=0.75), host)
        new = pool_of(replace(VARIANT, name="component.one.2", copies=NEEDS, weight=0.25), host)
        loads = served(FleetEndpoint("shop", "arn", {"component.one": old, "component.one.2": new}))
        came(old, 3)
        came(new, 1)
        assert read(loads, "inference-component/one") == 4


def test_an_endpoint_that_is_gone_has_no_load_and_a_later_one_begins_anew() -> None:
    with FakeHost() as host:
        pool = pool_of(VARIANT, host)
        roster = FleetRoster()
        roster.serve(FleetEndpoint("shop", "arn", {"v": pool}))
        loads = FleetLoads(roster)
        came(pool, 9)
        assert read(loads) == 9
        roster.stop("shop")
        assert loads.load(OF) is None
        roster.serve(FleetEndpoint("shop", "arn", {"v": pool_of(VARIANT, host)}))
        assert read(loads) == 0
