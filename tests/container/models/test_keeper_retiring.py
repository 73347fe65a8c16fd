"""A retired model: calls in flight end on the old copy, and later calls load it again."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.container.helpers.keeper_with_fakes import KeeperWithFakes
from tests.helpers.waiting import PATIENCE_S
from torpor_container.errors import NotReady


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, PATIENCE_S))


def loads(instance: KeeperWithFakes) -> int:
    return instance.models.counts()[("load", "a")]


def test_an_idle_model_leaves_at_once_and_is_loaded_by_the_next_call() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        await instance.call("a")
        assert instance.keeper.retire("a", "it was to be reloaded", doubt=True)["was"] == "resident"
        assert instance.keeper.at_hand("a") is None
        assert await instance.call("a") == b"a"
        assert loads(instance) == 2
        assert "it was to be reloaded" in {decision.reason.partition(";")[0] for decision in instance.decisions}

    run(story())


def test_calls_in_flight_end_on_the_old_copy_and_those_after_wait_for_one_new_load() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        await instance.call("a")
        instance.models.pause = gate.wait
        busy = asyncio.create_task(instance.call("a"))
        await asyncio.sleep(0)
        assert instance.keeper.retire("a", "why", doubt=True) == {"model": "a", "was": "resident", "in_flight": 1}
        later = [asyncio.create_task(instance.call("a")) for _ in range(5)]
        await asyncio.sleep(0)
        assert (loads(instance), instance.loader.loaded[0].alive) == (1, True)
        gate.set()
        assert await asyncio.gather(busy, *later) == [b"a"] * 6
        assert loads(instance) == 2
        await instance.settled()
        assert (instance.resident(), instance.pins()) == ({"a"}, 0)

    run(story())


def test_a_model_retired_while_it_loads_serves_only_the_calls_that_waited() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        instance.models.pause = gate.wait
        first = asyncio.create_task(instance.call("a"))
        await instance.models.until("download", "a")
        assert instance.keeper.retire("a", "why", doubt=True)["was"] == "loading"
        second = asyncio.create_task(instance.call("a"))
        gate.set()
        assert [await first, await second] == [b"a", b"a"]
        assert loads(instance) == 2

    run(story())


def test_a_failed_load_of_a_retired_model_blocks_no_later_call() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        instance.models.pause, instance.models.broken = gate.wait, {"a"}
        first = asyncio.create_task(instance.call("a"))
        await instance.models.until("download", "a")
        instance.keeper.retire("a", "why", doubt=True)
        second = asyncio.create_task(instance.call("a"))
        await asyncio.sleep(0)
        gate.set()
        failures = await asyncio.gather(first, second, return_exceptions=True)
        assert [str(failure) for failure in failures] == ["a is broken"] * 2
        instance.models.broken = set()
        assert await instance.call("a") == b"a"

    run(story())


def test_a_call_that_waits_for_an_old_copy_to_end_has_the_time_limit_of_a_load() -> None:
    async def story() -> None:
        instance, gate = KeeperWithFakes(), asyncio.Event()
        await instance.call("a")
        instance.models.pause = gate.wait
        busy = asyncio.create_task(instance.call("a"))
        await asyncio.sleep(0)
        instance.keeper.retire("a", "why", doubt=False)
        instance.wait_at_most(0.02)
        with pytest.raises(NotReady):
            await instance.call("a")
        gate.set()
        assert await busy == b"a"

    run(story())


def test_a_model_that_is_not_here_is_simply_loaded() -> None:
    async def story() -> None:
        instance = KeeperWithFakes()
        assert instance.keeper.retire("a", "why", doubt=True) == {"model": "a", "was": "absent", "in_flight": 0}
        assert await instance.call("a") == b"a"
        assert loads(instance) == 1

    run(story())
