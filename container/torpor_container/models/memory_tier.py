"""The residency of one tier, and the waiting for room in it: the waiting that a pure plan cannot do."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager

from torpor_container.core.residency import Admit, Hit, Later, Lead, Refuse, Residency, Wait
from torpor_container.errors import NoRoom
from torpor_container.running.runners import Runner
from torpor_container.wire import LoadedModel

log = logging.getLogger(__name__)

MakeRoom = Callable[[int], Awaitable[bool]]
"""Told how many bytes are missing even without all that is idle, it frees some of what is in use. False, and it frees
nothing, if so much is not to be had now."""


class MemoryTier:
    """Asks the books again whenever something changed, until they say yes or never; sees leavers out."""

    def __init__(
        self,
        books: Residency,
        clock: Callable[[], float],
        remove: Callable[[str], Awaitable[None]],
        measure: Callable[[], Awaitable[int]] | None = None,
        left: Callable[[str, float, int], None] | None = None,
    ) -> None:
        """`measure` tells what the tier takes now, once what others left behind is given back; `left` is told of each
        leaver when it was used last, and how often it was found here."""
        self.books = books
        self.clock = clock
        self._remove = remove
        self._measure = measure
        self._left = left
        self._room_made: asyncio.Event | None = None  # while somebody waits
        self._background: set[asyncio.Task[None]] = set()

    def changed(self) -> None:
        """Wake everybody who waits for room."""
        if self._room_made is not None:
            self._room_made.set()
            self._room_made = None

    async def change(self) -> None:
        """Wait until something is released, loaded, failed or gone."""
        if self._room_made is None:
            self._room_made = asyncio.Event()
        await self._room_made.wait()

    async def requested(self, name: str) -> Hit | Wait | Lead:
        while isinstance(plan := self.books.request(name, self.clock()), Later):
            await self.change()
        return plan

    async def admitted(self, name: str, size_bytes: int, make_room: MakeRoom | None = None) -> tuple[str, ...]:
        """Wait for room, and until all have left who must leave for it; answer who they were.

        Raises NoRoom if there can never be enough.
        """
        leavers: tuple[str, ...] = ()
        while True:
            match await self.planned(name, size_bytes):
                case Admit(victims=victims):
                    await self.dismiss(victims)
                    return leavers + victims
                case Refuse(reason=reason):
                    raise NoRoom(f"{name} cannot be loaded: {reason}")
                case Later(victims=victims):
                    self.dismiss(victims)
                    leavers += victims
                    if make_room is None or self.books.at_limit or not await make_room(self._missing_bytes(size_bytes)):
                        await self.change()

    async def planned(self, name: str, size_bytes: int) -> Admit | Later | Refuse:
        """The books' plan. What they cannot explain may be gone again: before they refuse, it is measured anew."""
        plan = self.books.admit(name, size_bytes, self.clock())
        if self._measure is None or not isinstance(plan, Refuse) or not self.books.unaccounted_bytes:
            return plan
        self.books.measured(await self._measure())
        return self.books.admit(name, size_bytes, self.clock())

    @contextmanager
    def coming_in(self, name: str) -> Iterator[None]:
        """Around what brings one in that was asked for. If it fails, every pin on it ends, and its room is others'."""
        try:
            yield
        except BaseException as error:
            if self.books.failed(name, str(error) or type(error).__name__, self.clock()):
                self.changed()
            raise

    def released(self, name: str) -> bool:
        """Give a pin back. True if nobody uses the model now."""
        idle = self.books.released(name)
        if idle:
            self.changed()
        return idle

    def dismiss(self, names: Sequence[str]) -> "asyncio.Future[None]":
        """Remove models that the books chose to leave. It goes on whatever becomes of the caller who awaits it."""
        return self.go_on(self._see_out(names)) if names else _done()

    def go_on(self, work: Coroutine[None, None, None]) -> "asyncio.Future[None]":
        """Do something that must be finished even when nobody waits for it any more."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return asyncio.shield(task)

    def models(self, runners: Mapping[str, Runner]) -> list[LoadedModel]:
        """What is here, in its wire form."""
        now_s = self.clock()
        return [
            {
                "name": name,
                "size_bytes": model.size_bytes,
                "in_flight": model.pins,
                "idle_s": now_s - model.used_s,
                "format": runners[name].format,
                "hits": model.hits,
            }
            for name, model in self.books
            if name in runners
        ]

    async def close(self) -> None:
        while going_on := set(self._background):
            await asyncio.gather(*going_on, return_exceptions=True)
            self._background -= going_on

    def _missing_bytes(self, size_bytes: int) -> int:
        return self.books.planned_bytes - self.books.idle_bytes + size_bytes - self.books.budget_bytes

    async def _see_out(self, names: Sequence[str]) -> None:
        """One leaver's trouble is no other's, nor the newcomer's: it is logged, and its place in the books is free."""
        ends = await asyncio.gather(*map(self._see_one_out, names), return_exceptions=True)
        for name, end in zip(names, ends, strict=True):
            if isinstance(end, Exception):
                log.error("%s could not be removed cleanly", name, exc_info=end)

    async def _see_one_out(self, name: str) -> None:
        began_s = self.clock()
        if self._left is not None and (model := self.books.get(name)) is not None:
            self._left(name, model.used_s, model.hits)
        try:
            await self._remove(name)
        finally:
            now_s = self.clock()
            self.books.unloaded(name, now_s - began_s, now_s)
            self.changed()


def _done() -> "asyncio.Future[None]":
    nothing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    nothing.set_result(None)
    return nothing
