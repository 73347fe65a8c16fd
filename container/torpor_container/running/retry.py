"""A request whose turn came when the model's process had ended is for the next process: it ended for another's."""

import asyncio
from collections.abc import Awaitable, Callable

from torpor_container.errors import ModelDied, NotCalled
from torpor_container.invocation import Reply


async def until_called(call: Callable[[], Awaitable[Reply]], timeout_s: float) -> Reply:
    """Call again as long as the model is not called at all, for so many seconds since the first time.

    Raises what the call raises, and ModelDied where one process after the other has ended before this one's turn.
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
