"""Lets a version of an artifact be loaded once a trial of it has ended well, and remembers how trials ended.

A version that ended its process, took too much memory or time, or whose trees do not end is quarantined: nobody loads
it again, on this disk, until there is another version, other software, or more memory where that was what it lacked.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from torpor_container import verdicts
from torpor_container.core.trials import (
    End,
    Step,
    Verdict,
    alone_bytes,
    fits_a_share,
    most_bytes,
    share_bytes,
    step,
)
from torpor_container.errors import ContainerError, LoadFailed, NoMemoryNow, Quarantined, QuarantinedForMemory
from torpor_container.trials import Candidate, Ended, Trials
from torpor_container.workshop import Loaded

KNOWN_MAX = 10_000
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""By module, where a package is called otherwise."""

Load = Callable[[], Awaitable[Loaded]]


@dataclass(frozen=True)
class Version:
    """One version of an artifact: its model, what reads it, and where its verdict is kept.

    Without a `record` it is known by `mark`, as long as this instance lives.
    """

    candidate: Candidate
    software: str
    record: Path | None
    mark: str
    verdict: Verdict | None  # as the record has it


class Quarantine:
    """`free_bytes` tells how much of the instance's memory nobody uses now."""

    def __init__(self, trials: Trials, free_bytes: Callable[[], int]) -> None:
        self._trials = trials
        self._free_bytes = free_bytes
        self._known: OrderedDict[str, Verdict] = OrderedDict()
        self._writing: set[asyncio.Task[None]] = set()

    async def passed(self, tried: Version, load: Load) -> Load:
        """How to load it. Raises Quarantined, and what the load would raise."""
        budget_bytes, disk_bytes = self._trials.budget_bytes, tried.candidate.disk_bytes
        verdict = tried.verdict or self._known.get(tried.mark)
        match step(verdict, tried.software, most_bytes(budget_bytes, disk_bytes)):
            case Step.TRUST:
                return load
            case Step.REFUSE:
                assert verdict is not None
                raise _refusal(verdict)
        if not fits_a_share(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        ended = await self._trials.share(tried.candidate)
        if ended.end is End.EXCEEDED and share_bytes(budget_bytes) < most_bytes(budget_bytes, disk_bytes):
            return partial(self._load_after_trial, tried, load)
        await self._judged(tried, ended)
        return partial(self._load, tried, load)

    def expect(self) -> None:
        """Nothing on this disk has been tried."""
        self._trials.expect()

    async def close(self) -> None:
        await self._trials.close()
        await asyncio.gather(*self._writing, return_exceptions=True)

    # -- inside ----------------------------------------------------------------------------------------------------
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

    async def _judged(self, tried: Version, ended: Ended) -> None:
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
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        writing = asyncio.create_task(_written(tried.record, verdict))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return writing


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
