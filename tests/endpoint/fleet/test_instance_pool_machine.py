"""A pool through any events of its instances, in any order: its invariants hold at every moment."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from tests.helpers.example_counts import tries

Happening = Callable[[PoolOnFakeHost, int], Coroutine[Any, Any, None]]

HAPPENINGS = (
    PoolOnFakeHost.scale,
    PoolOnFakeHost.wake,
    PoolOnFakeHost.request,
    PoolOnFakeHost.reply,
    PoolOnFakeHost.suspect,
    PoolOnFakeHost.death,
    PoolOnFakeHost.mood,
    PoolOnFakeHost.moods_to_come,
    PoolOnFakeHost.launches_fail,
    PoolOnFakeHost.slow_ends,
    PoolOnFakeHost.clock_jumps,
    PoolOnFakeHost.close,
    PoolOnFakeHost.wait,
    PoolOnFakeHost.wait,
    PoolOnFakeHost.wait,
    PoolOnFakeHost.request,
    PoolOnFakeHost.scale,
)


@settings(max_examples=tries(50), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 5)), max_size=40), st.sampled_from((1, 1, 3)))
def test_a_pool_keeps_its_invariants_through_any_events(
    happenings: list[tuple[Happening, int]], containers: int
) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=containers)
            for happens, n in happenings:
                await happens(fake, n)
                fake.check()
            await fake.end()

    run(story())


@pytest.mark.parametrize("turns", range(12))
@pytest.mark.parametrize("containers", [1, 2])
@pytest.mark.parametrize("happens", [PoolOnFakeHost.suspect, PoolOnFakeHost.death])
def test_an_instance_retired_while_it_is_examined_still_ends(happens: Happening, containers: int, turns: int) -> None:
    """A cancellation must not be lost, at whichever turn of the event loop it comes."""

    async def story() -> None:
        with FakeHost() as host:
            fake = PoolOnFakeHost(host, containers=containers)
            await fake.ready(1)
            await fake.request(0)
            await happens(fake, 0)
            await fake.reply(0)
            for _ in range(turns):
                await asyncio.sleep(0)
            await fake.scale(0)
            await fake.end()

    run(story(), within_s=300.0)
