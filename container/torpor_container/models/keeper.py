"""Lends models to callers: makes the model that a request names resident, pins it while it is used, retires it.

The residency decides which models come and leave, and `ModelsInMemory` loads and unloads them. One instance has one
keeper, on one event loop: no other task runs between two of its awaits.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from torpor_container.core.occupancy import ModelStage
from torpor_container.core.residency import Hit, Lead, Residency, Wait
from torpor_container.core.resting import Resting
from torpor_container.core.versions.copy_names import model_of
from torpor_container.errors import ModelAbsent, NotReady, OutOfMemory
from torpor_container.measuring.server_timing import Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.freshness import Freshness, ServedArtifact
from torpor_container.models.in_memory import LoadInFlight, ModelsInMemory
from torpor_container.models.loader import ModelLoader
from torpor_container.models.updating.answering_copies import AnsweringCopies
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.running.runners import Runner
from torpor_container.settings import DEFAULTS
from torpor_container.wire import LeavingModel, LoadedModel


@dataclass(frozen=True)
class WaitLimits:
    """How long a caller waits for a model to be ready, and how long a load may take, in seconds."""

    ready_wait_s: float = DEFAULTS.ready_wait_s
    load_timeout_s: float = DEFAULTS.load_timeout_s


class Keeper:
    """Keeps the models of one instance, and lends them out."""

    def __init__(
        self,
        disk_tier: DiskTier,
        loader: ModelLoader,
        residency: Residency,
        limits: WaitLimits,
        clock: Callable[[], float],
        cache: bool = True,
        resting: Resting | None = None,
        freshness: Freshness | None = None,
        worn_out: Callable[[], None] = lambda: None,
        calendar: Callable[[], float] | None = None,
    ) -> None:
        """`calendar` is the clock of idle times, unless it is `clock`, which measures durations.
        `renew`, where it is set, gets a model of which S3 has a newer version, and has that take over in its own time.
        `cache`: models stay in memory after their last call. The keeper reports each use to `resting`, which says
        which models their callers' habits let leave or come back. It calls `worn_out` when another instance should
        replace this one.
        """
        self._disk_tier = disk_tier
        self._residency = residency
        self._ready_wait_s = limits.ready_wait_s
        self._clock = clock
        self._calendar = calendar = calendar or clock
        self._resting = resting
        self._freshness = freshness or Freshness(disk_tier, calendar)
        self._models = ModelsInMemory(
            disk_tier, loader, residency, limits.load_timeout_s, clock, calendar, cache, self._freshness, worn_out
        )
        self.copies = AnsweringCopies(residency)
        self.ordered: Callable[[str, str], None] = lambda name, why: residency.note(calendar(), name, "ordered", why)
        self.renew: Callable[[str], None] | None = None
        self._tier = self._models.tier
        self._runners, self._loads = self._models.runners, self._models.loads
        self._check = partial(_check_present, self._residency, self._freshness.retired)

    async def start(self) -> None:
        await self._models.start()

    async def close(self) -> None:
        await self._models.close()

    def unready(self) -> str | None:
        """Why no model can be served now; None if models can be served."""
        return self._models.unready()

    def models(self) -> list[LoadedModel]:
        """The models in memory."""
        return self._models.models()

    @property
    def waiting(self) -> int:
        """How many models wait until there is room for them in memory."""
        return self._tier.waiting

    def name_of(self, target: str) -> str:
        """The name of the copy that answers, however the request spells the model's. Raises TargetForbidden."""
        return self.copies.of(self._disk_tier.name_of(target))

    # -- lending ---------------------------------------------------------------------------------------------------
    @asynccontextmanager
    async def lend(self, name: str, timing: Timing, only_loaded: bool = False) -> AsyncIterator[Runner]:
        """Load the model if it is not in memory, and lend its runner until the block ends.

        Raises ModelAbsent in place of a load if it is to be `only_loaded`, NotReady when the caller has waited
        `ready_wait_s` (the load goes on), and what the load raises.
        """
        timing.hit = False
        timing.hit = await self._obtain(name, timing, only_loaded)
        try:
            yield self._runners[name]
        except OutOfMemory:
            self.relieve()
            raise
        finally:
            self.give_back(name)

    def at_hand(self, target: str) -> Runner | None:
        """The runner of a model that may answer without a wait, if `take` takes it; None for any other.

        `target` must be the copy's one name: other spellings of it are not looked up.
        """
        if self._freshness.asks_s3 or target in self._freshness.retired or target[:1] == "/":
            return None
        return self._runners.get(target)

    def tier_of(self, name: str) -> str | None:
        """`memory` or `disk`; None for a model that is on neither, or on its way."""
        if name in self._runners and name not in self._freshness.retired:
            return "memory"
        return "disk" if self._disk_tier.size_of(name) else None

    def artifact_of(self, name: str) -> ServedArtifact:
        """The artifact of a model that is lent."""
        return self._freshness.artifact_of(name)

    def take(self, name: str) -> bool:
        """Pin a model that is in memory, until `give_back`. False, and nothing is done, for any other."""
        now_s = self._calendar()
        if self._resting is not None and name in self._residency and not self._is_pinned(name):
            self._resting.called(model_of(name), now_s)
        return self._residency.hit(name, now_s)

    def give_back(self, name: str) -> None:
        """End the pin of a caller that was served."""
        if self._unpin(name) or not self._residency.selective:
            return
        if self._residency.drop_unless_kept(name, self._calendar()):
            self._tier.dismiss((name,))

    def relieve(self) -> None:
        """Return memory to the system after a call found none. An instance that stays over its budget is replaced."""
        self._models.relief.begin()

    async def resize(self, memory: MemoryBudget) -> None:
        """Follow a change of the budget. Returns once the idle models beyond it have left."""
        await self._models.resizing.to(memory)

    # -- for those that know the callers' habits -------------------------------------------------------------------
    def idle(self) -> list[str]:
        """The models in memory that no caller uses now."""
        return [model_of(name) for name, model in self._residency if not model.pins]

    def dismiss(self, model: str, reason: str) -> None:
        """Unload an idle model, whatever the policy says. A model in use stays."""
        self._drop(self.copies.answering(model), reason)

    def expect(self, model: str) -> None:
        """Load a model before a caller asks for it, unless it is in memory, on its way in or on its way out."""
        name = self.copies.of(model)
        if self._residency.expect(name, self._calendar()):
            load = self._models.begin_load(name)
            load.task.add_done_callback(lambda _: self._unpin_expected(name, load))

    async def moves_done(self) -> None:
        """Wait until the models that are on their way in or out have come or left."""
        await asyncio.gather(*(load.task for load in self._loads.values()), return_exceptions=True)
        await self._tier.close()

    def _unpin_expected(self, name: str, load: LoadInFlight) -> None:
        """End the pin of an expected load. It is no use of the model, whose habit still starts at its last call."""
        if not load.task.cancelled() and load.task.exception() is None and self._tier.released(name):
            self._models.drop_if_unwanted(name)

    # -- replacing a model -----------------------------------------------------------------------------------------
    def retire(self, name: str, why: str, doubt: bool) -> LeavingModel:
        """Make the next request load the model anew. Requests that use it already end on the old copy.

        `doubt`: ask S3 for a newer version before that load, and try a quarantined one again.
        """
        if doubt:
            self._disk_tier.doubt(name)
            self._disk_tier.pardon(name)
        model = self._residency.get(name)
        if model is None or model.stage is ModelStage.LEAVING:
            return {"model": model_of(name), "was": "absent", "in_flight": 0}
        self._freshness.retired[name] = why
        was = "loading" if name in self._loads else "resident"
        self._drop(name, why)
        return {"model": model_of(name), "was": was, "in_flight": model.pins}

    def stage_of(self, name: str) -> ModelStage | None:
        """Where a copy is on its way; None if it is not in memory, or is leaving it."""
        model = self._residency.get(name)
        return None if model is None or model.stage is ModelStage.LEAVING else model.stage

    async def load_ended(self, name: str) -> None:
        """Wait until no load of this copy is in progress, whether it succeeds or fails."""
        if (load := self._loads.get(name)) is not None:
            await asyncio.wait((load.task,))

    def _drop(self, name: str, reason: str) -> None:
        if self._residency.drop(name, reason, self._calendar()):
            self._tier.dismiss((name,))

    async def _gone(self, name: str, is_gone: Callable[[], bool]) -> None:
        """Wait until a copy of a model that serves no more requests has left. Raises NotReady."""
        try:
            async with asyncio.timeout(self._ready_wait_s):
                while not is_gone():
                    await self._tier.change()
        except TimeoutError:
            raise NotReady(name, self._ready_wait_s) from None

    # -- pinning ---------------------------------------------------------------------------------------------------
    async def _obtain(self, name: str, timing: Timing, only_loaded: bool) -> bool:
        """Pin the model, and load it if it is not in memory. True if it was in memory."""
        since_s = self._clock()
        self._check(name, only_loaded)
        if self._resting is not None and not self._is_pinned(name):
            self._resting.called(model_of(name), self._calendar())
        if self._freshness.asks_s3 and name in self._residency and await self._freshness.outdated(name):
            if self.renew is None:
                self.retire(name, "the object in S3 is newer", doubt=True)
            else:
                self.renew(model_of(name))
        plan = await self._planned(name, only_loaded)
        if isinstance(plan, Hit):
            return True
        load = self._models.begin_load(name) if isinstance(plan, Lead) else self._loads[name]
        try:
            await asyncio.wait_for(asyncio.shield(load.task), self._ready_wait_s)
        except TimeoutError:
            self._stop_waiting(name, load)
            raise NotReady(name, self._ready_wait_s) from None
        except asyncio.CancelledError:
            self._stop_waiting(name, load)
            raise
        finally:
            timing.waited_for(load.spans, since_s)
        timing.cold = load.spans.report(leads=isinstance(plan, Lead))
        return False

    async def _planned(self, name: str, only_loaded: bool) -> Hit | Wait | Lead:
        """The plan for a request, once no retired copy and no dead runner is there. Raises NotReady, ModelAbsent."""
        while True:
            self._check(name, only_loaded)
            if name in self._freshness.retired:
                await self._gone(name, lambda: name not in self._freshness.retired)
            plan = await self._tier.requested(name)
            if not isinstance(plan, Hit) or (runner := self._runners[name]).alive:
                return plan
            if not self._unpin(name):  # others use it: one of its workers may have ended, and the others answer
                await self._gone(name, partial(self._is_another, name, runner))

    def _is_another(self, name: str, runner: Runner) -> bool:
        """Whether another runner than this one serves the model now, or none."""
        return self._runners.get(name) is not runner

    def _stop_waiting(self, name: str, load: LoadInFlight) -> None:
        """End the pin of a caller that waits no more. A failed load has ended all its pins already."""
        if not load.task.done():
            self._tier.released(name)
        elif not load.task.cancelled() and load.task.exception() is None:
            self._unpin(name)

    def _unpin(self, name: str) -> bool:
        """End one pin. True if the model leaves now."""
        if not self._tier.released(name):
            return False
        if self._resting is not None:
            self._resting.ended(model_of(name), self._calendar())
        return self._models.drop_if_unwanted(name)

    def _is_pinned(self, name: str) -> bool:
        model = self._residency.get(name)
        return model is not None and model.pins > 0


def _check_present(residency: Residency, retired: Container[str], name: str, only_loaded: bool) -> None:
    """Raises ModelAbsent for a request that would load the model and is not to."""
    model = residency.get(name)
    if only_loaded and (model is None or model.stage is ModelStage.LEAVING or name in retired):
        raise ModelAbsent(name)
