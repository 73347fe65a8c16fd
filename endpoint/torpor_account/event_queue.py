"""Puts events on the account's event bus, in the order in which they were said."""

import asyncio
import logging
from collections import deque
from typing import Final

from torpor_account.event_bus import BusEvent, EventBus
from torpor_account.outer_edge import outer_edge
from torpor_account.wakeup import Wakeup

RESTING_S: Final = 3600.0

log = logging.getLogger(__name__)


class EventQueue:
    """Any thread may call `heard` and `say`."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._due: deque[BusEvent] = deque()
        self._wakeup = Wakeup()

    @property
    def heard(self) -> bool:
        """Whether anybody listens: else nothing needs to be said."""
        return self._bus.in_use()

    def say(self, event: BusEvent) -> None:
        """Put this event on the bus soon."""
        self._due.append(event)
        self._wakeup.notify()

    async def run(self) -> None:
        """Put what is due on the bus, for ever."""
        self._wakeup.listen()
        while True:
            await self.put_due()
            await self._wakeup.wait(asyncio.sleep(RESTING_S))

    async def put_due(self) -> None:
        """Put the events that are due on the bus."""
        while self._due:
            event = self._due.popleft()
            with outer_edge(log, "an event of %s is lost", event.resources[0]):
                await self._bus.put(event)
