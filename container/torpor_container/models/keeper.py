"""Makes the model that a request names resident, lends it out, and lets others go: the shell around the residency plan.

It carries out what the books decide and reports back; it chooses nobody itself. One instance has one keeper, on one
event loop, so its steps between two awaits are atomic.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from torpor_container.core.residency import Hit, Lead, ModelStage, Residency, Wait
from torpor_container.core.resting import Resting
from torpor_container.errors import LoadFailed, LoadTimedOut, NoMemoryNow, NotReady, OutOfMemory, QuarantinedForMemory
from torpor_container.measuring.effort import Effort
from torpor_container.measuring.timing import LoadStory, Timing
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.freshness import Freshness
from torpor_container.models.loader import Found, Loaded, ModelLoader
from torpor_container.models.memory_tier import MemoryTier
from torpor_container.models.partings import Partings
from torpor_container.models.relief import Relief
from torpor_container.running.runners import Runner
from torpor_container.settings import DEFAULTS
from torpor_container.wire import UNLOAD, LeavingModel, LoadedModel, WaitStep

VICTIMS_TOLD = 50
"""Of those who left for one model, at most so many are named in a header. The decisions have them all."""
CLOSE_S = 5.0
"""How long an instance that ends waits for models to leave in good order. They go with it anyway."""


@dataclass(frozen=True)
class WaitLimits:
    """How long whom to wait for, in seconds."""

    ready_wait_s: float = DEFAULTS.ready_wait_s
    load_timeout_s: float = DEFAULTS.load_timeout_s


@dataclass(frozen=True)
class Coming:
    """One model on its way in, and everybody's share in it."""

    work: "asyncio.Task[None]"
    story: LoadStory


class Keeper:
    """The models of one kept instance."""

    def __init__(
        self,
        disk_tier: DiskTier,
        loader: ModelLoader,
        books: Residency,
        patience: WaitLimits,
        clock: Callable[[], float],
        cache: bool = True,
        resting: Resting | None = None,
        freshness: Freshness | None = None,
        worn_out: Callable[[], None] = lambda: None,
    ) -> None:
        """`resting` hears of every use: by it models leave and come as their callers' habits say. `worn_out` is
        called where another instance should take this one's place."""
        self._disk_tier = disk_tier
        self._loader = loader
        self._partings = Partings(clock)
        self._tier = MemoryTier(books, clock, self._unload, self._settled, self._partings.left)
        self._patience = patience
        self._clock = clock
        self._cache = cache
        self._resting = resting
        self._freshness = freshness or Freshness(disk_tier, clock)
        self._runners: dict[str, Runner] = {}
        self._coming: dict[str, Coming] = {}
        self._last_unload: Effort | None = None
        self._relief = Relief(self._tier, self._settled, worn_out)

    async def start(self) -> None:
        await self._loader.start()
        self._tier.books.measured(await self._loader.used_bytes())

    def name_of(self, target: str) -> str:
        """The one name of a target, however it is written. Raises TargetForbidden."""
        return self._disk_tier.name_of(target)

    @asynccontextmanager
    async def lend(self, name: str, timing: Timing) -> AsyncIterator[Runner]:
        """The runner of this model, loaded if need be and kept loaded until the block ends.

        Raises NotReady when the caller's wait is over (the load goes on), and whatever the load raised.
        """
        timing.hit = False
        timing.hit = await self._obtain(name, timing)
        try:
            yield self._runners[name]
        except OutOfMemory:
            self.relieve()
            raise
        finally:
            self.give_back(name)

    def at_hand(self, target: str) -> Runner | None:
        """The runner of a model that is in memory and can answer, if the target is its very name."""
        runner = self._runners.get(target)
        here = runner is not None and runner.alive and target in self._tier.books and not target.startswith("/")
        fresh = not self._freshness.asks and target not in self._freshness.outgoing
        return runner if here and fresh else None

    def take(self, name: str) -> None:
        """Pin a model that is at hand, until `give_back`."""
        now_s = self._clock()
        if self._resting is not None and not self._busy(name):
            self._resting.called(name, now_s)
        self._tier.books.request(name, now_s)

    def give_back(self, name: str) -> None:
        """A caller was served."""
        if not self._take_back(name) and self._tier.books.spent(name, self._clock()):
            self._tier.dismiss((name,))

    def relieve(self) -> None:
        """A call found no memory: what it left is given back. An instance that stays over its budget is replaced."""
        self._relief.begin()

    def unready(self) -> str | None:
        """Why no model can be served now; None if it can."""
        return self._loader.unready()

    async def close(self) -> None:
        await self._relief.close()
        for coming in self._coming.values():
            coming.work.cancel()
        await asyncio.gather(*(coming.work for coming in self._coming.values()), return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tier.close(), CLOSE_S)

    def models(self) -> list[LoadedModel]:
        return self._tier.models(self._runners)

    # -- for who knows the callers' habits -------------------------------------------------------------------------
    def idle(self) -> list[str]:
        """The models in memory that nobody uses now."""
        return [name for name, model in self._tier.books if not model.pins]

    def dismiss(self, name: str, reason: str) -> None:
        """An idle model leaves, whatever the policy says."""
        if self._tier.books.drop(name, reason, self._clock()):
            self._tier.dismiss((name,))

    def expect(self, name: str) -> None:
        """Bring a model in before anybody asks for it, unless it is here, coming or leaving."""
        if self._tier.books.expect(name, self._clock()):
            self._start(name)
            coming = self._coming[name]
            coming.work.add_done_callback(lambda _: self._unpin(name, coming))

    def _unpin(self, name: str, coming: Coming) -> None:
        """It was brought in for nobody, which is no use: its habit goes on from the last call."""
        if not coming.work.cancelled() and coming.work.exception() is None and self._tier.released(name):
            self._drop_if_spent(name)

    # -- when a model is to be replaced ------------------------------------------------------------------------------
    def retire(self, name: str, why: str, doubt: bool) -> LeavingModel:
        """Requests from now on get the model loaded anew; requests that have it already end on the old copy.

        `doubt`: before that S3 is asked for a newer version.
        """
        if doubt:
            self._disk_tier.doubt(name)
        model = self._tier.books.get(name)
        if model is None or model.stage is ModelStage.LEAVING:
            return {"model": name, "was": "absent", "in_flight": 0}
        self._freshness.outgoing[name] = why
        self.dismiss(name, why)
        return {"model": name, "was": "loading" if name in self._coming else "resident", "in_flight": model.pins}

    async def _old_one_gone(self, name: str) -> None:
        """Wait until one that was retired has left. Raises NotReady."""
        try:
            async with asyncio.timeout(self._patience.ready_wait_s):
                while name in self._freshness.outgoing:
                    await self._tier.change()
        except TimeoutError:
            raise NotReady(name, self._patience.ready_wait_s) from None

    # -- making it resident ----------------------------------------------------------------------------------------
    async def _obtain(self, name: str, timing: Timing) -> bool:
        """Pin the model, brought in if need be. True if it was in memory already."""
        since_s = self._clock()
        if self._resting is not None and not self._busy(name):
            self._resting.called(name, since_s)
        if self._freshness.asks and name in self._tier.books and await self._freshness.outdated(name):
            self.retire(name, "the object in S3 is newer", doubt=True)
        plan = await self._requested(name)
        if isinstance(plan, Hit):
            return True
        if isinstance(plan, Lead):
            self._start(name)
        coming = self._coming[name]
        try:
            await asyncio.wait_for(asyncio.shield(coming.work), self._patience.ready_wait_s)
        except TimeoutError:
            self._give_up(name, coming)
            raise NotReady(name, self._patience.ready_wait_s) from None
        except asyncio.CancelledError:
            self._give_up(name, coming)
            raise
        finally:
            timing.waited_for(coming.story, since_s)
        timing.cold = coming.story.cold
        return False

    async def _requested(self, name: str) -> Hit | Wait | Lead:
        """What the books plan, once a runner whose process has ended is out of the way."""
        while True:
            if name in self._freshness.outgoing:
                await self._old_one_gone(name)
            plan = await self._tier.requested(name)
            if not isinstance(plan, Hit) or self._runners[name].alive:
                return plan
            if not self._take_back(name):
                await self._tier.change()

    def _give_up(self, name: str, coming: Coming) -> None:
        """A caller waits no more. If the load has failed, its pin is gone already."""
        if not coming.work.done():
            self._tier.released(name)
        elif not coming.work.cancelled() and coming.work.exception() is None:
            self._take_back(name)

    def _start(self, name: str) -> None:
        story = LoadStory(self._clock)
        work = asyncio.create_task(self._bring(name, story), name=f"load {name}")
        work.add_done_callback(_look_at)
        self._coming[name] = Coming(work, story)

    async def _bring(self, name: str, story: LoadStory) -> None:
        began_s, why = self._clock(), self._tier.books.why_absent(name)
        try:
            with self._tier.coming_in(name):
                loaded = await self._brought_in_time(name, story)
            self._runners[name] = loaded.runner
            if loaded.effort is not None:
                story.efforts[WaitStep.LOAD] = loaded.effort
            if story.victims and self._last_unload is not None:
                story.efforts[UNLOAD] = self._last_unload
            story.cold = {
                "bytes": loaded.size_bytes,
                "victims": story.victims[:VICTIMS_TOLD],
                "reason": "; ".join(filter(None, (why, loaded.note))),
                "took_s": self._clock() - began_s,
                "efforts": {step: effort.told() for step, effort in story.efforts.items()},
                "own_bytes": story.own_bytes,
                "budget_bytes": self._tier.books.budget_bytes,
                "left": self._partings.told(),
            }
            self._tier.books.loaded(name, loaded.size_bytes, loaded.took_s, self._clock(), loaded.note)
            self._drop_if_spent(name)  # its callers may all have given up
            self._tier.changed()
        except BaseException:
            self._freshness.gone(name)
            self._tier.changed()
            raise
        finally:
            del self._coming[name]
        self._tier.go_on(self._measure(name))

    async def _brought_in_time(self, name: str, story: LoadStory) -> Loaded:
        try:
            async with asyncio.timeout(self._patience.load_timeout_s) as patience:
                return await self._bring_from_disk(name, story)
        except TimeoutError:
            if not patience.expired():  # the system's: some connection timed out
                raise
            raise LoadTimedOut(name, self._patience.load_timeout_s) from None

    async def _bring_from_disk(self, name: str, story: LoadStory) -> Loaded:
        placed = await self._disk_tier.take(name, story, partial(self._free_a_folder, name, story))
        kept = False
        try:
            with story.step(WaitStep.LOAD):  # a version that is new here is tried
                found = await self._loader.recognise(placed)
            story.own_bytes = self._tier.books.unaccounted_bytes
            story.victims.extend(await self._tier.admitted(name, found.predicted_bytes))
            with story.step(WaitStep.LOAD):
                loaded = await self._load(name, found, story)
            kept = loaded.runner.needs_folder
            self._freshness.loaded(name, placed.model_id)
            return loaded
        except (LoadFailed, QuarantinedForMemory):
            self._disk_tier.doubt(name)  # its owner may have mended it meanwhile
            raise
        finally:
            if not kept:
                self._disk_tier.give(name)

    async def _free_a_folder(self, newcomer: str, story: LoadStory, missing_bytes: int) -> bool:
        """The disk has no room: of the idle models that need their folders, the least recently used leaves.

        Nobody does, and it is False, if all of them together have less than is missing.
        """
        books = self._tier.books
        idle = [(model.used_s, name) for name, model in books if not model.pins and self._runners[name].needs_folder]
        if sum(self._disk_tier.size_of(name) for _, name in idle) < missing_bytes:
            return False
        _, leaver = min(idle)
        books.drop(leaver, f"{newcomer} needs the room of its folder on disk", self._clock())
        story.victims.append(leaver)
        await self._tier.dismiss((leaver,))
        return True

    async def _load(self, name: str, found: Found, story: LoadStory) -> Loaded:
        """AWS: on 507 "it unloads unused models and tries again", until nothing idle is left."""
        while True:
            try:
                return await found.load()
            except NoMemoryNow:
                leavers = self._tier.books.one_more(name, self._clock())
                if not leavers:
                    raise
                story.victims.extend(leavers)
                await self._tier.dismiss(leavers)

    async def _settled(self) -> int:
        return (await self._loader.settle()).used_bytes

    async def _measure(self, newcomer: str) -> None:
        """The instance's real memory has the last word, also over what was admitted.

        What loading left behind is no model's: where room is short, it is given back before another leaves for it.
        """
        books = self._tier.books
        books.measured(await self._loader.used_bytes())
        model = books.get(newcomer)
        if not books.has_room(model.size_bytes if model is not None else 0):
            books.measured(await self._settled())
        self._tier.dismiss(books.excess(newcomer, self._clock()))
        if books.overrun:
            self._relief.begin()
        self._tier.changed()  # it may be less than was planned with

    # -- letting go ------------------------------------------------------------------------------------------------
    def _take_back(self, name: str) -> bool:
        """One caller is done with the model. True if it leaves now."""
        if not self._tier.released(name):
            return False
        if self._resting is not None:
            self._resting.ended(name, self._clock())
        return self._drop_if_spent(name)

    def _drop_if_spent(self, name: str) -> bool:
        """Nobody shall get this model again, and nobody uses it: it leaves."""
        runner = self._runners[name]
        outgoing = self._freshness.outgoing.get(name)
        if runner.alive and self._cache and outgoing is None:
            if runner.needs_folder:
                self._disk_tier.changed()  # it may leave for another's folder, if it is idle
            return False
        spent = outgoing or "ModelCacheSetting is Disabled"
        reason = spent if runner.alive else "its process ended"
        dropped = self._tier.books.drop(name, reason, self._clock())
        if dropped:
            self._tier.dismiss((name,))
        return dropped

    def _busy(self, name: str) -> bool:
        model = self._tier.books.get(name)
        return model is not None and model.pins > 0

    async def _unload(self, name: str) -> None:
        runner = self._runners.pop(name)
        self._freshness.gone(name)
        try:
            effort = await self._loader.unload(runner)
        finally:
            if runner.needs_folder:
                self._disk_tier.give(name)
        settled = await self._loader.settle()
        self._tier.books.measured(settled.used_bytes, gone=name)
        if effort is not None and settled.effort is not None:
            self._last_unload = effort + settled.effort
        if not self._cache:
            await self._disk_tier.drop(name, "ModelCacheSetting is Disabled")


def _look_at(work: "asyncio.Task[None]") -> None:
    """A load whose callers have all left still ends with an error that somebody must have seen."""
    if not work.cancelled():
        work.exception()
