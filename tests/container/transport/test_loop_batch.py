"""What comes in one turn of the event loop: when it is handed on, and in what pieces."""

import asyncio

from torpor_container.transport.loop_batch import BatchScope, LoopBatch


def test_what_comes_in_one_turn_is_handed_on_at_its_end_as_one() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = LoopBatch(handed.append)
        for number in range(3):
            turn.add(number)
        assert handed == []
        await asyncio.sleep(0)
        assert handed == [[0, 1, 2]]
        await asyncio.sleep(0)
        assert handed == [[0, 1, 2]]

    asyncio.run(story())


def test_as_many_as_go_together_are_not_kept_waiting_for_the_turns_end() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = LoopBatch(handed.append, size_max=2)
        for number in range(5):
            turn.add(number)
        assert handed == [[0, 1], [2, 3]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2, 3], [4]]

    asyncio.run(story())


def test_the_last_one_takes_along_those_before_it() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = LoopBatch(handed.append)
        turn.add(0)
        turn.add(1, last=True)
        assert handed == [[0, 1]]
        turn.add(2, last=True)
        assert handed == [[0, 1], [2]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2]]

    asyncio.run(story())


def test_who_reads_several_at_once_ends_the_turn_with_the_last_of_them() -> None:
    handed: list[list[int]] = []
    one, other = LoopBatch(handed.append), LoopBatch(handed.append)
    with BatchScope():
        one.add(0)
        other.add(1)
        one.add(2)
        assert handed == []
    assert handed == [[0, 2], [1]]


def test_a_turn_that_begins_as_another_ends_ends_with_what_was_read() -> None:
    handed: list[list[int]] = []
    leaving = LoopBatch(handed.append)
    turns = [LoopBatch[int](lambda came: leaving.add(sum(came))) for _ in range(2)]
    with BatchScope():
        for number in range(6):
            turns[number % 2].add(number)
    assert handed == [[6, 9]]


def test_what_comes_after_it_was_read_waits_for_the_event_loop_again() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = LoopBatch(handed.append)
        with BatchScope(), BatchScope():
            turn.add(0)
        turn.add(1)
        assert handed == [[0]]
        await asyncio.sleep(0)
        assert handed == [[0], [1]]

    asyncio.run(story())
