"""Permits to load a version of an artifact once its trial succeeded, and remembers the results of trials.

A version that ended its process, took too much memory or time, or has trees without an end is quarantined: no instance
of this machine loads its content again, under whatever name, until there is other software or, if memory was short,
more memory. If the trial got little processor time, it is tried again once the machine is quiet, or a minute later.
`torpor reload` has any version tried again that ended no instance.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from cachetools import FIFOCache

from torpor_container.core.trials import (
    End,
    TrialStep,
    Verdict,
    alone_bytes,
    fits_a_share,
    most_bytes,
    share_bytes,
    step,
)
from torpor_container.errors import (
    ContainerError,
    LoadFailed,
    NoMemoryNow,
    Quarantined,
    QuarantinedForMemory,
    StarvedTrial,
)
from torpor_container.frozen_class import frozen
from torpor_container.models.in_process.proved_contents import ProvedContent
from torpor_container.models.loader import Loaded, having_imported, having_waited
from torpor_container.processes.threads import on_thread
from torpor_container.running.runners import InProcess, Runner
from torpor_container.settings import Settings
from torpor_container.trials.trial_process import TrialCandidate, TrialEnd, Trials
from torpor_container.trials.verdicts import Verdicts
from torpor_container.waiting.quiet_time import is_quiet

KNOWN_MAX = 10_000
WRITTEN_WITHIN_S = 0.1
"""How long a good verdict waits for others, to be written with them."""
STARVED_FOR_S = 60.0
"""A version whose trial was starved is tried again after so long, also where the machine never becomes quiet."""
PROVED = frozenset({"xgboost", "lightgbm"})
"""Formats whose models run no code once they are loaded: a trial predicts while the instance loads the model."""
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Names of distributions that differ from the names of their modules."""

Load = Callable[[], Awaitable[Loaded]]


@frozen
class Version:
    """One version of an artifact: its model, and the verdict as it was read, under its key.

    Where contents cannot be told apart, the verdict is not `kept`: this instance remembers it as long as it lives.
    """

    candidate: TrialCandidate
    key: str
    kept: bool
    verdict: Verdict | None = None
    proved: ProvedContent | None = None
    """Its content, if the bytes alone show that no load of it does harm. Not looked at where there is a verdict."""


class TrialInFlight(NamedTuple):
    """A trial that is not over. `loaded` is done once it has loaded the model, if it does."""

    loaded: "asyncio.Future[None]"
    over: "asyncio.Task[TrialEnd]"


class Quarantine:
    """Tries new versions before one instance loads them."""

    def __init__(
        self,
        trials: Trials,
        verdicts: Verdicts,
        free_bytes: Callable[[], int],
        unload: Callable[[Runner], Awaitable[object]],
        is_quiet: Callable[[], bool] = is_quiet,
        starved_for_s: float = STARVED_FOR_S,
    ) -> None:
        """`free_bytes` counts the instance's free memory. `unload` drops a loaded model that must not be used.
        `is_quiet` says whether a process gets a processor now; a starved version is tried again after `starved_for_s`
        even if none does."""
        self._trials = trials
        self._verdicts = verdicts
        self._is_quiet = is_quiet
        self._starved_for_s = starved_for_s
        self._starved_at_s: FIFOCache[str, float] = FIFOCache(KNOWN_MAX)
        self._free_bytes = free_bytes
        self._unload = unload
        self._known: FIFOCache[str, Verdict] = FIFOCache(KNOWN_MAX)
        self._trying: dict[str, TrialInFlight] = {}
        self._unwritten: dict[str, Verdict] = {}
        self._closing = asyncio.Event()
        self._background: set[asyncio.Task[Any]] = set()

    async def passed(self, tried: Version, load: Load) -> Load:
        """Try the version if need be, and return how to load it. Raises Quarantined, and what a load would raise."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        verdict = tried.verdict or self._known.get(tried.key)
        quiet = verdict is not None and verdict.starved and self._may_be_over(tried.key)
        match step(verdict, most_bytes(budget_bytes, disk_bytes), quiet):
            case TrialStep.TRUST:
                assert verdict is not None
                return partial(_load_at_pace, load, verdict)
            case TrialStep.REFUSE:
                assert verdict is not None
                raise _refusal(verdict)
        if not fits_a_share(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        if tried.proved is not None:
            return partial(self._load_sound, tried, load)
        trial = self._trying.get(tried.key) or self._begin_trial(tried)
        if tried.candidate.format in PROVED and not trial.over.done():
            either: set[asyncio.Future[Any]] = {trial.over, trial.loaded}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not trial.over.done():
                return partial(self._load_and_await_trial, tried, load, trial.over)
        return await self._after_trial(tried, load, await asyncio.shield(trial.over))

    async def close(self) -> None:
        self._closing.set()
        await self._trials.close()
        await asyncio.gather(*self._background, return_exceptions=True)

    # -- inside ----------------------------------------------------------------------------------------------------
    def _begin_trial(self, tried: Version) -> "TrialInFlight":
        """Try a version with a share of the memory. All that have the same content wait for this one trial."""
        loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        over = asyncio.create_task(self._trials.share(tried.candidate, partial(_tell, loaded)))
        self._trying[tried.key] = trial = TrialInFlight(loaded, over)
        self._keep(over)
        over.add_done_callback(lambda _: self._trying.pop(tried.key))
        return trial

    async def _load_sound(self, tried: Version, load: Load) -> Loaded:
        """Load what needs no trial. The load finds out what a row takes."""
        loaded = await load()
        self._passed(tried, loaded, loaded.predicted_s)
        return loaded

    async def _load_and_await_trial(self, tried: Version, load: Load, trial: "asyncio.Task[TrialEnd]") -> Loaded:
        """Load what the trial has loaded and still checks: a load that ends a process has done so there."""
        loaded = await load()
        async with AsyncExitStack() as unless_good:
            unless_good.push_async_callback(self._unload, loaded.runner)
            began_s = monotonic()
            ended = await asyncio.shield(trial)
            if ended.end is End.GOOD:
                unless_good.pop_all()
                self._passed(tried, loaded, ended.predicted_s)
                return having_imported(having_waited(loaded, monotonic() - began_s), ended.imports_s)
        return await (await self._after_trial(tried, load, ended))()

    async def _after_trial(self, tried: Version, load: Load, ended: TrialEnd) -> Load:
        """How to load it after a trial with a share of the memory."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        if ended.end is End.EXCEEDED and share_bytes(budget_bytes) < most_bytes(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        await self._check(tried, ended)
        return partial(self._load, tried, load, ended)

    def expect(self) -> None:
        """Prepare for a trial: nothing on this disk has been tried."""
        self._trials.expect()

    async def _load_after_trial(self, tried: Version, load: Load) -> Loaded:
        """Try it with all free memory, and load it then."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        limit_bytes = alone_bytes(budget_bytes, disk_bytes, self._free_bytes())
        began_s = monotonic()
        ended = await self._trials.alone(tried.candidate, limit_bytes)
        waited_s = monotonic() - began_s
        if ended.end is End.EXCEEDED and limit_bytes < most_bytes(budget_bytes, disk_bytes):
            raise NoMemoryNow(f"{ended.how}, and no more memory is free now")
        await self._check(tried, ended)
        return having_waited(await self._load(tried, load, ended), waited_s - ended.imports_s)

    async def _load(self, tried: Version, load: Load, ended: TrialEnd) -> Loaded:
        """Load it, and record success only then: a version that ends the instance all the same is tried again."""
        loaded = await load()
        self._passed(tried, loaded, ended.predicted_s)
        return having_imported(loaded, ended.imports_s)

    async def _check(self, tried: Version, ended: TrialEnd) -> None:
        """Raise the error of a trial that failed. One that passed is not repeated by this instance; the machine knows
        it once the instance has loaded the model too."""
        if ended.end is End.GOOD:
            self._known[tried.key] = Verdict(predicted_s=ended.predicted_s)
            return
        if ended.end is End.REFUSED:
            raise ended.error or LoadFailed(ended.how)
        limit_bytes = most_bytes(self._trials.budget_bytes, tried.candidate.disk_bytes)
        limit_bytes = limit_bytes if ended.end is End.EXCEEDED else 0
        verdict = Verdict(ended.how, limit_bytes, starved=ended.starved)
        if ended.starved:
            self._starved_at_s[tried.key] = monotonic()
        if tried.kept:
            await on_thread(self._verdicts.write, tried.key, verdict)
        else:
            self._known[tried.key] = verdict
        raise _refusal(verdict)

    def _may_be_over(self, key: str) -> bool:
        """Whether a version whose trial was starved may get a processor now."""
        starved_at_s = self._starved_at_s.get(key)
        return starved_at_s is None or monotonic() - starved_at_s >= self._starved_for_s or self._is_quiet()

    def _passed(self, tried: Version, loaded: Loaded, predicted_s: float) -> None:
        """Keep a good verdict. It is written a little later, with others, while no request waits for it: a kill before
        that loses it, and has the content tried again."""
        verdict = self._known[tried.key] = Verdict(predicted_s=predicted_s)
        _expect(loaded, predicted_s)
        if tried.kept and not self._unwritten:
            self._keep(asyncio.create_task(self._write_soon()))
        if tried.kept:
            self._unwritten[tried.key] = verdict

    async def _write_soon(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), WRITTEN_WITHIN_S)
        written, self._unwritten = self._unwritten, {}
        await on_thread(self._verdicts.write_all, written)

    def _keep(self, task: "asyncio.Task[Any]") -> None:
        self._background.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled():
            task.exception()  # mark it as seen, since asyncio logs exceptions that no task awaits


async def _load_at_pace(load: Load, verdict: Verdict) -> Loaded:
    loaded = await load()
    _expect(loaded, verdict.predicted_s)
    return loaded


def _expect(loaded: Loaded, predicted_s: float) -> None:
    if isinstance(loaded.runner, InProcess):  # only these are tried
        loaded.runner.expect(predicted_s)


def _tell(loaded: "asyncio.Future[None]") -> None:
    """A trial that is repeated in a new process loads the model twice."""
    if not loaded.done():
        loaded.set_result(None)


def _refusal(verdict: Verdict) -> ContainerError:
    if verdict.starved:
        return StarvedTrial.because(verdict.reason)
    if verdict.limit_bytes:
        return QuarantinedForMemory.because(verdict.reason)
    return Quarantined.because(verdict.reason, final=verdict.deaths > 0)


def verdicts_of(settings: Settings) -> Verdicts:
    """The verdicts that an instance shares with the others of its machine, or its own."""
    return Verdicts(Path(settings.verdicts_folder or f"{settings.base_dir}/verdicts"))


def mark_of(file: Path) -> str:
    """Identifies a file as it is now: a file that replaces it has another mark. Raises OSError."""
    stat = file.stat()
    return f"{file}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}"


@cache
def software_of(frameworks: tuple[str, ...]) -> str:
    """The packages that read a format, with their versions: a verdict holds for these alone."""
    packages = dict.fromkeys(name.partition(".")[0] for name in frameworks)
    return " ".join(f"{package} {_version(package)}" for package in packages)


def _version(module: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(module, module))
    except PackageNotFoundError:
        return ""
