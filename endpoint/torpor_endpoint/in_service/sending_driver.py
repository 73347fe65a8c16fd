"""Drives the machine of a request (`core.sending.machine`) by a coroutine, over the connections to its instances."""

from collections.abc import Awaitable, Callable

from torpor_container.transport.upstream import UpstreamAnswer, UpstreamError, UpstreamRefused, UpstreamTimedOut
from torpor_endpoint.core.sending.machine import END, HOLD, Instruction, Sending
from torpor_endpoint.in_service.incarnation import Incarnation

Result = UpstreamAnswer | UpstreamError


async def driven(
    sending: Sending[Incarnation],
    clock: Callable[[], float],
    hold: Callable[[], Awaitable[None]],
    exchange: Callable[[], Awaitable[UpstreamAnswer]],
) -> None:
    """Drive a request to its end. `hold` waits until an instance may be ready, and raises to give up; `exchange` sends
    the part that is to be sent now. The instance of the last part stays in use: `let_go` of it."""
    step = sending.ready(clock())
    while step != END:
        if step == HOLD:
            await hold()
            step = sending.ready(clock())
            continue
        try:
            result: Result = await exchange()
        except UpstreamError as error:
            result = error
        step = came(sending, result, clock())


def came(sending: Sending[Incarnation], result: Result, now_s: float) -> Instruction:
    """Tell the machine what came of a part."""
    if isinstance(result, UpstreamAnswer):
        return sending.answered(result, now_s)
    if isinstance(result, UpstreamTimedOut):
        return sending.timed_out(now_s)
    return sending.refused(now_s) if isinstance(result, UpstreamRefused) else sending.broken(now_s)
