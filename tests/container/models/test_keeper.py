"""The keeper's promises: one load for any number of calls, and a clean end after a failure, death or cancellation."""

import asyncio
import errno
import os
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.container.helpers.keeper_with_fakes import SIZE_BYTES, FakeModels, FakeRunner, KeeperWithFakes
from tests.helpers.example_counts import tries
from tests.helpers.waiting import PATIENCE_S
from torpor_container.errors import (
    LoadFailed,
    LoadOutOfMemory,
    LoadTimedOut,
    MachineFault,
    ModelAbsent,
    ModelDied,
    NoRoom,
    NotReady,
)
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.keeper import WaitLimits
from torpor_container.wire import UNLOAD, Fault


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def test_two_hundred_first_calls_make_one_download_and_one_load() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        answers = await asyncio.gather(*(instance.call("a") for _ in range(200)))
        assert answers == [b"a"] * 200
        assert instance.models.counts() == dict.fromkeys(
            ((what, "a") for what in ("download", "recognise", "load", "give")), 1
        )
        assert instance.pins() == 0

    run(story())


def test_a_call_that_times_out_does_not_stop_the_load() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        instance.models.pause = gate.wait
        instance.wait_at_most(0.02)
        with pytest.raises(NotReady):
            await instance.call("a")
        gate.set()
        instance.wait_at_most(60.0)
        assert await instance.call("a") == b"a"
        assert instance.models.counts()["load", "a"] == 1

    run(story())


def test_a_call_that_is_to_begin_no_load_waits_for_one_and_is_told_where_there_is_none() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        with pytest.raises(ModelAbsent) as told:
            await instance.call("a", only_loaded=True)
        assert (told.value.fault, instance.models.events) == (Fault.ABSENT, [])
        instance.models.pause = gate.wait
        first = asyncio.create_task(instance.call("a"))
        await instance.models.until("download", "a")
        second = asyncio.create_task(instance.call("a", only_loaded=True))
        gate.set()
        assert [await first, await second, await instance.call("a", only_loaded=True)] == [b"a"] * 3
        assert instance.models.counts()["load", "a"] == 1

    run(story())


def test_a_call_that_is_to_begin_no_load_gets_no_copy_that_leaves_or_whose_process_ended() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        for name in ("retired", "ended"):
            await instance.call(name)
            if name == "retired":
                instance.keeper.retire(name, "it was told", doubt=False)
            else:
                instance.loader.loaded[-1].alive = False
            with pytest.raises(ModelAbsent):
                await instance.call(name, only_loaded=True)
            await instance.settled()
            assert instance.models.counts()["load", name] == 1
        assert instance.pins() == 0

    run(story())


def test_a_failed_load_reaches_every_caller_and_the_next_one_tries_again() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        instance.models.broken = {"a"}
        ends = await asyncio.gather(*(instance.call("a") for _ in range(5)), return_exceptions=True)
        assert [type(end) for end in ends] == [LoadFailed] * 5
        assert (instance.residency.get("a"), instance.residency.planned_bytes) == (None, 0)
        instance.models.broken.clear()
        assert await instance.call("a") == b"a"
        assert instance.models.counts()["download", "a"] == 2

    run(story())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.EIO])
def test_a_load_that_the_machine_fails_blames_no_model_and_the_next_call_tries_again(number: int) -> None:
    async def story() -> None:
        instance = KeeperWithFakes()

        async def fails() -> None:
            raise OSError(number, os.strerror(number))

        instance.models.pause, works = fails, instance.models.pause
        with pytest.raises(MachineFault, match=os.strerror(number)) as caught:
            await instance.call("a")
        assert (caught.value.fault, caught.value.status) == (Fault.MACHINE_FAILED, 503)
        instance.models.pause = works
        assert await instance.call("a") == b"a"

    run(story())


def test_a_model_that_has_grown_and_is_idle_leaves_for_one_that_finds_no_room() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=10)
        await instance.call("a")
        instance.loader.loaded[0].grown_bytes = 9 * SIZE_BYTES + SIZE_BYTES // 2
        instance.residency.measured(await instance.loader.used_bytes())
        timing = Timing(instance.clock)
        async with instance.keeper.lend("b", timing):
            assert instance.resident() == {"b"}
        assert timing.cold is not None
        assert timing.cold["victims"] == ["a"]
        assert timing.cold["efforts"] == {UNLOAD: {"work_s": 0.003, "delay_s": 0.002}}

    run(story())


def test_a_load_reports_what_it_waited_for_once() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=10)
        for once_s, imports_s in ((2.5, 0.0), (0.0, 1.5), (0.0, 0.0)):
            instance.loader.once_s, instance.loader.imports_s = once_s, imports_s
            timing = Timing(instance.clock)
            async with instance.keeper.lend(f"after {once_s} s and {imports_s} s", timing):
                assert timing.cold is not None
            assert (timing.cold.get("once_s", 0.0), timing.cold.get("imports_s", 0.0)) == (once_s, imports_s)

    run(story())


def test_a_load_that_takes_too_long_fails_and_leaves_the_residency_clean() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(patience=WaitLimits(load_timeout_s=0.01))
        instance.models.pause = lambda: asyncio.Event().wait()
        with pytest.raises(LoadTimedOut):
            await instance.call("a")
        assert (instance.residency.get("a"), instance.residency.planned_bytes) == (None, 0)

    run(story())


def test_victims_are_unloaded_before_the_newcomer_is_loaded() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=2)
        for name in "abc":
            await instance.call(name)
        seen = [event for event in instance.models.events if event[0] in ("load", "unload")]
        assert seen == [("load", "a"), ("load", "b"), ("unload", "a"), ("load", "c")]
        assert instance.resident() == {"b", "c"}

    run(story())


def test_a_victim_that_can_not_be_closed_cleanly_hinders_neither_the_newcomer_nor_the_other_victims() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=2)
        await asyncio.gather(instance.call("a"), instance.call("b"))
        for runner in instance.loader.loaded:
            runner.models = FakeModels(pause=refuse)
        instance.residency.budget_bytes = 100
        assert await instance.call("c") == b"c"
        await instance.settled()
        assert await instance.call("a") == b"a"

    run(story())


async def refuse() -> None:
    raise OSError("it will not close")


def test_memory_that_leavers_still_hold_is_no_reason_to_refuse_a_newcomer() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(room=1), asyncio.Event()
        await instance.call("a")
        (leaver,) = instance.loader.loaded
        leaver.alive, leaver.models = False, FakeModels(pause=gate.wait)
        again = asyncio.create_task(instance.call("a"))
        await leaver.models.until("close", "a")
        instance.residency.measured(
            SIZE_BYTES + SIZE_BYTES // 2
        )  # what its process still holds, which is more than it was
        newcomer = asyncio.create_task(instance.call("b"))
        await instance.models.until("recognise", "b")
        gate.set()
        assert [await newcomer, await again] == [b"b", b"a"]

    run(story())


def test_no_model_is_evicted_for_memory_that_loading_left_behind() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=3)
        instance.loader.litter_bytes = 2 * SIZE_BYTES
        for name in ("a", "b", "c"):
            await instance.call(name)
            await instance.settled()
        assert instance.resident() == {"a", "b", "c"}

    run(story())


def test_a_load_that_finds_no_memory_is_tried_again_while_idle_models_can_leave() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=3)
        instance.models.greedy = {"c"}
        assert [await instance.call(name) for name in ("a", "b", "c")] == [b"a", b"b", b"c"]
        await instance.settled()
        assert instance.resident() == {"c"}
        assert instance.models.counts()["load", "c"] == 3  # once for each that was in its way, and once more

    run(story())


def test_a_load_without_memory_or_an_idle_model_fails_alone() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=3)
        instance.models.greedy = {"b"}
        async with instance.keeper.lend("a", Timing(instance.clock)):
            with pytest.raises(LoadOutOfMemory):
                await instance.call("b")
        await instance.settled()
        assert instance.resident() == {"a"}

    run(story())


def test_a_runner_whose_process_ended_is_replaced_before_the_next_call() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        await instance.call("a")
        only(instance).alive = False
        assert await instance.call("a") == b"a"
        assert instance.models.counts()["load", "a"] == 2

    run(story())


def test_calls_on_a_dying_runner_fail_and_later_calls_get_a_new_one() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        await instance.call("a")
        instance.models.pause = gate.wait
        inside = [asyncio.create_task(instance.call("a")) for _ in range(3)]
        await asyncio.sleep(0)
        only(instance).alive = False
        after = [asyncio.create_task(instance.call("a")) for _ in range(3)]
        await asyncio.sleep(0)
        gate.set()
        assert [type(end) for end in await asyncio.gather(*inside, return_exceptions=True)] == [ModelDied] * 3
        assert await asyncio.gather(*after) == [b"a"] * 3
        assert instance.models.counts()["load", "a"] == 2

    run(story())


def test_a_call_waits_for_a_model_that_cannot_leave_as_long_as_for_any_load() -> None:
    """One of its workers ended, and another one answers a stream that does not end."""

    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        await instance.call("a")
        instance.models.pause = gate.wait
        inside = asyncio.create_task(instance.call("a"))
        await asyncio.sleep(0)
        only(instance).alive = False
        instance.wait_at_most(0.02)
        with pytest.raises(NotReady):
            await instance.call("a")
        assert instance.pins() == 1
        gate.set()
        instance.wait_at_most(60.0)
        await asyncio.gather(inside, return_exceptions=True)
        assert await instance.call("a") == b"a"

    run(story())


def test_a_script_broken_by_a_cancelled_call_serves_no_other_call() -> None:
    async def story() -> None:
        instance, never = KeeperWithFakes(), asyncio.Event()
        await instance.call("a")
        instance.models.pause = never.wait
        caller = asyncio.create_task(instance.call("a"))
        await asyncio.sleep(0)
        only(instance).alive = False  # as a script's process is ended when its caller goes
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        assert "a" not in instance.residency
        never.set()

    run(story())


def test_memory_taken_for_a_while_refuses_no_load_afterwards() -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=2)
        instance.loader.spike_bytes = 10 * SIZE_BYTES
        await instance.call("a")
        await instance.settled()
        with pytest.raises(NoRoom):
            await instance.call("b")
        instance.loader.spike_bytes = 0
        assert await instance.call("b") == b"b"

    run(story())


def test_without_a_cache_a_model_is_unloaded_even_if_its_caller_timed_out() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(cache=False), asyncio.Event()
        instance.wait_at_most(0.02)
        instance.models.pause = gate.wait
        with pytest.raises(NotReady):
            await instance.call("a")
        gate.set()
        await instance.settled()
        assert instance.resident() == set()
        assert instance.models.events[-2:] == [("unload", "a"), ("delete", "a")]

    run(story())


@pytest.mark.parametrize("steps", range(14))
def test_wherever_a_caller_is_cancelled_no_pin_stays_behind(steps: int) -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room=1)
        await instance.call("b")
        caller = asyncio.create_task(instance.call("a"))
        for _ in range(steps):
            await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await instance.settled()
        assert instance.pins() == 0
        assert [await instance.call(name) for name in "ab"] == [b"a", b"b"]

    run(story())


STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 12), st.sampled_from(["", "cancel", "die"])), max_size=30
)


@settings(max_examples=tries(20), deadline=None)
@given(STEPS, st.integers(1, 3))
def test_answers_and_counts_are_right_in_any_interleaving(steps: list[tuple[str, int, str]], room: int) -> None:
    async def story() -> None:
        instance = KeeperWithFakes(room)
        instance.models.broken = {"d"}
        callers: list[tuple[str, asyncio.Task[bytes]]] = []
        for name, turns, harm in steps:
            callers.append((name, asyncio.create_task(instance.call(name))))
            for _ in range(turns):
                await asyncio.sleep(0)
                assert instance.residency.planned_bytes <= instance.residency.budget_bytes
            hurt(instance, harm, callers[turns % len(callers)][1])
        ends = await asyncio.gather(*(task for _, task in callers), return_exceptions=True)
        await instance.settled()
        for (name, _), end in zip(callers, ends, strict=True):
            assert end == name.encode() or isinstance(end, (LoadFailed, ModelDied, asyncio.CancelledError)), end
        assert instance.pins() == 0
        assert instance.resident() == {runner.name for runner in instance.loader.loaded}
        assert len(instance.loader.loaded) <= room
        assert await asyncio.gather(*(instance.call(name) for name in "abc")) == [b"a", b"b", b"c"]

    run(story())


def hurt(instance: KeeperWithFakes, harm: str, caller: "asyncio.Task[bytes]") -> None:
    if harm == "cancel":
        caller.cancel()
    if harm == "die":
        for runner in instance.loader.loaded:
            runner.alive = False


def only(instance: KeeperWithFakes) -> FakeRunner:
    (runner,) = instance.loader.loaded
    return runner


def test_an_expected_model_is_loaded_once_and_stays_idle() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        instance.keeper.expect("a")
        instance.keeper.expect("a")
        await instance.settled()
        assert instance.resident() == {"a"}
        assert instance.models.counts()["load", "a"] == 1
        assert instance.pins() == 0
        assert instance.keeper.idle() == ["a"]

    run(story())


def test_an_expected_model_that_does_not_load_harms_no_call() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        instance.models.broken = {"a"}
        instance.keeper.expect("a")
        await instance.settled()
        assert instance.resident() == set()
        assert await instance.call("b") == b"b"

    run(story())


def test_only_an_idle_model_can_be_dismissed() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        await instance.call("a")
        async with instance.keeper.lend("b", Timing(instance.clock)):
            instance.keeper.dismiss("a", "nobody calls")
            instance.keeper.dismiss("b", "nobody calls")
        await instance.settled()
        assert instance.resident() == {"b"}

    run(story())
