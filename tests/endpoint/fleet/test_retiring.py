"""Where a model is retired: on each instance that may have it, of both fleets while a rollout goes on."""

from dataclasses import replace

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.retiring import places_of
from torpor_endpoint.in_service.served_endpoints import TrafficShift

MANY = (Container("torpor", "s3://models/houses/", multi_model=True),)


def test_a_model_is_retired_in_the_new_fleet_of_a_rollout_too() -> None:
    async def story() -> None:
        with FakeHost() as one, FakeHost() as two:
            blue, green = PoolOnFakeHost(one).pool, PoolOnFakeHost(two).pool
            for pool in (blue, green):
                pool.scale(1, "the test")
                await pool.until(lambda pool=pool: bool(pool.ready))  # type: ignore[misc]
                pool.become(replace(pool.variant, containers=MANY))
            live = FleetEndpoint("shop", "arn", {"v": blue})
            objects = {"s3://models/houses/a.tar.gz"}
            assert [place.incarnation for place in places_of(live, objects)] == blue.incarnations
            live.serve({"v": blue}, TrafficShift({"v": green}, {"v": 0.5}))
            assert [place.incarnation for place in places_of(live, objects)] == [
                *blue.incarnations,
                *green.incarnations,
            ]
            assert {place.target for place in places_of(live, objects)} == {"a.tar.gz"}
            for pool in (blue, green):
                await pool.close("the test ends")

    run(story())
