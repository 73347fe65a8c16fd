"""One tier of models, in memory or on disk: its residency, and the waiting for room, which a pure plan cannot do."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

from torpor_container.core.residency import Admit, Hit, Later, Lead, Refuse, Residency, Wait
from torpor_container.core.versions.copy_names import model_of
from torpor_container.errors import NoRoom
from torpor_container.running.runners import Runner
from torpor_container.wire import LoadedModel

log = logging.getLogger(__name__)

MakeRoom = Callable[[int], Awaitable[bool]]
"""Frees room of a tier that is in use. The argument is how many bytes are missing even if all idle models leave.

False, and it frees nothing, if that many cannot be freed now."""


class Tier:
    """Asks the residency again after each change, until it admits a model or refuses it; removes those that leave."""

    def __init__(
        self,
        residency: Residency,
        clock: Callable[[], float],
        remove: Callable[[str], Awaitable[None]],
        measure: Callable[[], Awaitable[int]] | None = None,
        on_leave: Callable[[str, float, int], None] | None = None,
    ) -> None:
        """`measure` returns freed memory to the system and counts the bytes that the tier uses then. `on_leave` gets
        the name of each model that leaves, when it was last used, and how many requests found it here."""
        self.residency = residency
        self.clock = clock
        self._remove = remove
        self._measure = measure
        self._on_leave = on_leave
        self.waiting = 0  # models that wait until there is room for them
        self._change: asyncio.Event | None = None  # only while some task waits for it
        self._background: set[asyncio.Task[None]] = set()

    def changed(self) -> None:
        """Wake every task that waits for a change."""
        if self._change is not None:
            self._change.set()
            self._change = None

    async def change(self) -> None:
        """Wait until a model is released, loaded, failed or gone."""
        if self._change is None:
            self._change = asyncio.Event()
        await self._change.wait()

    async def requested(self, name: str) -> Hit | Wait | Lead:
        """Pin a model. Waits while the model is on its way out."""
        while isinstance(plan := self.residency.request(name, self.clock()), Later):
            await self.change()
        return plan

    async def admitted(self, name: str, size_bytes: int, make_room: MakeRoom | None = None) -> tuple[str, ...]:
        """Wait until there is room for a model and all models that must leave for it are gone. Their names.

        Raises NoRoom if there can never be enough.
        """
        gone: tuple[str, ...] = ()
        while True:
            match await self.planned(name, size_bytes):
                case Admit(victims=victims):
                    await self.dismiss(victims)
                    return gone + victims
                case Refuse(reason=reason):
                    raise NoRoom(f"{model_of(name)} cannot be loaded: {reason}")
                case Later(victims=victims):
                    self.dismiss(victims)
                    gone += victims
                    at_limit = self.residency.at_limit
                    if make_room is None or at_limit or not await make_room(self._missing_bytes(size_bytes)):
                        await self._change_makes_room(at_limit)

    async def planned(self, name: str, size_bytes: int) -> Admit | Later | Refuse:
        """The residency's plan. Before it refuses, memory that no model explains is measured anew: it may be free."""
        plan = self.residency.admit(name, size_bytes, self.clock())
        if self._measure is None or not isinstance(plan, Refuse) or not self.residency.unaccounted_bytes:
            return plan
        self.residency.measured(await self._measure())
        return self.residency.admit(name, size_bytes, self.clock())

    def loading(self, name: str) -> "PlannedLoad":
        """Wrap the load of a requested model. A failure ends all pins of the model and frees its room."""
        return PlannedLoad(self, name)

    def load_failed(self, name: str, error: BaseException) -> None:
        """Also a cancelled load frees its room."""
        if self.residency.failed(name, str(error) or type(error).__name__, self.clock()):
            self.changed()

    def released(self, name: str) -> bool:
        """End one pin. True if no caller uses the model now."""
        idle = self.residency.released(name)
        if idle and self._change is not None:
            self.changed()
        return idle

    def dismiss(self, names: Sequence[str]) -> "asyncio.Future[None]":
        """Remove models that the residency made leave. The removal goes on even if its caller is cancelled."""
        return self.run_to_completion(self._remove_all(names)) if names else _done()

    def run_to_completion(self, work: Coroutine[None, None, None]) -> "asyncio.Future[None]":
        """Run work that must finish even if no task waits for it any more."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return asyncio.shield(task)

    def models(self, runners: Mapping[str, Runner]) -> list[LoadedModel]:
        """The models that are here and have a runner, in their wire form."""
        now_s = self.clock()
        return [
            {
                "name": model_of(name),
                "size_bytes": model.size_bytes,
                "in_flight": model.pins,
                "idle_s": now_s - model.used_s,
                "format": runners[name].format,
                "hits": model.hits,
            }
            for name, model in self.residency
            if name in runners
        ]

    async def close(self) -> None:
        """Wait for all work in the background."""
        while pending := set(self._background):
            await asyncio.gather(*pending, return_exceptions=True)
            self._background -= pending

    async def _change_makes_room(self, at_limit: bool) -> None:
        """Wait for a change. A model at the limit of loads does not wait for room."""
        self.waiting += not at_limit
        try:
            await self.change()
        finally:
            self.waiting -= not at_limit

    def _missing_bytes(self, size_bytes: int) -> int:
        residency = self.residency
        return residency.planned_bytes - residency.idle_bytes + size_bytes - residency.budget_bytes

    async def _remove_all(self, names: Sequence[str]) -> None:
        """Remove models side by side. A failure is logged; it stops neither the others nor the model they leave for."""
        results = await asyncio.gather(*map(self._remove_one, names), return_exceptions=True)
        for name, result in zip(names, results, strict=True):
            if isinstance(result, Exception):
                log.error("%s could not be removed cleanly", name, exc_info=result)

    async def _remove_one(self, name: str) -> None:
        began_s = self.clock()
        if self._on_leave is not None and (model := self.residency.get(name)) is not None:
            self._on_leave(name, model.used_s, model.hits)
        try:
            await self._remove(name)
        finally:
            now_s = self.clock()
            self.residency.unloaded(name, now_s - began_s, now_s)
            self.changed()


def _done() -> "asyncio.Future[None]":
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.set_result(None)
    return future


class PlannedLoad:
    """The load of a model from the begin of a block to its end."""

    __slots__ = ("_name", "_tier")

    def __init__(self, tier: Tier, name: str) -> None:
        self._tier, self._name = tier, name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            self._tier.load_failed(self._name, error)
