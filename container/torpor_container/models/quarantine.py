"""Lets a version of an artifact be loaded once a trial of it has ended well, and remembers how trials ended.

A version that ended its process, took too much memory or time, or whose trees do not end is quarantined: nobody loads
it again, on this disk, until there is another version, other software, or more memory where that was what it lacked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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
from torpor_container.errors import ContainerError, LoadFailed, NoMemoryNow, Quarantined, QuarantinedForMemory
from torpor_container.models.loader import Loaded
from torpor_container.running.runners import Runner
from torpor_container.trials import verdicts
from torpor_container.trials.trial_process import TrialCandidate, TrialEnd, Trials

KNOWN_MAX = 10_000
PROVED = frozenset({"xgboost"})
"""Formats whose models, once loaded, do nothing by themselves: what predicting comes to is proved beside the load."""
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""By module, where a package is called otherwise."""

Load = Callable[[], Awaitable[Loaded]]


@dataclass(frozen=True)
class Version:
    """One version of an artifact: its model, what reads it, and where its verdict is kept.

    Without a `record` it is known by `mark`, as long as this instance lives.
    """

    candidate: TrialCandidate
    software: str
    record: Path | None
    mark: str
    verdict: Verdict | None  # as the record has it


class Quarantine:
    """Of one instance. `free_bytes` tells how much of its memory nobody uses now."""

    def __init__(
        self, trials: Trials, free_bytes: Callable[[], int], unload: Callable[[Runner], Awaitable[object]]
    ) -> None:
        """`unload` lets go of what was loaded, and is not to be used."""
        self._trials = trials
        self._free_bytes = free_bytes
        self._unload = unload
        self._known: FIFOCache[str, Verdict] = FIFOCache(KNOWN_MAX)
        self._going_on: set[asyncio.Task[Any]] = set()

    async def passed(self, tried: Version, load: Load) -> Load:
        """How to load it. Raises Quarantined, and what the load would raise."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        verdict = tried.verdict or self._known.get(tried.mark)
        match step(verdict, tried.software, most_bytes(budget_bytes, disk_bytes)):
            case TrialStep.TRUST:
                return load
            case TrialStep.REFUSE:
                assert verdict is not None
                raise _refusal(verdict)
        if not fits_a_share(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        if tried.candidate.format in PROVED:
            return await self._beside(tried, load)
        return await self._then(tried, load, await self._trials.share(tried.candidate))

    async def close(self) -> None:
        await self._trials.close()
        await asyncio.gather(*self._going_on, return_exceptions=True)

    # -- inside ----------------------------------------------------------------------------------------------------
    async def _beside(self, tried: Version, load: Load) -> Load:
        """Once it has been loaded in the trial, the instance may load it too: what ends it does so there."""
        loaded = asyncio.Event()
        trial = asyncio.create_task(self._trials.share(tried.candidate, loaded.set))
        self._goes_on(trial)
        hearing = asyncio.create_task(loaded.wait())
        try:
            await asyncio.wait({trial, hearing}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            trial.cancel()
            raise
        finally:
            hearing.cancel()
        if trial.done():
            return await self._then(tried, load, trial.result())
        return partial(self._load_beside, tried, load, trial)

    async def _load_beside(self, tried: Version, load: Load, trial: "asyncio.Task[TrialEnd]") -> Loaded:
        loaded = await load()
        async with AsyncExitStack() as unless_good:
            unless_good.push_async_callback(self._unload, loaded.runner)
            ended = await asyncio.shield(trial)
            if ended.end is End.GOOD:
                unless_good.pop_all()
                self._note(tried, Verdict("", tried.software))
                return loaded
        return await (await self._then(tried, load, ended))()

    async def _then(self, tried: Version, load: Load, ended: TrialEnd) -> Load:
        """How it is loaded after a trial with a share."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        if ended.end is End.EXCEEDED and share_bytes(budget_bytes) < most_bytes(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        await self._judged(tried, ended)
        return partial(self._load, tried, load)

    def expect(self) -> None:
        """Nothing on this disk has been tried."""
        self._trials.expect()

    async def _load_after_trial(self, tried: Version, load: Load) -> Loaded:
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        limit_bytes = alone_bytes(budget_bytes, disk_bytes, self._free_bytes())
        ended = await self._trials.alone(tried.candidate, limit_bytes)
        if ended.end is End.EXCEEDED and limit_bytes < most_bytes(budget_bytes, disk_bytes):
            raise NoMemoryNow(f"{ended.how}, and no more is free now")
        await self._judged(tried, ended)
        return await self._load(tried, load)

    async def _load(self, tried: Version, load: Load) -> Loaded:
        """It is good once this instance has it: one that ends the instance all the same is tried again."""
        loaded = await load()
        self._note(tried, Verdict("", tried.software))
        return loaded

    async def _judged(self, tried: Version, ended: TrialEnd) -> None:
        """Raises what a trial that did not end well comes to."""
        if ended.end is End.GOOD:
            return
        if ended.end is End.REFUSED:
            raise ended.error or LoadFailed(ended.how)
        limit_bytes = most_bytes(self._trials.budget_bytes, tried.candidate.disk_bytes)
        verdict = Verdict(ended.how, tried.software, limit_bytes if ended.end is End.EXCEEDED else 0)
        await self._note(tried, verdict)
        raise _refusal(verdict)

    def _note(self, tried: Version, verdict: Verdict) -> "asyncio.Task[None]":
        """It is written beside whatever goes on."""
        if tried.record is None:
            self._known[tried.mark] = verdict
        writing = asyncio.create_task(_written(tried.record, verdict))
        self._goes_on(writing)
        return writing

    def _goes_on(self, task: "asyncio.Task[Any]") -> None:
        self._going_on.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[Any]") -> None:
        self._going_on.discard(task)
        if not task.cancelled():
            task.exception()  # its exception counts as seen, also if nothing waits for it any more


def _refusal(verdict: Verdict) -> ContainerError:
    kind = QuarantinedForMemory if verdict.limit_bytes else Quarantined
    return kind.because(verdict.reason)


async def _written(record: Path | None, verdict: Verdict) -> None:
    if record is not None:
        await asyncio.to_thread(verdicts.write, record, verdict)


def mark_of(file: Path) -> str:
    """Tells a file from the one that takes its place. Raises OSError."""
    seen = file.stat()
    return f"{file}:{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}"


@cache
def software_of(frameworks: tuple[str, ...]) -> str:
    """What reads a format, with its versions: a verdict holds for it alone."""
    packages = dict.fromkeys(name.partition(".")[0] for name in frameworks)
    return " ".join(f"{package} {_version(package)}" for package in packages)


def _version(module: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(module, module))
    except PackageNotFoundError:
        return ""
