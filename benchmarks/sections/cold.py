"""The first call to a model that is not loaded: from S3, from the disk tier, beside peers and the steps alone.

The targets take turns, call by call. Times are the caller's, on a connection that is there already.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import xgboost

from benchmarks.bare import unpack
from benchmarks.caller import Caller, steps_ms
from benchmarks.live import Live, live
from benchmarks.measure import Figures, Target, WrongAnswer, going_on, spread, stopped
from benchmarks.own_answers import is_right, make_models
from benchmarks.peers import all as peers
from benchmarks.peers.peer import Peer, running
from benchmarks.prefixes import link_many, names
from benchmarks.scene import ROW
from benchmarks.sizes import Sizes

FIRST, LATER, OTHER = "first", "later", "other"
EMPTIED_WITHIN_S = 60.0
POLL_S = 0.1


@dataclass(frozen=True)
class Called:
    """One first call: how long it took in all, and the steps that the server tells of."""

    took_ms: float
    steps_ms: dict[str, float]


@dataclass(frozen=True)
class Cold:
    """Something that can be called for the first time: it answers what that took."""

    name: str
    call: Callable[[str], Called]
    stoppable: tuple[Target, ...] = ()


def rows(folder: Path, sizes: Sizes) -> list[Figures]:
    ((model, answer),) = make_models(folder / "one", 1).items()
    artifact = folder / "one" / model
    first, later, others = (
        names(prefix, number)
        for prefix, number in ((FIRST, sizes.cold_calls), (LATER, sizes.cold_calls), (OTHER, sizes.cold_others))
    )
    some = others[: sizes.cold_others_peers]
    with ExitStack() as stack:
        torpor = stack.enter_context(live())
        link_many(artifact, torpor.folder, [*first, *later, *others])
        torpor.deploy(TORPOR_MEMORY_MIB=8192)
        colds = [_of_torpor(torpor, answer), _steps_alone(artifact, folder / "alone", answer)]
        wanted = _that_load(peers.present(sizes.peers))
        files = _files(artifact, folder, [*first, *later, *some]) if wanted else folder
        for peer in wanted:
            colds.append(stack.enter_context(_of_peer(peer, files, [*first, *later, *some], folder, answer)))
        found = _rows("never loaded, few others", _first_calls(colds, first[1:]), 0, 0)
        torpor.load(others)
        for cold in colds[2:]:
            for name in some:
                cold.call(name)
        found += _rows("never loaded, many others", _first_calls(colds, later), len(others), len(some))
    return [*found, *_from_disk(artifact, answer, sizes)]


def _first_calls(colds: Sequence[Cold], models: Sequence[str]) -> dict[str, list[Called]]:
    seen: dict[str, list[Called]] = {cold.name: [] for cold in colds}
    stoppable = [target for cold in colds for target in cold.stoppable]
    with stopped(stoppable):
        for model in models:
            for cold in colds:
                with ExitStack() as stack:
                    for target in cold.stoppable:
                        stack.enter_context(going_on(target))
                    seen[cold.name].append(cold.call(model))
    return seen


def _rows(what: str, seen: dict[str, list[Called]], others: int, others_peers: int) -> list[Figures]:
    return [
        {
            "what": what,
            "target": name,
            "others_loaded": {"Torpor": others, "the steps alone": 0}.get(name, others_peers),
            "calls": len(calls),
            **spread("ms", [call.took_ms for call in calls]),
            "max_ms": max(call.took_ms for call in calls),
            **_steps(calls),
        }
        for name, calls in seen.items()
    ]


def _steps(calls: Sequence[Called]) -> Figures:
    told = dict.fromkeys(step for call in calls for step in call.steps_ms)
    return {f"{step}_ms": median(call.steps_ms.get(step, 0.0) for call in calls) for step in told}


# -- who is called -----------------------------------------------------------------------------------------------------
def _of_torpor(torpor: Live, answer: float) -> Cold:
    def call(model: str) -> Called:
        return asyncio.run(_timed(torpor.address[1], [torpor.request(model)], lambda body: is_right(body, answer)))

    return Cold("Torpor", call)


@contextmanager
def _of_peer(peer: Peer, models: Path, every: Sequence[str], folder: Path, answer: float) -> Iterator[Cold]:
    """Its models are files in a folder: nothing is downloaded, nothing unpacked."""
    place = peers.site(peer, models, every, folder)
    with running(peer, place, {every[0]: answer}) as target:

        def call(model: str) -> Called:
            sent = [*(peer.bring(model) or ()), peer.request(model)]
            return asyncio.run(_timed(place.port, sent, lambda body: is_right(b"%r" % peer.said(body), answer)))

        yield Cold(peer.name, call, (target,))


def _steps_alone(artifact: Path, folder: Path, answer: float) -> Cold:
    """Unpack, load and predict in this process, with nothing around them: the floor of a cold call."""
    folder.mkdir()

    def call(model: str) -> Called:
        began_s = time.perf_counter()
        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(unpack(artifact, folder / model))
        row = np.array(ROW.split(b","), np.float32).reshape(1, -1)
        said = float(booster.inplace_predict(row)[0])
        took_ms = 1000 * (time.perf_counter() - began_s)
        shutil.rmtree(folder / model)
        if not is_right(b"%r" % said, answer):
            raise WrongAnswer(f"the booster says {said}, not {answer}")
        return Called(took_ms, {})

    return Cold("the steps alone", call)


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


# -- from the disk tier ------------------------------------------------------------------------------------------------
def _from_disk(artifact: Path, answer: float, sizes: Sizes) -> list[Figures]:
    """Models that left memory because nobody called them for a second, and are still unpacked on disk."""
    models = names("disk", sizes.cold_calls)
    with live() as torpor:
        link_many(artifact, torpor.folder, models)
        torpor.deploy(TORPOR_MEMORY_MIB=8192, TORPOR_MODEL_IDLE_SECONDS=1)
        torpor.load(models)
        _until_empty(torpor)
        calls = _first_calls([_of_torpor(torpor, answer)], models)
    if any("download" in call.steps_ms for call in calls["Torpor"]):
        raise RuntimeError("a model was fetched that should have been on disk")
    return _rows("unpacked on disk", calls, 0, 0)


def _until_empty(torpor: Live) -> None:
    deadline_s = time.monotonic() + EMPTIED_WITHIN_S
    while torpor.resident():
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"after {EMPTIED_WITHIN_S:g} s there are still {torpor.resident()} models in memory")
        time.sleep(POLL_S)
