"""The time at which a batch is passed on, and its contents."""

import asyncio

from torpor_container.transport.loop_batch import BatchScope, LoopBatch


def test_items_of_the_same_turn_are_passed_on_together_at_its_end() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        batch = LoopBatch(handed.append)
        for number in range(3):
            batch.add(number)
        assert handed == []
        await asyncio.sleep(0)
        assert handed == [[0, 1, 2]]
        await asyncio.sleep(0)
        assert handed == [[0, 1, 2]]

    asyncio.run(story())


def test_a_full_batch_does_not_wait_for_the_rounds_end() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        batch = LoopBatch(handed.append, size_max=2)
        for number in range(5):
            batch.add(number)
        assert handed == [[0, 1], [2, 3]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2, 3], [4]]

    asyncio.run(story())


def test_the_last_item_flushes_those_before_it() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        batch = LoopBatch(handed.append)
        batch.add(0)
        batch.add(1, last=True)
        assert handed == [[0, 1]]
        batch.add(2, last=True)
        assert handed == [[0, 1], [2]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2]]

    asyncio.run(story())


def test_batches_of_a_scope_end_with_it() -> None:
    handed: list[list[int]] = []
    one, other = LoopBatch(handed.append), LoopBatch(handed.append)
    with BatchScope():
        one.add(0)
        other.add(1)
        one.add(2)
        assert handed == []
    assert handed == [[0, 2], [1]]


def test_a_batch_that_begins_as_another_ends_still_ends_with_the_scope() -> None:
    handed: list[list[int]] = []
    leaving = LoopBatch(handed.append)
    batches = [LoopBatch[int](lambda came: leaving.add(sum(came))) for _ in range(2)]
    with BatchScope():
        for number in range(6):
            batches[number % 2].add(number)
    assert handed == [[6, 9]]


def test_items_added_after_a_scope_wait_for_the_rounds_end_again() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        batch = LoopBatch(handed.append)
        with BatchScope(), BatchScope():
            batch.add(0)
        batch.add(1)
        assert handed == [[0]]
        await asyncio.sleep(0)
        assert handed == [[0], [1]]

    asyncio.run(story())
