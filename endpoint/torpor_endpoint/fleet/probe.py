"""Asking one instance how it is, and reading what it printed last. A probe decides nothing."""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

from torpor_container import wire
from torpor_container.transport.upstream import Upstream, UpstreamAnswer, UpstreamError

TAIL_BYTES = 4096
LAST_LINES = 2
"""A foreign container's own last words, and that it ended."""
LOG_MAX_BYTES = 32 * 1024 * 1024
"""An instance's output file is begun anew beyond this."""


async def answers(upstream: Upstream, multi_model: bool, within_s: float) -> bool:
    """A good `/ping`, and for a multi-model container a good `GET /models` too, as AWS asks."""
    paths = (wire.PING, wire.MODELS) if multi_model else (wire.PING,)
    return all([await _good(upstream, path, within_s) for path in paths])


async def final_fault(upstream: Upstream, within_s: float) -> str | None:
    """What an instance says that will never be ready; None while there is hope."""
    answer = await _get(upstream, wire.STATE, within_s)
    if answer is None or answer.status != 200:
        return None
    state: wire.InstanceStatus = json.loads(answer.body)
    return (state["unready"] or state["fault"]) if state["fault"] is not None else None


async def last_line(output: Path | None) -> str:
    """What an instance printed last says more than its exit code."""
    return await asyncio.to_thread(_last_line, output) if output is not None else ""


async def bound(output: Path | None) -> None:
    """Begin the output anew where it has grown too large. It is written to by appending, so nothing tears."""
    if output is not None:
        await asyncio.to_thread(_bound, output)


async def _good(upstream: Upstream, path: str, within_s: float) -> bool:
    answer = await _get(upstream, path, within_s)
    return answer is not None and 200 <= answer.status < 300


async def _get(upstream: Upstream, path: str, within_s: float) -> UpstreamAnswer | None:
    with suppress(UpstreamError):
        return await upstream.send("GET", path, (), [], within_s)
    return None


def _last_line(output: Path) -> str:
    try:
        with output.open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - TAIL_BYTES))
            lines = log.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f"; it said last: {' / '.join(lines[-LAST_LINES:])[:600]}" if lines else ""


def _bound(output: Path) -> None:
    with suppress(OSError):
        if output.stat().st_size > LOG_MAX_BYTES:
            os.truncate(output, 0)
