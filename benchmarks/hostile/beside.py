"""Calls hostile models one after the other while another caller calls a good one, and watches the instance's memory."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.caller import Answer, Caller, invocation
from benchmarks.hostile.files import Hostile
from benchmarks.live import NAME, Live
from benchmarks.own_answers import is_right
from benchmarks.scene import ROW
from torpor_container.processes.memory import uss_bytes

GOOD_EVERY_S = 0.02
LOOK_EVERY_S = 0.05
CALLS_EACH = 2
"""Each model is called twice: the second call is for a version that was already tried."""
WITHIN_S = 30.0
REFUSED_ARCHIVE = b"cannot be used"
"""What the endpoint says, with 400, of a file that is no sound archive."""


@dataclass
class Seen:
    """The answers to the callers, and the memory of the instance and its trials. Times in seconds, sizes in bytes."""

    statuses: Counter[int] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)  # answers that are neither a prediction nor the model's error
    told: dict[str, str] = field(default_factory=dict)  # the last answer by model
    slowest_s: float = 0.0
    good_s: list[float] = field(default_factory=list)
    good_failed: list[str] = field(default_factory=list)
    instance_bytes: int = 0  # the most that the instance took
    all_bytes: int = 0  # the same, its trials included
    incarnations: set[str] = field(default_factory=set)


def put(live: Live, files: Sequence[Hostile]) -> list[str]:
    """Write the files as artifacts below the prefix. Returns their names."""
    names = [f"hostile-{number:03}.tar.gz" for number in range(len(files))]
    for name, file in zip(names, files, strict=True):
        (live.folder / name).write_bytes(file.archive())
    return names


async def call_beside(live: Live, hostile: Sequence[str], good: str, answer: float) -> Seen:
    """One caller calls each hostile model in turn; another one calls the good model all the time."""
    seen = Seen()
    watching = [asyncio.create_task(_call_good(live, good, answer, seen)), asyncio.create_task(_look(live, seen))]
    try:
        await _call_hostile(live, hostile, seen)
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
    return seen


async def _call_hostile(live: Live, models: Sequence[str], seen: Seen) -> None:
    for model in models:
        for _ in range(CALLS_EACH):
            answered = await _called(live, model)
            seen.statuses[answered.status] += 1
            seen.told[model] = answered.body.decode(errors="replace")
            seen.slowest_s = max(seen.slowest_s, answered.ended_s - answered.sent_s)
            if answered.status not in (200, 424) and not (answered.status == 400 and REFUSED_ARCHIVE in answered.body):
                seen.odd.append(f"{model}: {answered.status} {answered.body[:200]!r}")


async def _call_good(live: Live, model: str, answer: float, seen: Seen) -> None:
    caller = await Caller.connected(live.address[1])
    while True:
        began_s = time.monotonic()
        try:
            told = await asyncio.wait_for(caller.call(invocation(NAME, model, ROW)), WITHIN_S)
            if told.status != 200 or not is_right(told.body, answer):
                seen.good_failed.append(f"{told.status} {told.body[:200]!r}")
        except (OSError, EOFError) as error:
            seen.good_failed.append(repr(error))
            caller = await Caller.connected(live.address[1])
        seen.good_s.append(time.monotonic() - began_s)
        await asyncio.sleep(GOOD_EVERY_S)


async def _look(live: Live, seen: Seen) -> None:
    while True:
        instance, trials, incarnations = await asyncio.to_thread(_looked, live)
        seen.instance_bytes = max(seen.instance_bytes, instance)
        seen.all_bytes = max(seen.all_bytes, instance + trials)
        seen.incarnations |= incarnations
        await asyncio.sleep(LOOK_EVERY_S)


def _looked(live: Live) -> tuple[int, int, set[str]]:
    """What the instance holds, what its trials hold, and which incarnation it is by the endpoint's own page: a process
    of trials has no name of its own yet in the moment in which it is forked."""
    served = {str(instance["id"]) for instance in live.seen()}
    return sum(map(uss_bytes, live.instances())), sum(map(uss_bytes, live.trials())), served


async def _called(live: Live, model: str) -> Answer:
    caller = await Caller.connected(live.address[1])
    try:
        return await asyncio.wait_for(caller.call(invocation(NAME, model, ROW)), WITHIN_S)
    finally:
        await caller.close()
