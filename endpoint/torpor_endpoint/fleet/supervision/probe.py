"""Pings one container, and reads the end of its output. A probe decides nothing."""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from torpor_container import wire
from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError
from torpor_container.typed_json import read
from torpor_container.waiting.quiet_time import busy_s
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.host.exits import last_output

LOG_MAX_BYTES = 32 * 1024 * 1024
"""An instance's output file is truncated beyond this."""


async def answers(upstream: Upstream, multi_model: bool, within_s: float, busy_s: Callable[[], float] = busy_s) -> bool:
    """Whether `/ping` answers 2xx, and in a multi-model container `GET /models` too, as AWS requires.

    `within_s` counts the time in which processes get a processor. `busy_s` says how long they got none so far.
    """
    paths = (wire.PING, wire.MODELS) if multi_model else (wire.PING,)
    return all([_is_good(await _get(upstream, path, within_s, busy_s)) for path in paths])


async def final_fault(upstream: Upstream, within_s: float) -> str | None:
    """Why the instance will never be ready, in its own words; None if it still may be."""
    answer = await _get(upstream, wire.STATE, within_s)
    if answer is None or answer.status != 200:
        return None
    state = read(wire.InstanceStatus, json.loads(answer.body))
    return (state["unready"] or state["fault"]) if state["fault"] is not None else None


async def last_line(output: Path | None) -> str:
    """The end of the instance's output, to add to an error message: it says more than the exit code."""
    return await asyncio.to_thread(last_output, output) if output is not None else ""


async def truncate_if_large(output: Path | None) -> None:
    """Truncate the output file beyond LOG_MAX_BYTES. The instance appends to it, so no line is torn."""
    if output is not None:
        await asyncio.to_thread(_truncate_if_large, output)


def _is_good(answer: UpstreamAnswer | None) -> bool:
    return answer is not None and 200 <= answer.status < 300


async def _get(
    upstream: Upstream, path: str, within_s: float, busy_s: Callable[[], float] = busy_s
) -> UpstreamAnswer | None:
    """The answer within so much quiet time; None if there is none."""
    with suppress(UpstreamError, TimeoutError):
        async with patiently(within_s, busy_s):
            return await upstream.send("GET", path, (), [], within_s * WALL_MULTIPLE)
    return None


def _truncate_if_large(output: Path) -> None:
    with suppress(OSError):
        if output.stat().st_size > LOG_MAX_BYTES:
            os.truncate(output, 0)
