"""Waits for a condition that a test cannot await: each looks again and again until a deadline."""

import asyncio
import time
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_S = 0.01
PATIENCE_S = 300.0
"""A deadline is no verdict: it ends a test that would wait for ever. A busy machine may take long: where
nineteen processes shared two cores, a story of an instance took more than a minute."""


LOOK_SHARE = 0.05
"""A long wait looks less often: each look takes processor time from what is waited for."""


def soon(true: Callable[[], Any], within_s: float = PATIENCE_S, look_s: float = LOOK_S) -> bool:
    """Whether the condition holds within so many seconds. It looks once more at the deadline."""
    began_s = time.monotonic()
    while not true():
        taken_s = time.monotonic() - began_s
        if taken_s > within_s:
            return bool(true())
        time.sleep(max(look_s, LOOK_SHARE * taken_s))
    return True


def until(true: Callable[[], T], within_s: float = PATIENCE_S, look_s: float = LOOK_S) -> T:
    """The first value of the condition that is true. Raises AssertionError at the deadline."""
    began_s = time.monotonic()
    while not (value := true()):
        taken_s = time.monotonic() - began_s
        assert taken_s < within_s, f"it did not come true within {within_s:g} s"
        time.sleep(max(look_s, LOOK_SHARE * taken_s))
    return value


async def reached(true: Callable[[], Any], within_s: float = PATIENCE_S, look_s: float = 0.0) -> None:
    """Let the other tasks run until the condition holds; it may be a coroutine function. Raises AssertionError.

    The deadline is real time, also in an event loop of virtual time, whose clock stands still while `look_s` is 0.
    """
    deadline = time.monotonic() + within_s
    while not (await value if isawaitable(value := true()) else value):
        assert time.monotonic() < deadline, f"it did not come true within {within_s:g} s"
        await asyncio.sleep(look_s)
