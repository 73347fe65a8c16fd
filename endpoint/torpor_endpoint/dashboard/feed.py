"""Sends all viewers the same stream of snapshots as server-sent events. Without a viewer it does nothing."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from torpor_account.outer_edge import outer_edge
from torpor_endpoint.dashboard.patches import difference

PERIOD_S = 1.0
BEHIND_MAX = 8
"""A viewer that has so many unread messages is disconnected. Its browser connects again, and gets a whole snapshot."""
VIEWERS_MAX = 100

log = logging.getLogger(__name__)

Look = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Makes a snapshot, given the previous one."""
Later = Callable[[int], tuple[list[dict[str, Any]], int]]
"""The timeline's rows after a number, and the last number that they cover."""


class Feed:
    """For the event loop's thread. Snapshots are made only while somebody watches, and once for all of them."""

    def __init__(self, look: Look, later: Later, clock: Callable[[], float], period_s: float = PERIOD_S) -> None:
        """`clock` gives epoch seconds."""
        self._look = look
        self._later = later
        self._clock = clock
        self._period_s = period_s
        self._viewers: set[asyncio.Queue[bytes | None]] = set()
        self._making: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()
        self._snapshot: dict[str, Any] = {}
        self._last_number = 0

    @property
    def full(self) -> bool:
        """Whether VIEWERS_MAX watch already."""
        return len(self._viewers) >= VIEWERS_MAX

    async def watch(self) -> AsyncGenerator[bytes, None]:
        """The messages for a new viewer: a whole snapshot, and then the differences."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        async with self._beginning:
            if self._making is None:
                await self._begin()
        queue.put_nowait(self._whole())
        self._viewers.add(queue)
        try:
            while (message := await queue.get()) is not None:
                yield message
        finally:
            self._viewers.discard(queue)
            if not self._viewers:
                self._end()

    async def _begin(self) -> None:
        """Make the first snapshot, and go on."""
        self._snapshot = await self._look({})
        self._last_number = self._later(0)[1]
        self._making = asyncio.create_task(self._make(), name="dashboard feed")

    def _end(self) -> None:
        if self._making is not None:
            self._making.cancel()
            self._making = None
        self._snapshot = {}

    async def _make(self) -> None:
        while True:
            await asyncio.sleep(self._period_s)
            with outer_edge(log, "the dashboard's feed failed to make a snapshot"):  # the next one has what it lacks
                self._tell(await self._next())

    async def _next(self) -> bytes:
        new = await self._look(self._snapshot)
        patch, self._snapshot = difference(self._snapshot, new), new
        events, self._last_number = self._later(self._last_number)
        return message("patch", {"at_s": self._clock(), "patch": patch, "events": events})

    def _whole(self) -> bytes:
        """What a new viewer needs, so that the next patch fits."""
        events = [one for one in self._later(0)[0] if one["number"] <= self._last_number]
        return message("snapshot", {"at_s": self._clock(), "patch": self._snapshot, "events": events})

    def _tell(self, text: bytes) -> None:
        for queue in tuple(self._viewers):
            if queue.qsize() < BEHIND_MAX:
                queue.put_nowait(text)
            else:
                queue.put_nowait(None)
                self._viewers.discard(queue)


def message(event: str, content: Mapping[str, Any]) -> bytes:
    """One server-sent event (HTML Living Standard, 9.2). JSON in one line has no line end."""
    return f"event: {event}\ndata: {json.dumps(content, separators=(',', ':'))}\n\n".encode()
