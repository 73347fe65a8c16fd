"""What comes in one turn of the event loop: when it is handed on, and in what pieces."""

import asyncio

from torpor_container.one_turn import OneTurn


def test_what_comes_in_one_turn_is_handed_on_at_its_end_as_one() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = OneTurn(handed.append)
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
        turn = OneTurn(handed.append, size_max=2)
        for number in range(5):
            turn.add(number)
        assert handed == [[0, 1], [2, 3]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2, 3], [4]]

    asyncio.run(story())


def test_the_last_one_takes_along_those_before_it() -> None:
    async def story() -> None:
        handed: list[list[int]] = []
        turn = OneTurn(handed.append)
        turn.add(0)
        turn.add(1, last=True)
        assert handed == [[0, 1]]
        turn.add(2, last=True)
        assert handed == [[0, 1], [2]]
        await asyncio.sleep(0)
        assert handed == [[0, 1], [2]]

    asyncio.run(story())
