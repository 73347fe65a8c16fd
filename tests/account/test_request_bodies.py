"""Incomplete bodies share a limited memory, in order of arrival, and none keeps its share for ever."""

import asyncio

import pytest

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Message, taken
from torpor_account.request_bodies import STATE, Bodies, Scope, TooManyBodies, TooSlow
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.request import read_body


def test_a_body_waits_in_line_until_another_is_whole() -> None:
    async def story() -> None:
        bodies, order = Bodies(room_bytes=100), list[str]()

        async def one(name: str, size_bytes: int) -> None:
            async with bodies.room(size_bytes):
                order.append(name)
                await asyncio.sleep(0)

        await asyncio.gather(one("large", 100), one("larger than all", 1000), one("small", 1), one("last", 99))
        assert order == ["large", "larger than all", "small", "last"]

    asyncio.run(story())


def test_a_body_without_room_in_time_is_refused_and_the_next_ones_are_not() -> None:
    async def story() -> None:
        bodies = Bodies(room_bytes=100, room_within_s=0.01)
        async with bodies.room(60):
            with pytest.raises(TooManyBodies):
                async with bodies.room(60):
                    pass
            async with bodies.room(40):
                pass
        async with bodies.room(100):
            pass

    asyncio.run(story())


def test_a_body_that_keeps_its_room_too_long_loses_it() -> None:
    async def story() -> None:
        bodies = Bodies(room_bytes=100, whole_within_s=0.01)
        with pytest.raises(TooSlow):
            async with bodies.room(100):
                await asyncio.Event().wait()
        async with bodies.room(100):
            pass

    asyncio.run(story())


def scope_of(length: bytes, bodies: Bodies) -> Scope:
    return {"headers": [(b"content-length", length)], "state": {STATE: bodies}}


async def begun() -> Message:
    return {"type": "http.request", "body": b"1", "more_body": True}


def test_a_body_without_room_or_without_an_end_is_refused() -> None:
    async def story() -> None:
        full, slow = Bodies(room_bytes=1, room_within_s=0.01), Bodies(whole_within_s=0.0)
        async with full.room(1):
            with pytest.raises(AwsError, match="ServiceUnavailable"):
                await taken(scope_of(b"9", full), begun, 10)
            with pytest.raises(RuntimeFault) as fault:
                await read_body(scope_of(b"9", full), begun, 10)
            assert fault.value.situation is Situation.BODIES_FULL
        messages = [await begun()]

        async def stands_still() -> Message:
            if not messages:
                await asyncio.Event().wait()
            return messages.pop()

        with pytest.raises(AwsError, match="RequestTimeout"):
            await taken(scope_of(b"9", slow), stands_still, 10)

    asyncio.run(story())
