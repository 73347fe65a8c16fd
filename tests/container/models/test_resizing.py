"""A budget that changes: idle models beyond it leave, those in use later, and a model that waits for room comes in."""

import asyncio
from contextlib import AsyncExitStack

from tests.container.helpers.keeper_with_fakes import SIZE_BYTES, KeeperWithFakes
from tests.helpers.waiting import reached
from torpor_container.errors import NoRoom
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.resizing import REASON
from torpor_container.processes.memory_budget import MemoryBudget


def memory(models: int, limits: list[int] | None = None) -> MemoryBudget:
    """The budget for so many models. `limits` records what the process is bounded to."""
    return MemoryBudget(models * SIZE_BYTES, limits.append if limits is not None else lambda budget_bytes: None)


def test_a_lower_budget_evicts_the_idle_models_that_the_policy_names() -> None:
    async def story() -> None:
        shop, limits = KeeperWithFakes(room=3), list[int]()
        for name in ("a", "b", "c", "a"):
            await shop.call(name)
        await shop.keeper.resize(memory(1, limits))
        assert shop.resident() == {"a"}
        evicted = [(one.model, one.reason) for one in shop.decisions if one.action == "evict"]
        assert [name for name, _ in evicted] == ["b", "c"]
        assert all(reason.startswith(REASON) for _, reason in evicted)
        assert limits == [SIZE_BYTES]
        await shop.keeper.close()

    asyncio.run(story())


def test_a_model_in_use_stays_until_no_call_uses_it() -> None:
    async def story() -> None:
        shop, limits = KeeperWithFakes(room=2), list[int]()
        async with AsyncExitStack() as calls:
            for name in ("a", "b"):
                await calls.enter_async_context(shop.keeper.lend(name, Timing(shop.clock)))
            await shop.keeper.resize(memory(1, limits))
            assert shop.resident() == {"a", "b"}
        await reached(lambda: len(shop.resident()) == 1)
        await reached(lambda: len(limits) == 2)
        await shop.keeper.close()

    asyncio.run(story())


def test_a_higher_budget_lets_a_model_in_that_waits_and_one_that_was_refused() -> None:
    async def story() -> None:
        shop = KeeperWithFakes(room=1)
        async with shop.keeper.lend("a", Timing(shop.clock)):
            waiting = asyncio.create_task(shop.call("b"))
            await shop.models.until("recognise", "b")
            assert shop.resident() == {"a"}
            await shop.keeper.resize(memory(2))
            assert await waiting == b"b"
            assert shop.resident() == {"a", "b"}
        await shop.keeper.resize(memory(0))
        try:
            await shop.call("c")
        except NoRoom:
            await shop.keeper.resize(memory(1))
            assert await shop.call("c") == b"c"
        await shop.settled()

    asyncio.run(story())


def test_a_lower_budget_that_is_raised_again_evicts_no_model_later() -> None:
    async def story() -> None:
        shop = KeeperWithFakes(room=2)
        async with shop.keeper.lend("a", Timing(shop.clock)), shop.keeper.lend("b", Timing(shop.clock)):
            await shop.keeper.resize(memory(1))
            await shop.keeper.resize(memory(2))
        await shop.call("a")
        assert shop.resident() == {"a", "b"}
        await shop.keeper.close()

    asyncio.run(story())
