"""The first call to a model that is not loaded: from S3, from the disk tier, beside peers and the steps alone.

The targets take turns, call by call. Times are the caller's, on a connection that is there already; processor time is
that of all processes of a target, from a moment before each call to a moment after it.
"""

import asyncio
import io
import os
import signal
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import xgboost

from benchmarks.caller import Caller, steps_ms
from benchmarks.live import Live, Serve
from benchmarks.measure import Figures, Target, WrongAnswer, going_on, spread, stopped
from benchmarks.own_answers import is_right, make_models
from benchmarks.peers import all as peers
from benchmarks.peers.peer import Peer, running
from benchmarks.prefixes import link_many, names
from benchmarks.scene import ROW, cpu_s
from benchmarks.sizes import Sizes

OTHER = "other"
ALONE = "the steps alone"
FROM_S3, FROM_DISK, FROM_FILE = "S3", "disk tier", "a file"
REPLACED_WITHIN_S = 60.0
PAUSE_S = 0.01
"""What a load leaves to do is part of what it costs, so there is a moment to end it."""


@dataclass(frozen=True)
class Called:
    """One first call: how long it took in all, the processor time, and the steps that the server tells of."""

    took_ms: float
    steps_ms: dict[str, float]
    cpu_ms: float = 0.0


@dataclass(frozen=True)
class Cold:
    """Something that can be called for the first time: it answers what that took."""

    name: str
    call: Callable[[str], Called]
    pids: Callable[[], list[int]]  # whose processor time counts
    source: str  # where its models come from
    others_max: int | None = None  # it has no more of the others; None is all of them
    stoppable: tuple[Target, ...] = ()


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    ((model, answer),) = make_models(folder / "one", 1).items()
    artifact = folder / "one" / model
    measured = {others: names(f"beside-{others}", sizes.cold_calls) for others in sizes.cold_others}
    others = names(OTHER, max(sizes.cold_others))
    with ExitStack() as stack:
        torpor = stack.enter_context(live())
        every = [*(name for some in measured.values() for name in some), *others]
        link_many(artifact, torpor.folder, every)
        torpor.deploy(TORPOR_MEMORY_MIB=8192)
        colds = [_of_torpor(torpor, answer), _steps_alone(artifact, answer)]
        wanted = _that_load(peers.present(sizes.peers))
        theirs = [*names("started-with", 1), *every[: len(every) - len(others) + sizes.cold_others_peers]]
        files = _files(artifact, folder, theirs) if wanted else folder
        for peer in wanted:
            of_peer = stack.enter_context(_of_peer(peer, files, theirs, folder, answer))
            colds.append(replace(of_peer, others_max=sizes.cold_others_peers))
        found = _beside_others(colds, torpor, measured, others)
        _end_instance(torpor)
        return found + _beside_others([replace(colds[0], source=FROM_DISK)], torpor, measured, others)


def _beside_others(
    colds: Sequence[Cold], torpor: Live, measured: Mapping[int, Sequence[str]], others: Sequence[str]
) -> list[Figures]:
    """First calls to some models, with ever more of the others loaded before."""
    found: list[Figures] = []
    loaded = 0
    for count, models in measured.items():
        torpor.load(others[loaded:count])
        for cold in colds:
            for name in others[loaded : min(count, cold.others_max or 0)]:
                cold.call(name)
        loaded = count
        os.sync()  # what was just unpacked is written: it is models in memory whose number is to tell, not a busy disk
        seen = _first_calls(colds, models)
        found += [_row(cold, count, seen[cold.name]) for cold in colds]
    return found


def _first_calls(colds: Sequence[Cold], models: Sequence[str]) -> dict[str, list[Called]]:
    seen: dict[str, list[Called]] = {cold.name: [] for cold in colds}
    stoppable = [target for cold in colds for target in cold.stoppable]
    with stopped(stoppable):
        for model in models:
            for cold in colds:
                with ExitStack() as stack:
                    for target in cold.stoppable:
                        stack.enter_context(going_on(target))
                    seen[cold.name].append(_first_call(cold, model))
    return seen


def _first_call(cold: Cold, model: str) -> Called:
    time.sleep(PAUSE_S)
    before_s = cpu_s(cold.pids())
    called = cold.call(model)
    time.sleep(PAUSE_S)
    if cold.source == FROM_DISK and "download" in called.steps_ms:
        raise RuntimeError(f"{model} was fetched, and should have been on disk")
    return replace(called, cpu_ms=1000 * (cpu_s(cold.pids()) - before_s))


def _row(cold: Cold, others: int, calls: Sequence[Called]) -> Figures:
    return {
        "from": cold.source,
        "target": cold.name,
        "others_loaded": others if cold.others_max is None else min(others, cold.others_max),
        "calls": len(calls),
        **spread("ms", [call.took_ms for call in calls]),
        "max_ms": max(call.took_ms for call in calls),
        **spread("cpu_ms", [call.cpu_ms for call in calls]),
        **_steps(calls),
    }


def _steps(calls: Sequence[Called]) -> Figures:
    told = dict.fromkeys(step for call in calls for step in call.steps_ms)
    return {f"{step}_ms": median(call.steps_ms.get(step, 0.0) for call in calls) for step in told}


def _end_instance(torpor: Live) -> None:
    """Kill it: the one that follows finds its disk, and nothing in memory."""
    (before,) = torpor.instances()
    os.kill(before, signal.SIGKILL)
    deadline_s = time.monotonic() + REPLACED_WITHIN_S
    while torpor.instances() in ([], [before]):
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"after {REPLACED_WITHIN_S:g} s no instance has followed the one that was killed")
        time.sleep(PAUSE_S)


# -- targets ----------------------------------------------------------------------------------------------------------
def _of_torpor(torpor: Live, answer: float) -> Cold:
    def call(model: str) -> Called:
        return asyncio.run(_timed(torpor.address[1], [torpor.request(model)], lambda body: is_right(body, answer)))

    return Cold("Torpor", call, torpor.pids, FROM_S3)


@contextmanager
def _of_peer(peer: Peer, models: Path, every: Sequence[str], folder: Path, answer: float) -> Iterator[Cold]:
    """Its models are files in a folder: nothing is downloaded, nothing unpacked."""
    place = peers.site(peer, models, every, folder)
    with running(peer, place, {every[0]: answer}) as target:

        def call(model: str) -> Called:
            sent = [*(peer.bring(model) or ()), peer.request(model)]
            return asyncio.run(_timed(place.port, sent, lambda body: is_right(b"%r" % peer.said(body), answer)))

        yield Cold(peer.name, call, target.pids, FROM_FILE, stoppable=(target,))


def _steps_alone(artifact: Path, answer: float) -> Cold:
    """Read, unpack, load and predict in this process, with nothing around them: the floor of a cold call. Nothing is
    written to disk, and the model is the same one each time."""

    def call(_: str) -> Called:
        steps = Steps()
        packed = artifact.read_bytes()
        steps.ended("download")
        model = _untarred(packed)
        steps.ended("unpack")
        booster = xgboost.Booster({"nthread": 1})
        with xgboost.config_context(nthread=1):  # as in an instance: threads would wait for one another
            booster.load_model(bytearray(model))
        steps.ended("load")
        said = float(booster.inplace_predict(np.array(ROW.split(b","), np.float32).reshape(1, -1))[0])
        steps.ended("predict")
        if not is_right(b"%r" % said, answer):
            raise WrongAnswer(f"the booster says {said}, not {answer}")
        return Called(sum(steps.taken_ms.values()), steps.taken_ms)

    return Cold(ALONE, call, lambda: [os.getpid()], FROM_FILE, others_max=0)


def _untarred(packed: bytes) -> bytes:
    """The one file of an artifact."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        (member,) = archive.getmembers()
        content = archive.extractfile(member)
        return content.read() if content else b""


class Steps:
    """How long each of several steps took that follow one another, in milliseconds."""

    def __init__(self) -> None:
        self.taken_ms: dict[str, float] = {}
        self._began_s = time.perf_counter()

    def ended(self, step: str) -> None:
        now_s = time.perf_counter()
        self.taken_ms[step] = 1000 * (now_s - self._began_s)
        self._began_s = now_s


async def _timed(port: int, sent: Sequence[bytes], right: Callable[[bytes], bool]) -> Called:
    caller = await Caller.connected(port)
    answers = [await caller.call(message) for message in sent]
    await caller.close()
    if answers[-1].status != 200 or not right(answers[-1].body):
        raise WrongAnswer(f"{answers[-1].status} {answers[-1].body[:300]!r}")
    took_ms = 1000 * (answers[-1].ended_s - answers[0].sent_s)
    return Called(took_ms, steps_ms(answers[-1].headers.get("server-timing", "")))


def _that_load(present: Sequence[Peer]) -> list[Peer]:
    """The first of each kind that can load a model once it runs."""
    kinds = {peer.environment: peer for peer in reversed(present)}
    return [peer for peer in kinds.values() if peer.bring("any") is not None]


def _files(artifact: Path, folder: Path, every: Sequence[str]) -> Path:
    files = peers.unpacked(artifact.parent, [artifact.name], folder)
    (only,) = files.iterdir()
    for name in every:
        (files / name.replace(".tar.gz", ".ubj")).hardlink_to(only)
    return files
