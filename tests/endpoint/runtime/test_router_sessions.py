"""The router sends a request of a session to its holder, and to any instance once the holder is gone."""

from typing import Any

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.sending.machine import SESSION_ID
from torpor_endpoint.core.sessions import SessionHolder, SessionKey
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.passage import Route
from torpor_endpoint.runtime.request import TARGET_VARIANT
from torpor_endpoint.runtime.sending import RequestSender


async def chosen(fake: PoolOnFakeHost, *headers: tuple[bytes, bytes], target: str | None = None) -> Incarnation:
    """The instance that gets a request with these headers."""
    route = Route(FleetEndpoint("shop", "arn", {"v": fake.pool}), "v", fake.pool, target)
    sent = passage("shop", *headers, route=route)
    sent.body = [b""]
    sender = RequestSender(fake.now, strict=False)
    before = {one: one.in_flight for one in fake.pool.ready}
    await fake.pool.until(lambda: all(one.containers[0].multiplexed.open for one in fake.pool.ready))
    assert sender.send_inline(sent, lambda outcome: None)
    [found] = [one for one in fake.pool.ready if one.in_flight > before[one]]
    fake.pool.released(found)
    return found


def test_a_session_s_request_goes_to_the_variant_that_has_the_session() -> None:
    async def story() -> None:
        with FakeHost() as one, FakeHost() as two:
            pools = {"first": PoolOnFakeHost(one).pool, "second": PoolOnFakeHost(two).pool}
            roster = FleetRoster()
            roster.serve(FleetEndpoint("shop", "arn", pools))
            router = Router(roster, lambda: 0.0, strict=False)
            pools["second"].sessions.began(SessionKey(None, b"s-1"), SessionHolder(0, "i-1"))
            routed = []
            for headers in ([], [(SESSION_ID, b"s-1")], [(SESSION_ID, b"s-2")], [(TARGET_VARIANT, b"second")]):
                sent = passage("shop", *headers)
                router.route(sent)
                assert sent.route is not None
                routed.append(sent.route.variant)
            assert routed == ["first", "second", "first", "second"]

    run(story())


@pytest.mark.parametrize("target", [None, "a.tar.gz"])
def test_a_session_s_request_reaches_its_holder_and_after_its_end_any_instance(target: str | None) -> None:
    session = (SESSION_ID, b"s-1")

    async def story() -> Any:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            usual = await chosen(fake, session, target=target)
            other = next(one for one in fake.pool.ready if one is not usual)
            key = SessionKey(target, b"s-1")
            fake.pool.sessions.began(key, SessionHolder(other.slot.number, other.id))
            assert await chosen(fake, session, target=target) is other
            assert await chosen(fake, target=target) is usual
            fake.pool.sessions.began(key, SessionHolder(other.slot.number, "an earlier incarnation"))
            assert await chosen(fake, session, target=target) is usual
            await fake.end()

    run(story())
