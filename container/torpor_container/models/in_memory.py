"""Loads models into an instance's memory and unloads them, as the memory tier's residency plans."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial

from torpor_container.core.residency import Residency
from torpor_container.core.versions.copy_names import model_of
from torpor_container.errors import (
    LoadFailed,
    LoadTimedOut,
    NoMemoryNow,
    QuarantinedForMemory,
    StarvedTrial,
    machine_faults,
)
from torpor_container.mapped.mapped_shares import MappedShares
from torpor_container.measuring.effort import Effort
from torpor_container.measuring.server_timing import LoadSpans
from torpor_container.models.disk_tier import DiskTier
from torpor_container.models.freshness import Freshness, ServedArtifact
from torpor_container.models.in_process.form_changes import FormChanges
from torpor_container.models.last_uses import LastUses
from torpor_container.models.loader import Found, Loaded, ModelLoader
from torpor_container.models.relief import Relief
from torpor_container.models.resizing import Resizing
from torpor_container.models.tier import Tier
from torpor_container.running.runners import Runner
from torpor_container.waiting.quiet_timeout import patiently
from torpor_container.wire import UNLOAD, VICTIMS_REPORTED_MAX, ColdLoad, LoadedModel, WaitStep

FEWER_SHARE = "a file that fewer instances map"
"""What needs the room when an instance is charged more for the models that it has."""
CLOSE_S = 5.0
"""How long a closing instance waits for models to leave in good order, in seconds. They end with its process anyway."""


@dataclass(frozen=True)
class LoadInFlight:
    """One load that is in progress. All callers that wait for the model share it."""

    task: "asyncio.Task[None]"
    spans: LoadSpans


class ModelsInMemory:
    """The models in the memory of one instance. It carries out plans; it decides only what the residency leaves open.

    `tier` is the memory tier, `runners` has the runner of each loaded model, and `loads` has each load in progress.
    """

    def __init__(
        self,
        disk_tier: DiskTier,
        loader: ModelLoader,
        residency: Residency,
        load_timeout_s: float,
        clock: Callable[[], float],
        calendar: Callable[[], float],
        keeps_models: bool,
        freshness: Freshness,
        worn_out: Callable[[], None],
    ) -> None:
        """`keeps_models`: a model stays in memory after its last call. The class calls `worn_out` when another instance
        should replace this one."""
        self.runners: dict[str, Runner] = {}
        self.loads: dict[str, LoadInFlight] = {}
        self._last_uses = LastUses(calendar)
        self.tier = Tier(residency, calendar, self._unload, self._settle, self._last_uses.add)
        self._shares = MappedShares(residency, calendar)
        self.forms = FormChanges(self.tier, self._shares, self._form_changed)
        self.relief = Relief(self.tier, self._settle, worn_out)
        self.resizing = Resizing(self.tier, self._settle)
        self._disk_tier = disk_tier
        self._loader = loader
        self._residency = residency
        self._load_timeout_s = load_timeout_s
        self._clock = clock
        self._calendar = calendar
        self._keeps_models = keeps_models
        self._freshness = freshness
        self._last_unload: Effort | None = None

    async def start(self) -> None:
        await self._loader.start()
        self._residency.measured(await self._loader.used_bytes())

    async def close(self) -> None:
        """Cancel the loads in progress; wait up to CLOSE_S seconds for the models that leave."""
        await self.relief.close()
        await self.resizing.close()
        await self.forms.close()
        tasks = [load.task for load in self.loads.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.tier.close(), CLOSE_S)

    def models(self) -> list[LoadedModel]:
        """The models in memory, in their wire form."""
        if self._shares.look():
            self.tier.dismiss(self._residency.evict_excess(FEWER_SHARE, self._calendar()))
        self.forms.look()
        found = self.tier.models(self.runners)
        for model in found:
            if model["name"] in self._shares:
                model["mapped"] = True
            model["artifact_version"], model["digest"] = self._freshness.artifact_of(model["name"])
        return found

    def unready(self) -> str | None:
        """Why no model can be served now; None if models can be served."""
        return self._loader.unready()

    def begin_load(self, name: str) -> LoadInFlight:
        """Start to load a model. The residency must have planned it: Lead, or expected."""
        spans = LoadSpans(self._clock)
        task = asyncio.create_task(self._load(name, spans), name=f"load {name}")
        task.add_done_callback(_retrieve_exception)
        load = self.loads[name] = LoadInFlight(task, spans)
        return load

    def drop_if_unwanted(self, name: str) -> bool:
        """Unload an idle model that must not serve another request. True if it leaves now."""
        runner = self.runners[name]
        retired = self._freshness.retired.get(name)
        if runner.alive and self._keeps_models and retired is None:
            if runner.needs_folder:
                self._disk_tier.changed()  # an idle model may leave to free its folder
            return False
        unwanted = retired or "ModelCacheSetting is Disabled"
        reason = unwanted if runner.alive else "its process ended"
        dropped = self._residency.drop(name, reason, self._calendar())
        if dropped:
            self.tier.dismiss((name,))
        return dropped

    # -- one load --------------------------------------------------------------------------------------------------
    async def _load(self, name: str, spans: LoadSpans) -> None:
        began_s, why = self._clock(), self._residency.why_absent(name)
        with ExitStack() as ended:
            ended.callback(self.loads.pop, name)
            ended.callback(self.tier.changed)
            with ExitStack() as unless_loaded:
                unless_loaded.callback(self._freshness.gone, name)
                with self.tier.loading(name):
                    loaded = await self._load_in_time(name, spans)
                self.runners[name] = loaded.runner
                size_bytes = self._shares.charged_bytes(name, loaded.size_bytes, loaded.mapped)
                spans.cold = self._report(name, loaded, size_bytes, spans, why, began_s)
                self._residency.loaded(name, size_bytes, loaded.took_s, self._calendar(), loaded.note)
                self.forms.follow(name, loaded)
                self.drop_if_unwanted(name)  # all its callers may have given up
                unless_loaded.pop_all()
        self.tier.run_to_completion(self._measure(name))

    def _report(
        self, name: str, loaded: Loaded, size_bytes: int, spans: LoadSpans, why: str, began_s: float
    ) -> ColdLoad:
        """What a response header tells the ledger about this load."""
        if loaded.effort is not None:
            spans.efforts[WaitStep.LOAD] = loaded.effort
        if spans.victims and self._last_unload is not None:
            spans.efforts[UNLOAD] = self._last_unload
        report: ColdLoad = {
            "bytes": size_bytes,
            "victims": [model_of(name) for name in spans.victims[:VICTIMS_REPORTED_MAX]],
            "reason": "; ".join(filter(None, (why, loaded.note))),
            "took_s": self._clock() - began_s,
            "efforts": {step: effort.fields() for step, effort in spans.efforts.items()},
            "own_bytes": spans.own_bytes,
            "budget_bytes": self._residency.budget_bytes,
            "left": self._last_uses.report(),
        }
        report["artifact_version"], report["digest"] = self._freshness.artifact_of(name)
        if spans.fetched_bytes:
            report["fetched_bytes"] = spans.fetched_bytes
        if spans.fetched_from is not None:
            report["fetched_from"] = spans.fetched_from.value
        if loaded.once_s:
            report["once_s"] = round(loaded.once_s, 6)
        if loaded.imports_s:
            report["imports_s"] = round(loaded.imports_s, 6)
        if (workers := loaded.runner.workers) is not None:
            report["workers"] = workers
        return report

    async def _load_in_time(self, name: str, spans: LoadSpans) -> Loaded:
        try:
            with machine_faults():
                async with patiently(self._load_timeout_s) as limit:
                    return await self._load_from_disk(name, spans)
        except TimeoutError as error:
            if not limit.expired():  # the system raised it
                raise LoadFailed(f"a connection timed out: {error}") from error
            raise LoadTimedOut(model_of(name), self._load_timeout_s) from None

    async def _load_from_disk(self, name: str, spans: LoadSpans) -> Loaded:
        placed = await self._disk_tier.take(name, spans, partial(self._free_a_folder, name, spans))
        needs_folder = False
        try:
            with spans.step(WaitStep.LOAD):  # the loader tries a version that is new to this disk
                found = await self._loader.recognise(placed)
            spans.own_bytes = self._residency.unaccounted_bytes
            if not self._residency.has_room(found.predicted_bytes):
                self._shares.look_at_all()
            spans.victims.extend(await self.tier.admitted(name, found.predicted_bytes))
            with spans.step(WaitStep.LOAD):
                loaded = await self._load_with_room(name, found, spans)
            needs_folder = loaded.runner.needs_folder
            self._freshness.loaded(name, placed.model_id, ServedArtifact(placed.version, placed.digest))
            return loaded
        except (LoadFailed, QuarantinedForMemory, StarvedTrial):
            self._disk_tier.doubt(name)  # its owner may have replaced it in S3 meanwhile
            raise
        finally:
            if not needs_folder:
                self._disk_tier.give(name)

    async def _load_with_room(self, name: str, found: Found, spans: LoadSpans) -> Loaded:
        """AWS: on 507 "it unloads unused models and tries again", until no idle model is left."""
        while True:
            try:
                return await found.load()
            except NoMemoryNow:
                victims = self._residency.evict_one(name, self._calendar())
                if not victims:
                    raise
                spans.victims.extend(victims)
                await self.tier.dismiss(victims)

    async def _free_a_folder(self, newcomer: str, spans: LoadSpans, missing_bytes: int) -> bool:
        """Make room on the disk: unload the least recently used of the idle models that need their folders.

        False, and no model leaves, if the folders of all of them have fewer bytes than are missing.
        """
        idle = [
            (model.used_s, name)
            for name, model in self._residency
            if not model.pins and self.runners[name].needs_folder
        ]
        if sum(self._disk_tier.size_of(name) for _, name in idle) < missing_bytes:
            return False
        _, victim = min(idle)
        self._residency.drop(victim, f"{newcomer} needs the room of its folder on disk", self._calendar())
        spans.victims.append(victim)
        await self.tier.dismiss((victim,))
        return True

    # -- measuring and unloading -----------------------------------------------------------------------------------
    async def _settle(self) -> int:
        """Return freed memory to the system. The bytes that the instance uses then."""
        return (await self._loader.settle()).used_bytes

    async def _measure(self, newcomer: str) -> None:
        """Correct the residency by the instance's real memory, and unload what is over the budget.

        Garbage of the load belongs to no model: where room is short, `_settle` returns it before another model leaves.
        """
        residency = self._residency
        residency.measured(await self._loader.used_bytes())
        model = residency.get(newcomer)
        if not residency.has_room(model.size_bytes if model is not None else 0):
            residency.measured(await self._settle())
        self.tier.dismiss(residency.evict_excess(newcomer, self._calendar()))
        if residency.overrun:
            self.relief.begin()
        self.tier.changed()  # the model may take less than the residency planned

    async def _form_changed(self, name: str) -> None:
        """The former form of a model is freed: its memory goes back to the system."""
        self._residency.measured(await self._settle())
        self.tier.dismiss(self._residency.evict_excess(name, self._calendar()))
        self.tier.changed()

    async def _unload(self, name: str) -> None:
        runner = self.runners.pop(name)
        self._freshness.gone(name)
        self._shares.gone(name)
        self.forms.gone(name)
        try:
            effort = await self._loader.unload(runner)
        finally:
            if runner.needs_folder:
                self._disk_tier.give(name)
        settled = await self._loader.settle()
        self._residency.measured(settled.used_bytes, gone=name)
        if effort is not None and settled.effort is not None:
            self._last_unload = effort + settled.effort
        if not self._keeps_models:
            await self._disk_tier.drop(name, "ModelCacheSetting is Disabled")


def _retrieve_exception(task: "asyncio.Task[None]") -> None:
    """Mark the exception as seen: asyncio logs one that no caller awaits, and all callers may have left."""
    if not task.cancelled():
        task.exception()
