"""The keeper's promises: one load however many call, a clean end for whoever fails, dies or gives up."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.container.keeper_site import SIZE_BYTES, FakeRunner, Scene, Site
from torpor_container.errors import LoadFailed, LoadOutOfMemory, LoadTimedOut, ModelDied, NoRoom, NotReady
from torpor_container.measuring.timing import Timing
from torpor_container.models.keeper import WaitLimits
from torpor_container.wire import UNLOAD


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10.0))


def test_two_hundred_first_calls_make_one_download_and_one_load() -> None:
    async def story() -> None:
        site = Site()
        answers = await asyncio.gather(*(site.call("a") for _ in range(200)))
        assert answers == [b"a"] * 200
        assert site.scene.counts() == dict.fromkeys(
            ((what, "a") for what in ("download", "recognise", "load", "give")), 1
        )
        assert site.pins() == 0

    run(story())


def test_a_caller_who_gives_up_does_not_stop_the_load() -> None:
    async def story() -> None:
        site, gate = Site(patience=WaitLimits(ready_wait_s=0.05)), asyncio.Event()
        site.scene.pause = gate.wait
        with pytest.raises(NotReady):
            await site.call("a")
        gate.set()
        assert await site.call("a") == b"a"
        assert site.scene.counts()["load", "a"] == 1

    run(story())


def test_a_failed_load_reaches_every_caller_and_the_next_one_tries_again() -> None:
    async def story() -> None:
        site = Site()
        site.scene.broken = {"a"}
        ends = await asyncio.gather(*(site.call("a") for _ in range(5)), return_exceptions=True)
        assert [type(end) for end in ends] == [LoadFailed] * 5
        assert (site.residency.get("a"), site.residency.planned_bytes) == (None, 0)
        site.scene.broken.clear()
        assert await site.call("a") == b"a"
        assert site.scene.counts()["download", "a"] == 2

    run(story())


def test_a_model_that_has_grown_and_is_idle_leaves_for_one_that_finds_no_room() -> None:
    async def story() -> None:
        site = Site(room=10)
        await site.call("a")
        site.loader.loaded[0].grown_bytes = 9 * SIZE_BYTES + SIZE_BYTES // 2
        site.residency.measured(await site.loader.used_bytes())
        timing = Timing(site.clock)
        async with site.keeper.lend("b", timing):
            assert site.resident() == {"b"}
        assert timing.cold is not None
        assert timing.cold["victims"] == ["a"]
        assert timing.cold["efforts"] == {UNLOAD: {"work_s": 0.003, "delay_s": 0.002}}

    run(story())


def test_a_load_that_takes_too_long_fails_and_leaves_the_residency_clean() -> None:
    async def story() -> None:
        site = Site(patience=WaitLimits(load_timeout_s=0.01))
        site.scene.pause = lambda: asyncio.Event().wait()
        with pytest.raises(LoadTimedOut):
            await site.call("a")
        assert (site.residency.get("a"), site.residency.planned_bytes) == (None, 0)

    run(story())


def test_victims_are_unloaded_before_the_newcomer_is_loaded() -> None:
    async def story() -> None:
        site = Site(room=2)
        for name in "abc":
            await site.call(name)
        seen = [event for event in site.scene.events if event[0] in ("load", "unload")]
        assert seen == [("load", "a"), ("load", "b"), ("unload", "a"), ("load", "c")]
        assert site.resident() == {"b", "c"}

    run(story())


def test_a_victim_that_can_not_be_closed_cleanly_hinders_neither_the_newcomer_nor_the_other_victims() -> None:
    async def story() -> None:
        site = Site(room=2)
        await asyncio.gather(site.call("a"), site.call("b"))
        for runner in site.loader.loaded:
            runner.scene = Scene(pause=refuse)
        site.residency.budget_bytes = 100
        assert await site.call("c") == b"c"
        await site.settled()
        assert await site.call("a") == b"a"

    run(story())


async def refuse() -> None:
    raise OSError("it will not close")


def test_memory_that_leavers_still_hold_is_no_reason_to_refuse_a_newcomer() -> None:
    async def story() -> None:
        site, gate = Site(room=1), asyncio.Event()
        await site.call("a")
        (leaver,) = site.loader.loaded
        leaver.alive, leaver.scene = False, Scene(pause=gate.wait)
        again = asyncio.create_task(site.call("a"))
        await leaver.scene.until("close", "a")
        site.residency.measured(SIZE_BYTES + SIZE_BYTES // 2)  # what its process still holds, which is more than it was
        newcomer = asyncio.create_task(site.call("b"))
        await site.scene.until("recognise", "b")
        gate.set()
        assert [await newcomer, await again] == [b"b", b"a"]

    run(story())


def test_nobody_leaves_for_memory_that_loading_left_behind() -> None:
    async def story() -> None:
        site = Site(room=3)
        site.loader.litter_bytes = 2 * SIZE_BYTES
        for name in ("a", "b", "c"):
            await site.call(name)
            await site.settled()
        assert site.resident() == {"a", "b", "c"}

    run(story())


def test_a_load_that_finds_no_memory_is_tried_again_while_idle_models_can_leave() -> None:
    async def story() -> None:
        site = Site(room=3)
        site.scene.greedy = {"c"}
        assert [await site.call(name) for name in ("a", "b", "c")] == [b"a", b"b", b"c"]
        await site.settled()
        assert site.resident() == {"c"}
        assert site.scene.counts()["load", "c"] == 3  # once for each that was in its way, and once more

    run(story())


def test_a_load_that_finds_no_memory_and_nobody_idle_fails_alone() -> None:
    async def story() -> None:
        site = Site(room=3)
        site.scene.greedy = {"b"}
        async with site.keeper.lend("a", Timing(site.clock)):
            with pytest.raises(LoadOutOfMemory):
                await site.call("b")
        await site.settled()
        assert site.resident() == {"a"}

    run(story())


def test_a_runner_whose_process_ended_is_replaced_before_the_next_call() -> None:
    async def story() -> None:
        site = Site()
        await site.call("a")
        only(site).alive = False
        assert await site.call("a") == b"a"
        assert site.scene.counts()["load", "a"] == 2

    run(story())


def test_callers_on_a_dying_runner_fail_and_those_who_come_meanwhile_get_a_new_one() -> None:
    async def story() -> None:
        site, gate = Site(), asyncio.Event()
        await site.call("a")
        site.scene.pause = gate.wait
        inside = [asyncio.create_task(site.call("a")) for _ in range(3)]
        await asyncio.sleep(0)
        only(site).alive = False
        after = [asyncio.create_task(site.call("a")) for _ in range(3)]
        await asyncio.sleep(0)
        gate.set()
        assert [type(end) for end in await asyncio.gather(*inside, return_exceptions=True)] == [ModelDied] * 3
        assert await asyncio.gather(*after) == [b"a"] * 3
        assert site.scene.counts()["load", "a"] == 2

    run(story())


def test_a_caller_who_leaves_a_script_broken_leaves_it_to_nobody_else() -> None:
    async def story() -> None:
        site, never = Site(), asyncio.Event()
        await site.call("a")
        site.scene.pause = never.wait
        caller = asyncio.create_task(site.call("a"))
        await asyncio.sleep(0)
        only(site).alive = False  # as a script's process is ended when its caller goes
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        assert "a" not in site.residency
        never.set()

    run(story())


def test_memory_that_was_taken_for_a_while_keeps_nobody_out_afterwards() -> None:
    async def story() -> None:
        site = Site(room=2)
        site.loader.spike_bytes = 10 * SIZE_BYTES
        await site.call("a")
        await site.settled()
        with pytest.raises(NoRoom):
            await site.call("b")
        site.loader.spike_bytes = 0
        assert await site.call("b") == b"b"

    run(story())


def test_without_a_cache_a_model_leaves_even_if_nobody_waited_for_its_load_to_end() -> None:
    async def story() -> None:
        site, gate = Site(patience=WaitLimits(ready_wait_s=0.05), cache=False), asyncio.Event()
        site.scene.pause = gate.wait
        with pytest.raises(NotReady):
            await site.call("a")
        gate.set()
        await site.settled()
        assert site.resident() == set()
        assert site.scene.events[-2:] == [("unload", "a"), ("delete", "a")]

    run(story())


@pytest.mark.parametrize("steps", range(14))
def test_wherever_a_caller_is_cancelled_no_pin_stays_behind(steps: int) -> None:
    async def story() -> None:
        site = Site(room=1)
        await site.call("b")
        caller = asyncio.create_task(site.call("a"))
        for _ in range(steps):
            await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await site.settled()
        assert site.pins() == 0
        assert [await site.call(name) for name in "ab"] == [b"a", b"b"]

    run(story())


STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 12), st.sampled_from(["", "cancel", "die"])), max_size=30
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 3))
def test_in_any_interleaving_answers_and_counts_are_right(steps: list[tuple[str, int, str]], room: int) -> None:
    async def story() -> None:
        site = Site(room)
        site.scene.broken = {"d"}
        callers: list[tuple[str, asyncio.Task[bytes]]] = []
        for name, turns, harm in steps:
            callers.append((name, asyncio.create_task(site.call(name))))
            for _ in range(turns):
                await asyncio.sleep(0)
                assert site.residency.planned_bytes <= site.residency.budget_bytes
            hurt(site, harm, callers[turns % len(callers)][1])
        ends = await asyncio.gather(*(task for _, task in callers), return_exceptions=True)
        await site.settled()
        for (name, _), end in zip(callers, ends, strict=True):
            assert end == name.encode() or isinstance(end, (LoadFailed, ModelDied, asyncio.CancelledError)), end
        assert site.pins() == 0
        assert site.resident() == {runner.name for runner in site.loader.loaded}
        assert len(site.loader.loaded) <= room
        assert await asyncio.gather(*(site.call(name) for name in "abc")) == [b"a", b"b", b"c"]

    run(story())


def hurt(site: Site, harm: str, caller: "asyncio.Task[bytes]") -> None:
    if harm == "cancel":
        caller.cancel()
    if harm == "die":
        for runner in site.loader.loaded:
            runner.alive = False


def only(site: Site) -> FakeRunner:
    (runner,) = site.loader.loaded
    return runner


def test_a_model_that_is_expected_is_brought_in_once_and_kept_for_nobody() -> None:
    async def story() -> None:
        site = Site()
        site.keeper.expect("a")
        site.keeper.expect("a")
        await site.settled()
        assert site.resident() == {"a"}
        assert site.scene.counts()["load", "a"] == 1
        assert site.pins() == 0
        assert site.keeper.idle() == ["a"]

    run(story())


def test_a_model_that_is_expected_in_vain_harms_nobody() -> None:
    async def story() -> None:
        site = Site()
        site.scene.broken = {"a"}
        site.keeper.expect("a")
        await site.settled()
        assert site.resident() == set()
        assert await site.call("b") == b"b"

    run(story())


def test_an_idle_model_is_dismissed_and_a_busy_one_is_not() -> None:
    async def story() -> None:
        site = Site()
        await site.call("a")
        async with site.keeper.lend("b", Timing(site.clock)):
            site.keeper.dismiss("a", "nobody calls")
            site.keeper.dismiss("b", "nobody calls")
        await site.settled()
        assert site.resident() == {"b"}

    run(story())
