"""Starts that fail, drains that do not end, and the pool's report of them."""

import asyncio
from enum import StrEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from tests.endpoint.helpers.passages import passage
from tests.endpoint.helpers.pool_on_fake_host import SLOT, PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.example_counts import tries
from torpor_endpoint.core.lifecycle import InstanceEvent
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.incarnation import StartTrouble
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Route
from torpor_endpoint.runtime.sending import RequestSender


class End(StrEnum):
    """How one incarnation comes to its end."""

    NO_LAUNCH = "no launch"
    DIES_STARTING = "dies starting"
    DIES_SOON = "dies soon"
    DIES_LATE = "dies late"


@settings(max_examples=tries(20), deadline=None)
@given(st.lists(st.sampled_from(End), max_size=12))
def test_the_pause_grows_with_failed_starts_and_is_short_after_a_ready_instance(ends: list[End]) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.scale(1)
            failed = deaths = 0
            for end in ends:
                ended_at_s = await come_to(end, fake)
                failed = failed + 1 if end in (End.NO_LAUNCH, End.DIES_STARTING) else 0
                deaths = 0 if end is End.DIES_LATE else deaths + (end is End.DIES_SOON)
                await asyncio.sleep(TIMING.restart_pause_s(failed, deaths) - 0.001)
                assert host.tries_s[SLOT][-1] <= ended_at_s, "it was tried again at once"
                await asyncio.sleep(0.002)
                assert host.tries_s[SLOT][-1] > ended_at_s, "it was not tried again"
            await fake.end()

    run(story())


def test_a_model_that_ends_every_instance_never_delays_other_models_for_long() -> None:
    assert max(TIMING.restart_pause_s(0, deaths) for deaths in range(100)) <= 0.5
    assert TIMING.restart_pause_s(100, 0) == TIMING.restart_pauses_s[-1]


async def come_to(end: End, fake: PoolOnFakeHost) -> float:
    """Let the incarnation that is being launched come to this end: when that was."""
    pool, host, before = fake.pool, fake.host, fake.pool.trouble
    host.launches_to_fail = 1 if end is End.NO_LAUNCH else 0
    host.mood = Mood.BAD if end is End.DIES_STARTING else Mood.GOOD
    if end is not End.NO_LAUNCH:
        await pool.until(lambda: SLOT in host.living and (end is End.DIES_STARTING or bool(pool.ready)))
        await asyncio.sleep(TIMING.steady_s + 1.0 if end is End.DIES_LATE else 0.5)
        host.living[SLOT].die()
    never_ready = end in (End.NO_LAUNCH, End.DIES_STARTING)
    await pool.until(lambda: not pool.ready and (not never_ready or pool.trouble is not before))
    return fake.now()


def test_a_pool_that_cannot_launch_an_instance_reports_the_reason() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.launches_to_fail = 1000
            await fake.scale(1)
            await fake.pool.until(lambda: fake.pool.hopeless)
            assert fake.now() < 5.0
            assert fake.pool.trouble is not None
            assert fake.pool.trouble.reason == "there is no room"
            await asyncio.sleep(120.0)
            assert len(host.tries_s[SLOT]) < 12
            await fake.end()

    run(story())


def test_a_failing_restart_of_a_ready_instance_is_retried_with_pauses() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            host.launches_to_fail = 1000
            host.living[SLOT].die()
            await asyncio.sleep(4.5)
            assert 3 <= len(host.tries_s[SLOT]) <= 6  # a hot loop would make dozens of them
            assert fake.pool.hopeless
            host.launches_to_fail = 0
            await fake.pool.until(lambda: bool(fake.pool.ready))
            await fake.end()

    run(story())


def test_an_unforeseen_launch_error_is_retried() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.launches_to_fail, host.failure = 2, RuntimeError("an odd answer")
            await fake.scale(1)
            await fake.pool.until(lambda: fake.pool.trouble is not None)
            assert fake.pool.trouble == StartTrouble("RuntimeError: an odd answer", 1, False)
            await fake.pool.until(lambda: bool(fake.pool.ready))
            await fake.end()

    run(story())


def test_a_host_that_fails_to_empty_a_slot_does_not_leave_it_empty_for_ever() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            host.ends_to_fail = 1
            host.living[SLOT].die()
            await fake.pool.until(lambda: not fake.pool.ready)
            await fake.pool.until(lambda: bool(fake.pool.ready))
            assert host.ends_to_fail == 0
            await fake.end()

    run(story())


def test_a_slot_whose_termination_fails_is_recorded_and_free_again() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            host.ends_to_fail = 1
            await fake.scale(0)
            await asyncio.sleep(TIMING.grace_s + 1.0)
            assert fake.numbers.all_free
            assert fake.lives[-1].stopped_s is not None
            await fake.end()

    run(story())


def test_an_instance_that_the_host_cannot_end_now_has_its_slot_until_it_has_ended() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            host.away = True
            await fake.scale(1)
            await asyncio.sleep(600.0)
            assert (fake.pool.leaving, fake.numbers.take()) == (1, 2)
            assert not any(life.stopped_s for life in fake.lives)
            host.away = False
            await asyncio.sleep(TIMING.end_pauses_s[-1])
            assert (fake.pool.leaving, list(host.living)) == (0, [SLOT])
            assert fake.lives[-1].stopped_s == pytest.approx(fake.epoch(), abs=TIMING.end_pauses_s[-1])
            fake.numbers.give(2)
            await fake.end()

    run(story())


def test_a_pool_whose_close_is_given_up_does_not_wait_for_its_host() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            host.away = True
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(fake.pool.close("the endpoint stops"), 5.0)
            assert fake.now() == pytest.approx(5.0, abs=0.5)
            assert fake.pool.leaving == 0
            host.living[SLOT].die()

    run(story())


def test_an_instance_that_leaves_while_the_others_are_left_running_ends_in_the_ledger() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            host.dies_slowly_s = 5.0
            await fake.scale(1)
            await asyncio.sleep(1.0)
            await fake.pool.detach()
            ended = {life.slot for life in fake.lives if life.stopped_s is not None}
            assert (list(host.living), ended, fake.numbers.take()) == ([SLOT], {1}, 1)
            host.living[SLOT].die()

    run(story())


def test_a_wake_clears_the_trouble_of_a_pool() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.launches_to_fail = 3
            await fake.scale(1)
            await fake.pool.until(lambda: fake.pool.hopeless)
            await fake.scale(0)
            await fake.wake(0)
            assert fake.pool.trouble is None
            await fake.pool.until(lambda: bool(fake.pool.ready))
            await fake.end()

    run(story())


def test_an_instance_that_dies_within_its_emulated_delay_is_never_offered() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, start_delay_s=8.0)
            await fake.scale(1)
            await asyncio.sleep(4.0)
            host.living[SLOT].die()
            await asyncio.sleep(8.0)
            assert (len(fake.pool.ready), len(host.tries_s[SLOT])) == (0, 2)
            await asyncio.sleep(4.0)
            assert [incarnation.slot for incarnation in fake.pool.ready] == [SLOT]
            await fake.end()

    run(story())


def test_a_drain_that_does_not_end_has_a_single_grace_period() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.dies_slowly_s = 100.0
            await fake.ready(1)
            await fake.request(0)
            began_s = fake.now()
            await fake.end()
            assert fake.now() - began_s == pytest.approx(TIMING.grace_s)
            assert fake.lives[-1].why_stopped == "it is closed"

    run(story())


@pytest.mark.parametrize(("lasts_s", "drains_s"), [(100.0, 100.0), (1000.0, TIMING.grace_s + TIMING.stream_s)])
def test_a_drain_waits_for_streams_longer_than_its_grace_period(lasts_s: float, drains_s: float) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready

            async def stream() -> None:
                incarnation.took()
                with fake.pool.streaming(incarnation):
                    await asyncio.sleep(lasts_s)
                fake.pool.released(incarnation)

            streaming = asyncio.create_task(stream())
            await asyncio.sleep(0)
            began_s = fake.now()
            await fake.end()
            assert fake.now() - began_s == pytest.approx(drains_s)
            await streaming

    run(story())


def test_a_drain_with_a_request_on_the_shared_connection_has_a_single_grace_period() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.dies_slowly_s = 100.0
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            incarnation.took()
            assert incarnation.containers[0].multiplexed.send(
                b"", b"", 1000.0, lambda outcome: fake.pool.released(incarnation)
            )
            began_s = fake.now()
            await fake.end()
            assert fake.now() - began_s == pytest.approx(TIMING.grace_s)

    run(story())


def test_the_ledger_has_the_reason_of_an_instance_that_never_became_ready() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.mood = Mood.BAD
            await fake.scale(1)
            await asyncio.sleep(1.0)
            await fake.end()
            assert [life.why_stopped for life in fake.lives] == ["", "it is closed"]

    run(story())


def test_a_request_that_waits_in_vain_gets_the_reason_of_the_failed_launches() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            host.launches_to_fail = 1000
            live = FleetEndpoint("shop", "arn", {"v": fake.pool})
            sender = RequestSender(fake.now, strict=False)
            with pytest.raises(RuntimeFault) as fault:
                await sender.send(passage("shop", route=Route(live, "v", fake.pool, None)))
            assert fault.value.situation is Situation.NOT_READY
            assert "there is no room" in str(fault.value.fields["detail"])
            fake.wanted = 1  # it has been woken
            await fake.end()

    run(story())


def test_a_ready_instance_has_a_shared_connection_that_is_reopened_if_lost() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            assert incarnation.containers[0].multiplexed.open
            host.living[SLOT].hang_up()
            await asyncio.sleep(0.001)
            assert not incarnation.containers[0].multiplexed.open
            await asyncio.sleep(TIMING.health_period_s + 0.1)
            assert incarnation.containers[0].multiplexed.open
            assert fake.pool.offered(incarnation)
            await fake.end()

    run(story())


def test_the_ready_instances_stay_when_the_pool_shrinks() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(2)
            host.launches_to_fail = 1000
            host.living[Slot("shop", "v", 0)].die()
            await fake.pool.until(lambda: len(fake.pool.ready) == 1)
            await fake.scale(1)
            await asyncio.sleep(1.0)
            assert [str(incarnation.slot) for incarnation in fake.pool.ready] == ["shop/v/1"]
            await fake.pool.close("it is closed")

    run(story())


def test_an_instance_that_is_gone_can_be_retired_before_its_end_is_reported() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            (incarnation,) = fake.pool.ready
            incarnation.happened(InstanceEvent.TIMED_OUT)
            await fake.end()

    run(story())


def test_a_start_that_was_given_up_is_none_of_the_next_ones() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host)
            await fake.ready(1)
            host.launches_to_fail = 1000
            await fake.scale(2)
            await fake.pool.until(lambda: fake.pool.hopeless)
            await fake.scale(1)
            host.launches_to_fail = 0
            await fake.scale(2)
            assert not fake.pool.hopeless
            await fake.ready(2)
            await fake.end()

    run(story())
