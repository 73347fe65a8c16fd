"""The heartbeat reports every variant in intervals, whether it has an instance or sleeps."""

import asyncio

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.ledger.heartbeat import PERIOD_S, LedgerHeartbeat


def test_a_sleeping_variant_is_reported_until_it_is_gone() -> None:
    async def story() -> None:
        with FakeHost() as host:
            roster, told = FleetRoster(), list[tuple[str, str]]()
            roster.serve(FleetEndpoint("shop", "arn", {"v": PoolOnFakeHost(host).pool}))
            calling = asyncio.create_task(LedgerHeartbeat(roster, lambda *one: told.append(one)).run())
            await asyncio.sleep(2.5 * PERIOD_S)
            assert told == 3 * [("shop", "v")]
            roster.stop("shop")
            await asyncio.sleep(PERIOD_S)
            assert len(told) == 3
            calling.cancel()

    run(story())
