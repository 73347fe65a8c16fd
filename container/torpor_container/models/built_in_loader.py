"""The built-in loader: loads known formats in this process and user scripts in theirs, and measures what they take."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cachetools import FIFOCache

from torpor_container.artifacts.submitted_code import Submitted
from torpor_container.core.sizing import Sizing
from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import ContainerError, LoadFailed, machine_faults
from torpor_container.formats import FORMATS, SCRIPT, Conventions, Format, available, detect
from torpor_container.formats.format import DATA
from torpor_container.formats.script import FORMAT as SCRIPT_FORMAT
from torpor_container.mapped.mapped_forms import MappableFile, MappedForms
from torpor_container.measuring.cpu_time import CpuTime
from torpor_container.measuring.effort import Effort, EffortClocks, measured
from torpor_container.measuring.load_meter import Meter
from torpor_container.measuring.memory_gauge import MemoryGauge, OtherProcesses
from torpor_container.models.in_process.in_process_loading import InProcessLoading, Tools, priors
from torpor_container.models.in_process.proved_contents import ProvedContents
from torpor_container.models.in_process.reading import Recognised, folder_bytes
from torpor_container.models.loader import WAITED_MIN_S, Found, Loaded, Placed, Settled, having_imported, having_waited
from torpor_container.models.quarantine import Load, Quarantine, Version, mark_of, software_of, verdicts_of
from torpor_container.processes.import_steps import Step
from torpor_container.processes.memory import give_back, uss_bytes
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.step_record import StepRecord
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import Runner
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings
from torpor_container.trials.suspects import Suspects
from torpor_container.trials.trial_process import TrialCandidate, Trials
from torpor_container.trials.verdicts import key_of

if TYPE_CHECKING:
    from torpor_container.models.on_device.instance_device import NoDevice
    from torpor_container.models.on_device.placing import Placing

LOST_THREADS_MAX = 16
NO_SCRIPTS = "TORPOR_SCRIPTS=refuse forbids user scripts: serve the model file alone, or allow scripts"
DATA_ONLY = "TORPOR_TRUST=data allows only model files that run no code"
KNOWN_MAX = 10_000
COMPILED = "compiled"
"""The folder of a script's compiled modules, beside its unpacked folder."""


class Identified(NamedTuple):
    """What a folder holds: the model's format and file, the bytes of all files, what must be imported
    before the load, and the version to try, if any."""

    format: Format
    path: Path
    disk_bytes: int
    step: Step
    tried: Version | None
    share_bytes: int | None = None
    """The share of its mapped form that this instance would be charged; None if it has none."""
    refused: str = ""
    """Why it can have no mapped form; empty if that is not known."""


class BuiltInLoader:
    """Recognises, loads and measures models for one instance."""

    def __init__(
        self,
        settings: Settings,
        memory: MemoryBudget,
        conventions: Conventions,
        scripts: Scripts,
        clock: Callable[[], float],
        submitted: Submitted | None = None,
        meter: Meter | None = None,
        gauge: MemoryGauge | None = None,
        give_back: Callable[[], None] = give_back,
        trials: Trials | None = None,
        suspects: Suspects | None = None,
        forms: MappedForms | None = None,
        placing: "Placing | NoDevice | None" = None,
    ) -> None:
        """`submitted`: where the script of every model comes from, if not from its own artifact. `meter` knows whether
        other work takes memory in this process meanwhile, `gauge` measures how much the process uses, and `give_back`
        returns freed memory to the system. `trials` tries new versions of models before they are loaded; `suspects`
        records which model predicts. `forms` has models that instances map; `placing`, the
        device on which models predict, if there is one."""
        self._settings = settings
        self._memory = memory
        self._conventions = conventions
        self._formats = available()
        self._clock = clock
        self._submitted = submitted
        sharing = Sharing(
            settings.vcpu,
            settings.model_concurrency or settings.vcpu,
            settings.batch_size or 1,
            settings.batch_delay_s,
        )
        self._predictors = Predictors(Threads(settings.vcpu, "predict"), Turns(sharing), clock)
        self._loaders = Threads(settings.loads_max, "load")
        self._measurers = Threads(1, "measure")  # not shared, so that no model's code holds it up
        self._gauge = gauge or MemoryGauge(clock)
        self._give_back = give_back
        self._other_processes = OtherProcesses(clock)
        self._other_processes_bytes = 0  # at the last look
        self._scripts = scripts
        self._sizing = Sizing(priors(self._formats, settings.script_workers))
        self._forms = forms
        self._meter = meter or Meter()
        self._steps = StepRecord(Path(settings.base_dir))
        self._runners: set[Runner] = set()
        self._scripted: set[Runner] = set()  # those of user scripts, which have processes of their own
        self._cpu_time = CpuTime()
        self._known: FIFOCache[Path, tuple[Format, Path]] = FIFOCache(KNOWN_MAX)  # by the folder of each version
        self._settling: asyncio.Future[Settled] | None = None  # a request to settle that has not begun
        tools = Tools(self._loaders, self._predictors, self._sizing, self._meter, self._gauge, EffortClocks(clock))
        self._placing = placing
        self._in_process = InProcessLoading(tools, conventions, memory, settings.batch_size, suspects, forms, placing)
        self._verdicts = verdicts_of(settings)
        self._proved = ProvedContents()
        self._quarantine = (
            Quarantine(trials, self._verdicts, self._free_bytes, self.unload) if trials is not None else None
        )

    async def start(self) -> None:
        """Nothing to do: it can load from the beginning."""

    def expect_new(self) -> None:
        """Prepare for a trial: no version of any model has been tried on this disk."""
        if self._quarantine is not None:
            self._quarantine.expect()

    async def close(self) -> None:
        async with AsyncExitStack() as closing:
            for part in (self._measurers, self._loaders, self._predictors):
                closing.callback(part.close)
            if self._placing is not None:
                closing.push_async_callback(self._placing.close)
            closing.push_async_callback(self._unload_all)
            if self._forms is not None:
                closing.callback(self._forms.close)
            if self._quarantine is not None:
                closing.push_async_callback(self._quarantine.close)

    async def _unload_all(self) -> None:
        """Unload all side by side, since a script that does not end takes a second or two."""
        ended = await asyncio.gather(*map(self.unload, tuple(self._runners)), return_exceptions=True)
        for failure in ended:
            if isinstance(failure, BaseException):
                raise failure

    def unready(self) -> str | None:
        """Asks for a replacement once many threads are stuck in models' own code, or the device is lost."""
        if self._placing is not None and self._placing.lost:
            return self._placing.lost
        lost = self._predictors.lost + self._loaders.lost
        return f"{lost} threads are stuck in models' own code" if lost > LOST_THREADS_MAX else None

    def look(self, placed: Placed) -> "Identified | Exception | None":
        """Identify a model on the thread that has just unpacked or checked its folder. The error if that fails; None
        where scripts come from elsewhere."""
        if self._submitted:
            return None
        try:
            with machine_faults():
                return self._identify(placed, self._known.get(placed.directory))
        except (ContainerError, OSError) as error:
            return error

    async def recognise(self, placed: Placed) -> Found:
        if self._submitted and (refusal := self._no_scripts()):
            raise LoadFailed(f"SAGEMAKER_SUBMIT_DIRECTORY names a script for {placed.model}, and {refusal}")
        known, path, disk_bytes, step, tried, share_bytes, refused = await self._identified(placed)
        if placed.content:
            self._known[placed.directory] = known, path
        if known.name == SCRIPT and (refusal := self._no_scripts()):
            raise LoadFailed(f"{placed.model} has a user script, {path.name}, and {refusal}")
        if self._settings.trust == DATA and known.name not in {one.name for one in FORMATS}:
            raise LoadFailed(f"{path.name} is of the format {known.name}, which a package adds, and {DATA_ONLY}")
        found = Recognised(placed, known, path, disk_bytes, step, tried, share_bytes is not None, refused)
        predicted = self._in_process.predicted_bytes(found)
        load: Load = partial(self._load, replace(found, predicted_bytes=predicted))
        if self._quarantine is not None and tried is not None:
            began_s, passed = self._clock(), self._quarantine.passed(tried, load)
            imports_s = 0.0
            if self._in_process.is_ready_for(found):
                load = await passed
            else:
                load, imports_s = await asyncio.gather(
                    passed, _seconds_of(self._in_process.prepare(found), self._clock)
                )
            if (waited_s := self._clock() - began_s) >= WAITED_MIN_S:
                load = partial(_load_after_waiting, load, waited_s, imports_s)
        return Found(predicted + (share_bytes or 0), load)

    async def _identified(self, placed: Placed) -> "Identified":
        seen = placed.seen
        script = await self._submitted.script() if self._submitted else None
        try:
            if isinstance(seen, Exception):
                raise seen
            if isinstance(seen, Identified):
                return seen
            with machine_faults():
                decided = (SCRIPT_FORMAT, script) if script else self._known.get(placed.directory)
                return await self._loaders.run(self._identify, placed, decided)
        except OSError as error:
            raise LoadFailed(f"the files of {placed.model} cannot be read: {error}") from error

    def _identify(self, placed: Placed, decided: tuple[Format, Path] | None) -> "Identified":
        """Format and file are decided once for each version of an artifact (`decided`). A script is not tried: it has
        its own process anyway."""
        known, path = decided or detect(placed.directory, self._settings.program, self._formats, self._conventions)
        disk_bytes = folder_bytes(placed.directory) if placed.disk_bytes is None else placed.disk_bytes
        if known.name == SCRIPT:
            return Identified(known, path, disk_bytes, Step.WHOLE, None)
        step = known.step(path)
        candidate = TrialCandidate(known.name, path, disk_bytes, step)
        if not placed.content:
            return Identified(known, path, disk_bytes, step, Version(candidate, mark_of(path), kept=False))
        file, asked = str(path).removeprefix(f"{placed.directory}/"), self._conventions
        software = software_of(known.frameworks)
        key = key_of(placed.content, known.name, file, asked.image, str(asked.ensemble), software)
        if placed.pardoned:
            self._verdicts.pardon(key)
        verdict = self._verdicts.read(key)
        proved = self._proved.of(known, candidate) if self._quarantine is not None and verdict is None else None
        tried = Version(candidate, key, True, verdict, proved)
        if self._forms is None:
            return Identified(known, path, disk_bytes, step, tried)
        mappable = MappableFile(known, path, key, disk_bytes)
        share_bytes = self._forms.share_bytes(mappable)
        refused = self._forms.why_refused(mappable) if share_bytes is None else ""
        return Identified(known, path, disk_bytes, step, tried, share_bytes, refused)

    def _no_scripts(self) -> str:
        """Why no script may run; empty if scripts may."""
        if self._settings.trust == DATA:
            return f"{DATA_ONLY}: serve the model file alone"
        return "" if self._settings.scripts else NO_SCRIPTS

    async def unload(self, runner: Runner) -> Effort | None:
        if runner in self._scripted:
            await self.cpu_s()  # while its processes can still be read
        self._runners.discard(runner)
        self._scripted.discard(runner)
        with self._meter.window():
            return await runner.close()

    async def settle(self) -> Settled:
        """Callers that come before it begins share it: to return memory costs a millisecond, however much is freed."""
        if self._settling is None:
            self._settling = asyncio.ensure_future(self._settle())
        return await asyncio.shield(self._settling)

    async def used_bytes(self) -> int:
        """Counted in this call if the C library can count it; else on a thread, which walks all pages."""
        held = None if self._scripted else self._gauge.counted_bytes()
        return await self._measurers.run(self._measure) if held is None else held

    async def cpu_s(self) -> float:
        return await self._measurers.run(self._count_seconds)

    # -- the two ways to load --------------------------------------------------------------------------------------
    async def _load(self, found: Recognised) -> Loaded:
        """Load a model and measure it."""
        began_s = self._clock()
        if found.format.name == SCRIPT:
            loaded = await self._start_script(found)
        else:
            imports_s = await _seconds_of(self._in_process.prepare(found), self._clock)
            loaded = having_imported(await self._in_process.load(found), imports_s)
        self._runners.add(loaded.runner)
        self._steps.needed(found.needs[0])
        return replace(loaded, took_s=self._clock() - began_s)

    async def _start_script(self, found: Recognised) -> Loaded:
        """Start a script in a process of its own."""
        compiled = found.placed.directory.with_name(COMPILED) if found.placed.content else None
        started = await self._scripts.start(found.placed.directory, found.path, compiled, self._predictors)
        runner = started.runner
        async with AsyncExitStack() as unless_known:  # close it if it cannot be returned
            unless_known.push_async_callback(runner.close)
            size_bytes = await self._measurers.run(_process_bytes, runner)
            unless_known.pop_all()
        self._sizing.measured(*found.sized_as, found.disk_bytes, size_bytes)
        self._scripted.add(runner)
        loaded = Loaded(runner, size_bytes, effort=started.effort)
        return having_waited(having_imported(loaded, started.imports_s), started.once_s)

    def _free_bytes(self) -> int:
        return self._memory.size_bytes - self._gauge.last_bytes() - self._other_processes_bytes

    # -- measuring -------------------------------------------------------------------------------------------------
    async def _settle(self) -> Settled:
        with self._meter.window():
            return Settled(*await self._measurers.run(measured, self._measure_after_trim))

    def _measure(self) -> int:
        pids = (pid for runner in tuple(self._scripted) for group in runner.processes() for pid in group)
        self._other_processes_bytes = self._other_processes.used_bytes(pids)
        return self._gauge.used_bytes() + self._other_processes_bytes

    def _count_seconds(self) -> float:
        return self._cpu_time.seconds([group for runner in tuple(self._scripted) for group in runner.processes()])

    def _measure_after_trim(self) -> int:
        self._settling = None  # a caller that comes from now on may have freed memory that this does not see
        self._give_back()
        return self._measure()


async def _seconds_of(work: Awaitable[None], clock: Callable[[], float]) -> float:
    began_s = clock()
    await work
    return clock() - began_s


async def _load_after_waiting(load: Load, waited_s: float, imports_s: float) -> Loaded:
    """Load it. Of the whole wait, its trial may say more that was for libraries."""
    loaded = having_imported(await load(), imports_s)
    return having_waited(loaded, waited_s - loaded.imports_s)


def _process_bytes(runner: Runner) -> int:
    """The memory of the runner's own processes."""
    return sum(uss_bytes(pid) for group in runner.processes() for pid in group)
