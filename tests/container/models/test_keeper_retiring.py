"""A model that is retired: those who have it end on the old copy, and later callers get it loaded anew."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.container.helpers.keeper_with_fakes import KeeperWithFakes
from torpor_container.errors import NotReady
from torpor_container.models.keeper import WaitLimits


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10.0))


def loads(site: KeeperWithFakes) -> int:
    return site.scene.counts()[("load", "a")]


def test_an_idle_model_leaves_at_once_and_is_loaded_by_the_next_call() -> None:
    async def story() -> None:
        site = KeeperWithFakes()
        await site.call("a")
        assert site.keeper.retire("a", "it was to be reloaded", doubt=True)["was"] == "resident"
        assert site.keeper.at_hand("a") is None
        assert await site.call("a") == b"a"
        assert loads(site) == 2
        assert "it was to be reloaded" in {decision.reason.partition(";")[0] for decision in site.decisions}

    run(story())


def test_calls_in_flight_end_on_the_old_copy_and_those_after_wait_for_one_new_load() -> None:
    async def story() -> None:
        site, gate = KeeperWithFakes(), asyncio.Event()
        await site.call("a")
        site.scene.pause = gate.wait
        busy = asyncio.create_task(site.call("a"))
        await asyncio.sleep(0)
        assert site.keeper.retire("a", "why", doubt=True) == {"model": "a", "was": "resident", "in_flight": 1}
        later = [asyncio.create_task(site.call("a")) for _ in range(5)]
        await asyncio.sleep(0)
        assert (loads(site), site.loader.loaded[0].alive) == (1, True)
        gate.set()
        assert await asyncio.gather(busy, *later) == [b"a"] * 6
        assert loads(site) == 2
        await site.settled()
        assert (site.resident(), site.pins()) == ({"a"}, 0)

    run(story())


def test_a_model_that_is_loading_serves_those_who_waited_and_nobody_else() -> None:
    async def story() -> None:
        site, gate = KeeperWithFakes(), asyncio.Event()
        site.scene.pause = gate.wait
        first = asyncio.create_task(site.call("a"))
        await site.scene.until("download", "a")
        assert site.keeper.retire("a", "why", doubt=True)["was"] == "loading"
        second = asyncio.create_task(site.call("a"))
        gate.set()
        assert [await first, await second] == [b"a", b"a"]
        assert loads(site) == 2

    run(story())


def test_a_load_that_fails_while_it_is_retired_holds_nobody_up() -> None:
    async def story() -> None:
        site, gate = KeeperWithFakes(), asyncio.Event()
        site.scene.pause, site.scene.broken = gate.wait, {"a"}
        first = asyncio.create_task(site.call("a"))
        await site.scene.until("download", "a")
        site.keeper.retire("a", "why", doubt=True)
        second = asyncio.create_task(site.call("a"))
        await asyncio.sleep(0)
        gate.set()
        failures = await asyncio.gather(first, second, return_exceptions=True)
        assert [str(failure) for failure in failures] == ["a is broken"] * 2
        site.scene.broken = set()
        assert await site.call("a") == b"a"

    run(story())


def test_who_waits_for_an_old_copy_to_end_waits_as_long_as_for_any_load() -> None:
    async def story() -> None:
        site, gate = KeeperWithFakes(patience=WaitLimits(ready_wait_s=0.02)), asyncio.Event()
        await site.call("a")
        site.scene.pause = gate.wait
        busy = asyncio.create_task(site.call("a"))
        await asyncio.sleep(0)
        site.keeper.retire("a", "why", doubt=False)
        with pytest.raises(NotReady):
            await site.call("a")
        gate.set()
        assert await busy == b"a"

    run(story())


def test_a_model_that_is_not_here_is_simply_loaded() -> None:
    async def story() -> None:
        site = KeeperWithFakes()
        assert site.keeper.retire("a", "why", doubt=True) == {"model": "a", "was": "absent", "in_flight": 0}
        assert await site.call("a") == b"a"
        assert loads(site) == 1

    run(story())
