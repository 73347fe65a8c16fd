"""Retries a request that never reached its model, because the model's process ended during another request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from torpor_container.errors import ModelDied, NotCalled

T = TypeVar("T")
"""What a call gives: a whole answer, or the beginning of a stream."""


async def retry_until_called(call: Callable[[], Awaitable[T]], timeout_s: float) -> T:
    """Call again while the model was not called at all, for `timeout_s` seconds after the first such failure.

    Raises what the call raises, and ModelDied if one process after the other ended before this request's turn.
    """
    time_s = asyncio.get_running_loop().time
    until_s: float | None = None
    while True:
        try:
            return await call()
        except NotCalled as missed:
            until_s = time_s() + timeout_s if until_s is None else until_s
            if time_s() >= until_s:
                again = f"again and again for {timeout_s:g} s, each time before this request's turn ({missed})"
                raise ModelDied(None, again) from missed
