"""Pings of an instance: a late answer is a bad one, unless the machine is so busy that the instance gets no turn."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from torpor_container.core.work_wait import WALL_MULTIPLE
from torpor_container.transport.upstream import Upstream
from torpor_endpoint.fleet.supervision.probe import answers

WITHIN_S = 0.1


async def pinged(folder: Path, late_s: float, busy_share: float) -> bool:
    """Whether an instance that answers so late answers well, on a machine where processes wait this share of time."""

    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):  # the ping has given up
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(late_s)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            await reader.read()
        writer.close()
        ended.set()

    clock, upstream = asyncio.get_running_loop().time, Upstream(str(folder / "s"))
    async with await asyncio.start_unix_server(answer, folder / "s"):
        good = await answers(upstream, False, WITHIN_S, lambda: clock() * busy_share)
        upstream.close()
        await ended.wait()
        return good


@pytest.mark.parametrize(
    ("late_s", "busy_share", "good"),
    [
        (0.0, 0.0, True),
        (3 * WITHIN_S, 0.0, False),
        (3 * WITHIN_S, 1.0, True),
        (2 * WALL_MULTIPLE * WITHIN_S, 1.0, False),
    ],
    ids=["in time", "late", "late on a busy machine", "far too late on a busy machine"],
)
def test_a_ping_waits_longer_on_a_busy_machine_and_not_for_ever(
    tmp_path: Path, late_s: float, busy_share: float, good: bool
) -> None:
    assert asyncio.run(pinged(tmp_path, late_s, busy_share)) is good
