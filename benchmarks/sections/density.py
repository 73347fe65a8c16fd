"""Many small models in one endpoint of four instances: their memory, hits and first calls, beside bare boosters.

Each model is called twice, and each of its answers is compared with that of XGBoost itself.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import xgboost

from benchmarks import many_boosters
from benchmarks.caller import Answer, Caller
from benchmarks.live import Live, Serve
from benchmarks.measure import Figures, WrongAnswer
from benchmarks.memory import own_mib, share_mib
from benchmarks.own_answers import is_right, said
from benchmarks.peers import all as peers
from benchmarks.peers.peer import running
from benchmarks.prefixes import names
from benchmarks.sizes import Sizes

INSTANCES = 4
CALLERS = 4
FIRST_CALLS = 40
"""So many first calls are made one at a time, once all other models are loaded: their times are the caller's."""
BARE_MAX, PEER_MAX = 1_000, 100
"""More boosters in a bare process, or in MLServer, take as much memory each."""
COLD = "x-torpor-cold"
KIB = 1024
FOLLOWED_WITHIN_S = 120.0
NO_MORE_S = 60.0
TRIALS_END_WITHIN_S = 180.0
POLL_S = 0.1


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    """Also of other servers, in the same run."""
    models = names("booster", sizes.boosters)
    with live() as torpor:
        expected = _make(models, torpor.folder, folder / "bare")
        found = list(_of_torpor(torpor, expected))
    found += _bare(folder / "bare", min(BARE_MAX, len(models)))
    for peer in peers.present(sizes.peers):
        if peer.environment == "mlserver" and peer.name.endswith("in process"):
            some = dict(list(expected.items())[:PEER_MAX])
            place = peers.site(peer, folder / "bare", list(some), folder)
            with running(peer, place, dict(list(some.items())[:1])) as target:
                before_mib = own_mib(target.pids())
            place = peers.site(peer, folder / "bare", list(some), folder / "more")
            with running(peer, place, some) as target:
                each_kib = KIB * (own_mib(target.pids()) - before_mib) / (len(some) - 1)
            found.append(_row(f"private in {peer.name}", len(some), each_kib, "KiB each"))
    return found


def _row(what: str, models: int, value: float, unit: str) -> Figures:
    return {"what": what, "models": models, "value": value, "unit": unit}


def _make(models: Sequence[str], prefix: Path, bare: Path) -> dict[str, float]:
    """Write the artifacts, and those models that other programs serve as plain files. What each says to `scene.ROW`."""
    bare.mkdir()
    (bare.parent / "more").mkdir()
    expected: dict[str, float] = {}
    for name, content in zip(models, many_boosters.boosters(len(models)), strict=True):
        many_boosters.pack(content, prefix / name)
        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(content))
        expected[name] = said(booster)
        if len(expected) <= BARE_MAX:
            (bare / name.replace(".tar.gz", ".ubj")).write_bytes(content)
    return expected


def _of_torpor(torpor: Live, expected: Mapping[str, float]) -> Iterator[Figures]:
    torpor.deploy(INSTANCES, TORPOR_MEMORY_MIB=8192)
    models = list(expected)
    others, last = models[:-FIRST_CALLS], models[-FIRST_CALLS:]
    asyncio.run(_called(torpor, others[:INSTANCES], expected, 1))
    empty_mib = share_mib(torpor.pids())
    asyncio.run(_called(torpor, others, expected, CALLERS))
    first = asyncio.run(_called(torpor, last, expected, 1))
    yield _row("first call, from S3, p50", len(last), _p50_ms(first), "ms")
    again = asyncio.run(_called(torpor, models, expected, CALLERS))
    hits = sum(COLD not in answer.headers for answer in again)
    yield _row("hits of the second call", len(models), 100 * hits / len(models), "%")
    _until_mapped(torpor, len(models))
    yield from _memory(torpor, len(models), empty_mib)
    _end_instances(torpor)
    asyncio.run(_called(torpor, others[: FIRST_CALLS // 2], expected, 1))  # an instance's first load takes longer
    called = asyncio.run(_called(torpor, last, expected, 1))
    from_disk = [answer for answer in called if "download" not in answer.headers["server-timing"]]
    if len(from_disk) < len(called) / 2:
        raise RuntimeError(f"{len(called) - len(from_disk)} of {len(called)} models were fetched again")
    yield _row("first call, from the disk tier, p50", len(from_disk), _p50_ms(from_disk), "ms")


def _until_mapped(torpor: Live, models: int) -> None:
    """Wait until every model has a mapped form, or until none is made any more, as where there are none; and then for
    the processes that made and tried them, which end after a minute without work."""
    instances = torpor.folder.parents[2] / "instances"
    made, since_s = -1, time.monotonic()
    while made < models and time.monotonic() - since_s < NO_MORE_S:
        if (now_made := sum(1 for _ in instances.glob("*/*/mapped/*/files/*"))) != made:
            made, since_s = now_made, time.monotonic()
        time.sleep(1.0)
    time.sleep(2.0)  # the last models go over to it
    deadline_s = time.monotonic() + TRIALS_END_WITHIN_S
    while torpor.trials() and time.monotonic() < deadline_s:
        time.sleep(1.0)


def _memory(torpor: Live, models: int, empty_mib: float) -> Iterator[Figures]:
    instances, everyone = torpor.instances(), torpor.pids()
    together_mib = share_mib(everyone)
    yield _row("all processes of the endpoint, shared pages once", models, together_mib, "MiB")
    yield _row("of that, its instances", models, share_mib(instances), "MiB")
    yield _row("private to its instances", models, own_mib(instances), "MiB")
    yield _row("the machine's memory for one more model", models, KIB * (together_mib - empty_mib) / models, "KiB")


def _bare(files: Path, count: int) -> Iterator[Figures]:
    """The same boosters in a process with nothing else."""
    command = [sys.executable, "-m", "benchmarks.sections.density", str(files), str(count)]
    each_kib = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    yield _row("private in a bare process of XGBoost", count, each_kib, "KiB each")


async def _called(torpor: Live, models: Sequence[str], expected: Mapping[str, float], callers: int) -> list[Answer]:
    """Call each model once. Raises WrongAnswer."""

    async def share(part: Sequence[str]) -> list[Answer]:
        caller = await Caller.connected(torpor.address[1])
        answers = list[Answer]()
        for model in part:
            answers.append(answer := await caller.call(torpor.request(model)))
            if answer.status != 200 or not is_right(answer.body, expected[model]):
                raise WrongAnswer(f"{model}: {answer.status} {answer.body[:300]!r}, not {expected[model]}")
        await caller.close()
        return answers

    parts = [models[start::callers] for start in range(callers)]
    return [answer for part in await asyncio.gather(*map(share, parts)) for answer in part]


def _p50_ms(answers: Sequence[Answer]) -> float:
    return 1000 * median(answer.ended_s - answer.sent_s for answer in answers)


def _end_instances(torpor: Live) -> None:
    """Kill them: those that follow find their disks, and nothing in memory."""
    before = {instance["id"] for instance in torpor.seen()}
    for pid in torpor.instances():
        os.kill(pid, signal.SIGKILL)
    deadline_s = time.monotonic() + FOLLOWED_WITHIN_S
    while len([one for one in torpor.seen() if one["id"] not in before and one["budget_bytes"]]) < INSTANCES:
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"after {FOLLOWED_WITHIN_S:g} s not all instances have followed those that were killed")
        time.sleep(POLL_S)


def grown_kib(files: Path, count: int) -> float:
    """By how much this process grows with each booster, once it has called it."""
    kept = list[xgboost.Booster]()
    row = np.zeros((1, 6), np.float32)
    for number, file in enumerate(sorted(files.iterdir())[:count]):
        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(file.read_bytes()))
        booster.inplace_predict(row)
        kept.append(booster)
        if number == 0:
            before_mib = own_mib([os.getpid()])
    return KIB * (own_mib([os.getpid()]) - before_mib) / max(1, len(kept) - 1)


if __name__ == "__main__":
    print(json.dumps(grown_kib(Path(sys.argv[1]), int(sys.argv[2]))))
