"""A pool through whatever may happen to its instances, in any order: what it promises holds at every moment."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.mortal_host import MortalHost
from tests.endpoint.pool_world import World
from tests.endpoint.virtual_time import run

Happening = Callable[[World, int], Coroutine[Any, Any, None]]

HAPPENINGS = (
    World.scale, World.wake, World.request, World.reply, World.suspect, World.death, World.mood, World.moods_to_come,
    World.launches_fail, World.slow_ends, World.clock_jumps, World.close,
    World.wait, World.wait, World.wait, World.request, World.scale,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 5)), max_size=40))
def test_whatever_happens_a_pool_keeps_its_promises(happenings: list[tuple[Happening, int]]) -> None:
    async def story() -> None:
        with MortalHost() as host:
            world = World(host)
            for happens, n in happenings:
                await happens(world, n)
                world.check()
            await world.end()

    run(story())


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("happens", [World.suspect, World.death])
def test_one_that_is_not_wanted_any_more_while_it_is_looked_at_goes_all_the_same(
    happens: Happening, turns: int
) -> None:
    """A cancellation must not be lost, at whichever turn of the event loop it comes."""

    async def story() -> None:
        with MortalHost() as host:
            world = World(host)
            await world.ready(1)
            await world.request(0)
            await happens(world, 0)
            await world.reply(0)
            for _ in range(turns):
                await asyncio.sleep(0)
            await world.scale(0)
            await world.end()

    run(story(), within_s=300.0)
