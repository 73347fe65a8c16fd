"""Drives the machine of a request (`core.sending.machine`) by a coroutine, over the connections to its instances."""

from collections.abc import Awaitable, Callable

from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError, UpstreamRefused, UpstreamTimedOut
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
    the leg that is to be sent now. The instance of the last leg stays in use: `let_go` of it."""
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
    """Tell the machine what came of a leg."""
    if isinstance(result, UpstreamAnswer):
        return sending.answered(result, now_s)
    if isinstance(result, UpstreamTimedOut):
        return sending.timed_out(now_s)
    return sending.refused(now_s) if isinstance(result, UpstreamRefused) else sending.broken(now_s)


async def whole(
    sending: Sending[Incarnation], answer_max_bytes: int, sent: Callable[[], None] | None = None
) -> UpstreamAnswer:
    """The answer to the leg that is to be sent now. `sent` is called once the caller's body is sent; the body of a
    later container is released then. Raises UpstreamError."""
    release = sent if not sending.step else sending.body.clear
    return (
        await instance_of(sending)
        .containers[sending.container]
        .upstream.send(
            "POST",
            wire.INVOCATIONS,
            sending.headers,
            sending.body,
            sending.timeout_s,
            sent=None if sending.resendable else release,
            answer_max_bytes=answer_max_bytes,
        )
    )


def instance_of(sending: Sending[Incarnation]) -> Incarnation:
    """The instance that the machine says to send to."""
    assert sending.instance is not None, "the machine has said SEND"
    return sending.instance
