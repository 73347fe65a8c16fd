"""Notes every second how far each log has grown, and removes expired streams every minute."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from torpor_account.logs.files.retention import tidy
from torpor_account.logs.files.stream_reader import Logs

PERIOD_S = 1.0
TIDYING_S = 60


@dataclass
class LogGrowth:
    """Follows the growth of the logs. A line's time is the moment when the file was first seen to contain it."""

    logs: Logs
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _writing: set[Path] = field(default_factory=set)

    async def run(self) -> None:
        """Note and tidy, for ever."""
        tidied_s = -inf
        while True:
            now_s = self.logs.clock()
            if not 0 <= now_s - tidied_s < TIDYING_S:  # or the clock was set back
                await asyncio.to_thread(self.tidy, set(self.logs.writing()))
                tidied_s = now_s
            await asyncio.to_thread(self.note, set(self.logs.writing()))
            await self.pause(PERIOD_S)

    def note(self, writing: set[Path]) -> None:
        """Note the sizes of the logs that are being written, and once more of those that no longer are."""
        for log in writing | self._writing:
            with suppress(FileNotFoundError):
                self.logs.marks.noted(log)
        self._writing = writing

    def tidy(self, writing: set[Path]) -> None:
        for group in self.logs.groups.all():
            tidy(group, self.logs.marks, writing, self.logs.clock())
