"""Brings named records to what they ask for: on a change it acts on the record, in one task per name, until it is so.

Level-triggered: a change that comes while the task runs has it look once more, and a fault has it try again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from torpor_account.outer_edge import outer_edge

RETRY_S = 5.0

log = logging.getLogger(__name__)


class Settling:
    """`act` acts on the record of this name, and `fields` gives those of its log lines. Any thread may call `changed`;
    everything else runs on the event loop."""

    def __init__(
        self,
        act: Callable[[str], Awaitable[None]],
        what: str,
        fields: Callable[[str], Mapping[str, object]] = lambda name: {},
    ) -> None:
        self._act = act
        self._what = what
        self._fields = fields
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed_meanwhile: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None  # between start and close

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def changed(self, name: str) -> None:
        """Act on this record soon. Does nothing before `start` and after `close`."""
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self.schedule, name)

    def schedule(self, name: str) -> None:
        """As `changed`, on the event loop."""
        if self._loop is None:
            return
        if name in self._tasks:
            self._changed_meanwhile.add(name)
        else:
            self._tasks[name] = asyncio.create_task(self._settle(name), name=f"settle {name}")

    def under_way(self) -> str | None:
        """The first record that is acted on; None if there is none."""
        return next((f"{self._what} {name} is being changed" for name in self._tasks), None)

    async def close(self) -> None:
        """Stop the tasks."""
        self._loop = None
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _settle(self, name: str) -> None:
        text = f"cannot bring {self._what} %s to its recorded state; retrying in %g s"
        try:
            with outer_edge(log, text, name, RETRY_S, fields=self._fields(name)) as edge:
                await self._bring(name)
            if edge.fault is not None:
                asyncio.get_running_loop().call_later(RETRY_S, self.schedule, name)
        finally:
            del self._tasks[name]

    async def _bring(self, name: str) -> None:
        while True:
            self._changed_meanwhile.discard(name)
            await self._act(name)
            if name not in self._changed_meanwhile:
                return
