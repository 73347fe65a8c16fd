"""The built-in loader: loads known formats in this process and user scripts in theirs, and measures what they take."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from cachetools import FIFOCache

from torpor_container.artifacts.submitted_code import Submitted
from torpor_container.core.sizing import Prior, Sizing
from torpor_container.core.turns import Sharing, Turns
from torpor_container.errors import ContainerError, LoadFailed, NoMemoryNow, machine_faults
from torpor_container.formats import FORMATS, SCRIPT, Conventions, Format, ServableModel, available, detect
from torpor_container.formats.format import DATA
from torpor_container.formats.script import FORMAT as SCRIPT_FORMAT
from torpor_container.formats.xgboost.boosters import XGBOOST
from torpor_container.measuring.cpu_time import CpuTime
from torpor_container.measuring.effort import Effort, EffortClocks, measured
from torpor_container.measuring.load_meter import Meter
from torpor_container.measuring.memory_gauge import MemoryGauge, OtherProcesses
from torpor_container.models.loader import Found, Loaded, Placed, Settled
from torpor_container.models.quarantine import PROVED, Load, Quarantine, Version, mark_of, software_of, verdicts_of
from torpor_container.processes.import_steps import Step, reach, reached
from torpor_container.processes.memory import give_back, no_memory, uss_bytes
from torpor_container.processes.memory_budget import MemoryBudget
from torpor_container.processes.step_record import StepRecord
from torpor_container.processes.threads import Threads
from torpor_container.running.predicting import Predictors
from torpor_container.running.runners import InProcess, Runner
from torpor_container.running.scripts import Scripts
from torpor_container.settings import Settings
from torpor_container.trials.suspects import Suspects
from torpor_container.trials.trial_process import TrialCandidate, Trials
from torpor_container.trials.verdicts import key_of

LOST_THREADS_MAX = 16
NO_SCRIPTS = "TORPOR_SCRIPTS=refuse forbids user scripts: serve the model file alone, or allow scripts"
DATA_ONLY = "TORPOR_TRUST=data allows only model files that run no code"
KNOWN_MAX = 10_000
COMPILED = "compiled"
"""The folder of a script's compiled modules, beside its unpacked folder."""
FLOOR_BYTES = 64 * 1024
"""No model counts as less: a load can fill pages that other models left, and then the process does not grow."""


@dataclass(frozen=True)
class Recognised:
    """A model on disk before its load: its format, its file, its bytes on disk and those predicted in memory, and what
    must be imported before."""

    placed: Placed
    format: Format
    path: Path
    disk_bytes: int
    predicted_bytes: int
    step: Step
    tried: Version | None


class Identified(NamedTuple):
    """What a folder holds: the model's format and file, the bytes of all files, what must be imported
    before the load, and the version to try, if any."""

    format: Format
    path: Path
    disk_bytes: int
    step: Step
    tried: Version | None


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
    ) -> None:
        """`submitted`: where the script of every model comes from, if not from its own artifact. `meter` knows whether
        other work takes memory in this process meanwhile, `gauge` measures how much the process uses, and `give_back`
        returns freed memory to the system. `trials` tries new versions of models before they are loaded; `suspects`
        records which model predicts."""
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
        self._sizing = Sizing(
            {known.name: Prior(known.fixed_bytes, known.bytes_per_artifact_byte) for known in self._formats}
        )
        self._meter = meter or Meter()
        self._imported: set[str] = set()
        self._steps = StepRecord(Path(settings.base_dir))
        self._runners: set[Runner] = set()
        self._scripted: set[Runner] = set()  # those of user scripts, which have processes of their own
        self._cpu_time = CpuTime()
        self._known: FIFOCache[Path, tuple[Format, Path]] = FIFOCache(KNOWN_MAX)  # by the folder of each version
        self._settling: asyncio.Future[Settled] | None = None  # a request to settle that has not begun
        self._suspects = suspects
        self._verdicts = verdicts_of(settings)
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
            closing.push_async_callback(self._unload_all)
            if self._quarantine is not None:
                closing.push_async_callback(self._quarantine.close)

    async def _unload_all(self) -> None:
        """Unload all side by side, since a script that does not end takes a second or two."""
        ended = await asyncio.gather(*map(self.unload, tuple(self._runners)), return_exceptions=True)
        for failure in ended:
            if isinstance(failure, BaseException):
                raise failure

    def unready(self) -> str | None:
        """Asks for a replacement once many threads are stuck in models' own code."""
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
            raise LoadFailed(f"SAGEMAKER_SUBMIT_DIRECTORY names a script for {placed.name}, and {refusal}")
        known, path, disk_bytes, step, tried = await self._identified(placed)
        if placed.content:
            self._known[placed.directory] = known, path
        if known.name == SCRIPT and (refusal := self._no_scripts()):
            raise LoadFailed(f"{placed.name} has a user script, {path.name}, and {refusal}")
        if self._settings.trust == DATA and known.name not in {one.name for one in FORMATS}:
            raise LoadFailed(f"{path.name} is of the format {known.name}, which a package adds, and {DATA_ONLY}")
        predicted = self._sizing.predict(placed.model_id, known.name, disk_bytes)
        load: Load = partial(self._load, Recognised(placed, known, path, disk_bytes, predicted, step, tried))
        if self._quarantine is not None and tried is not None:
            passed = self._quarantine.passed(tried, load)
            if self._is_imported(known, step):
                load = await passed
            else:
                load, _ = await asyncio.gather(passed, self._import(known, step))
        return Found(predicted, load)

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
            raise LoadFailed(f"the files of {placed.name} cannot be read: {error}") from error

    def _identify(self, placed: Placed, decided: tuple[Format, Path] | None) -> "Identified":
        """Format and file are decided once for each version of an artifact (`decided`). A script is not tried: it has
        its own process anyway."""
        known, path = decided or detect(placed.directory, self._settings.program, self._formats, self._conventions)
        disk_bytes = _size_bytes(placed.directory) if placed.disk_bytes is None else placed.disk_bytes
        if known.name == SCRIPT:
            return Identified(known, path, disk_bytes, Step.WHOLE, None)
        step = known.step(path)
        candidate = TrialCandidate(known.name, path, disk_bytes, step)
        if not placed.content:
            return Identified(known, path, disk_bytes, step, Version(candidate, mark_of(path), kept=False))
        file, asked = path.relative_to(placed.directory).as_posix(), self._conventions
        software = software_of(known.frameworks)
        key = key_of(placed.content, known.name, file, asked.image, str(asked.ensemble), software)
        if placed.pardoned:
            self._verdicts.pardon(key)
        return Identified(known, path, disk_bytes, step, Version(candidate, key, True, self._verdicts.read(key)))

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
        loading = self._start_script if found.format.name == SCRIPT else self._load_here
        loaded = await loading(found)
        self._runners.add(loaded.runner)
        self._steps.needed(found.step)
        return replace(loaded, took_s=self._clock() - began_s)

    async def _load_here(self, found: Recognised) -> Loaded:
        """Load into this process."""
        await self._import(found.format, found.step)
        size_bytes, conventions = found.predicted_bytes, self._conventions.within(self._memory.size_bytes)
        with self._meter.window() as alone:
            if not self._sizing.to_be_measured(found.placed.model_id, found.format.name, found.disk_bytes):
                model, effort = await self._loaders.run(measured, _read, found, conventions)
            else:
                (model, grown_bytes), effort = await self._loaders.run(
                    measured, _read_and_measure, found, conventions, self._gauge
                )
                if alone():
                    size_bytes = max(grown_bytes, FLOOR_BYTES)
                    self._sizing.measured(found.placed.model_id, found.format.name, found.disk_bytes, size_bytes)
        if self._suspects and found.tried and found.tried.kept and found.format.name not in PROVED:
            model = self._suspects.watched(model, found.tried.key)
        runner = InProcess(model, self._predictors, EffortClocks(self._clock), self._settings.batch_size)
        return Loaded(runner, size_bytes, effort=effort, note=getattr(model, "note", ""), mapped=model.mapped)

    def _is_imported(self, known: Format, step: Step) -> bool:
        return reached() >= step and self._imported.issuperset(known.frameworks)

    async def _import(self, known: Format, step: Step) -> None:
        if not self._is_imported(known, step):
            await self._loaders.run(_import_all, step, known.frameworks)
            self._imported.update(known.frameworks)

    async def _start_script(self, found: Recognised) -> Loaded:
        """Start a script in a process of its own."""
        compiled = found.placed.directory.with_name(COMPILED) if found.placed.content else None
        runner, effort = await self._scripts.start(found.placed.directory, found.path, compiled)
        async with AsyncExitStack() as unless_known:  # close it if it cannot be returned
            unless_known.push_async_callback(runner.close)
            size_bytes = await self._measurers.run(_process_bytes, runner)
            unless_known.pop_all()
        self._sizing.measured(found.placed.model_id, found.format.name, found.disk_bytes, size_bytes)
        self._scripted.add(runner)
        return Loaded(runner, size_bytes, effort=effort)

    def _free_bytes(self) -> int:
        return self._memory.size_bytes - self._gauge.last_bytes() - self._other_processes_bytes

    # -- measuring -------------------------------------------------------------------------------------------------
    async def _settle(self) -> Settled:
        with self._meter.window():
            return Settled(*await self._measurers.run(measured, self._measure_after_trim))

    def _measure(self) -> int:
        pids = (pid for runner in tuple(self._scripted) for pid in runner.processes())
        self._other_processes_bytes = self._other_processes.used_bytes(pids)
        return self._gauge.used_bytes() + self._other_processes_bytes

    def _count_seconds(self) -> float:
        return self._cpu_time.seconds([runner.processes() for runner in tuple(self._scripted)])

    def _measure_after_trim(self) -> int:
        self._settling = None  # a caller that comes from now on may have freed memory that this does not see
        self._give_back()
        return self._measure()


def _process_bytes(runner: Runner) -> int:
    """The memory of the runner's own processes."""
    return sum(map(uss_bytes, runner.processes()))


def _import_all(step: Step, modules: Sequence[str]) -> None:
    reach(step)
    for module in modules:
        import_module(module)


def _read_and_measure(found: Recognised, conventions: Conventions, gauge: MemoryGauge) -> tuple[ServableModel, int]:
    """The model, and the bytes by which the process has grown meanwhile."""
    grown = gauge.grown(found.format.by_malloc)
    return _read(found, conventions), grown()


def _read(found: Recognised, conventions: Conventions) -> ServableModel:
    try:
        with machine_faults():
            model = found.format.load(found.path, conventions)
        if conventions.inference_output and model.format != XGBOOST:
            raise LoadFailed(
                f"SAGEMAKER_INFERENCE_OUTPUT is set, which selects the output of XGBoost models, and {found.path.name} "
                f"is a {model.format} model: unset it"
            )
        return model
    except LoadFailed as error:
        if error.__cause__ is not None and no_memory(error.__cause__):
            raise NoMemoryNow(f"out of memory while loading {found.path.name}") from error
        raise
    except ContainerError:
        raise
    except MemoryError as error:
        raise NoMemoryNow(f"out of memory while loading {found.path.name}") from error
    except BaseException as error:  # a pickle runs foreign code as it loads, which may raise anything, even SystemExit
        raise LoadFailed(f"{found.path.name} failed to load: {type(error).__name__}: {error}") from error


def _size_bytes(directory: str | Path) -> int:
    """The bytes of all files in a folder and below it."""
    size_bytes = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_file():
                size_bytes += entry.stat().st_size
            elif entry.is_dir(follow_symlinks=False):
                size_bytes += _size_bytes(entry.path)
    return size_bytes
