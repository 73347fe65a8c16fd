"""Measures targets in turns: rates, latencies and processor time, side by side. It asserts no time."""

import asyncio
import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks import client, scene
from benchmarks.own_answers import is_right, number_in

Figures = dict[str, str | int | float]
"""One row of a table."""
SETTLING = 0.4
"""The warm-up before a turn, as a share of its time: a peer that was stopped also catches up in it."""


@dataclass(frozen=True)
class Target:
    """A server to measure: its address, its requests with their right answers, and the processes whose time counts."""

    name: str
    where: client.Where
    requests: list[bytes]
    expected: list[float]
    pids: Callable[[], list[int]]
    said: Callable[[bytes], float] = number_in


@dataclass(frozen=True)
class Turn:
    """The measurements of one target in one turn."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # of all its processes, per request


class WrongAnswer(Exception):
    """A target's answer differs from the others', so they cannot be compared."""


def agree(targets: Sequence[Target]) -> None:
    """Send every request of every target once, and compare its answer with the model's own. Raises WrongAnswer."""
    for target in targets:
        found = asyncio.run(client.answers(target.where, target.requests))
        for (status, body), expected in zip(found, target.expected, strict=True):
            if status != 200 or not is_right(b"%r" % target.said(body), expected):
                raise WrongAnswer(f"{target.name} answered {status} {body[:300]!r} instead of {expected}")


def warm(
    targets: Sequence[Target],
    others: Sequence[Target],
    connections: int,
    turn_s: float,
    rounds: int,
    pause_s: float = 0.0,
) -> dict[str, list[Turn]]:
    """The turns of each target. They alternate within each round, so that a slow minute slows them all, and in another
    order each time (the same in each run), so that none always follows the same one.

    `others` are stopped outside their own turns: some are busy even without requests.
    """
    everyone = [*targets, *others]
    seen: dict[str, list[Turn]] = {target.name: [] for target in everyone}
    dice = random.Random(connections)
    with stopped(others):
        for _ in range(rounds):
            for target in dice.sample(everyone, len(everyone)):
                with going_on(target) if target in others else nullcontext():
                    turn(target, connections, turn_s * SETTLING, pause_s)  # not measured: its caches fill again
                    seen[target.name].append(turn(target, connections, turn_s, pause_s))
    return seen


@contextmanager
def stopped(targets: Sequence[Target]) -> Iterator[None]:
    """All their processes, until the block ends."""
    for target in targets:
        _signal(target, signal.SIGSTOP)
    try:
        yield
    finally:
        for target in targets:
            _signal(target, signal.SIGCONT)


@contextmanager
def going_on(target: Target) -> Iterator[None]:
    """One that was stopped, for as long as the block lasts."""
    _signal(target, signal.SIGCONT)
    yield
    _signal(target, signal.SIGSTOP)


def _signal(target: Target, number: signal.Signals) -> None:
    for pid in target.pids():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def turn(target: Target, connections: int, turn_s: float, pause_s: float = 0.0) -> Turn:
    """Raises WrongAnswer if a request failed."""
    before_s = scene.cpu_s(target.pids())
    measured = asyncio.run(client.run(target.where, target.requests, connections, turn_s, pause_s))
    used_s = scene.cpu_s(target.pids()) - before_s
    if measured.failures:
        raise WrongAnswer(f"{measured.failures} of {measured.requests} requests to {target.name} failed")
    p50_ms, p99_ms = (1000 * measured.percentile(percent) for percent in (50, 99))
    return Turn(measured.requests, measured.per_second, p50_ms, p99_ms, 1e6 * used_s / measured.requests)


def figures(turns: Sequence[Turn]) -> Figures:
    """Medians over the turns, with quartiles of what is compared."""
    return {
        "rounds": len(turns),
        "requests": sum(one.requests for one in turns),
        "per_second": median(one.per_second for one in turns),
        "p50_ms": median(one.p50_ms for one in turns),
        "p99_ms": median(one.p99_ms for one in turns),
        **spread("cpu_us", [one.cpu_us for one in turns]),
    }


def spread(name: str, values: Sequence[float]) -> Figures:
    """The median, and the quartiles around it as `name_q1` and `name_q3`."""
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else list(values) * 3
    return {name: middle, f"{name}_q1": low, f"{name}_q3": high}


def rate_ratio(turns: Sequence[Turn], base: Sequence[Turn]) -> float:
    """Requests per second beside the base's: the median of the ratios of each round."""
    return median(one.per_second / other.per_second for one, other in zip(turns, base, strict=True))


def cpu_ratio(turns: Sequence[Turn], base: Sequence[Turn]) -> float:
    """Processor time per request beside the base's: the median of the ratios of each round."""
    return median(one.cpu_us / other.cpu_us for one, other in zip(turns, base, strict=True))
