"""The chore that notes how far each log has grown, every second, and tidies the groups now and then."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from torpor_endpoint.services.logs.files.reading import Logs
from torpor_endpoint.services.logs.files.retention import tidy

PERIOD_S = 1.0
TIDYING_S = 60


@dataclass
class LogGrowth:
    """A log's lines have no times of their own: they were written when the file was first seen to have grown so far."""

    logs: Logs
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _writing: set[Path] = field(default_factory=set)

    async def run(self) -> None:
        """Note and tidy, for ever."""
        while True:
            await asyncio.to_thread(self.tidy, set(self.logs.writing()))
            for _ in range(TIDYING_S):
                await asyncio.to_thread(self.note, set(self.logs.writing()))
                await self.pause(PERIOD_S)

    def note(self, writing: set[Path]) -> None:
        """Of those that are being written, and once more of those that no longer are."""
        for log in writing | self._writing:
            with suppress(FileNotFoundError):
                self.logs.book.noted(log)
        self._writing = writing

    def tidy(self, writing: set[Path]) -> None:
        for group in self.logs.groups.all():
            tidy(group, self.logs.book, writing, self.logs.clock())
