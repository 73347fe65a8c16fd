"""Sends requests that arrive together to sleeping endpoints: how long each waits, and how many instances wake."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from statistics import quantiles

from benchmarks import scene
from benchmarks.caller import Answer, Caller, invocation
from benchmarks.own_answers import is_right
from benchmarks.sleeping import Sleepers

ANSWER_WITHIN_S = 120.0

Wanted = tuple[str, str]
"""The endpoint and the model of a request."""


@dataclass(frozen=True)
class Rush:
    """The answers to requests that arrived together, each for a model of its own."""

    what: str
    requests: int
    rounds: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    wrong: int
    lost: int
    instances: str  # started, in each round


class Crowds:
    """`answers` has each model's right answer to the row."""

    def __init__(self, sleeping: Sleepers, answers: dict[str, float], rounds: int) -> None:
        self._sleeping = sleeping
        self._answers = answers
        self._rounds = rounds

    def crowd(self, endpoint: str, requests: int) -> Rush:
        """Send requests for all models to one sleeping endpoint at once."""
        wanted = list(zip([endpoint] * requests, cycle(self._answers), strict=False))
        return self._rush(f"one endpoint, {len(self._answers)} models", wanted)

    def dawn(self, endpoints: Sequence[str]) -> Rush:
        """Send one request to each of several endpoints at once."""
        return self._rush(f"{len(endpoints)} endpoints", list(zip(endpoints, cycle(self._answers), strict=False)))

    def _rush(self, what: str, wanted: list[Wanted]) -> Rush:
        took_ms: list[float] = []
        started: list[int] = []
        wrong = 0
        for _ in range(self._rounds):
            self._sleeping.until_asleep()
            before = self._started(wanted)
            for (_, model), answer in zip(wanted, asyncio.run(_at_once(self._sleeping.port, wanted)), strict=True):
                if answer is not None:
                    took_ms.append(1000 * answer.waited_s)
                    wrong += not is_right(answer.body, self._answers[model])
            started.append(self._started(wanted) - before)
        lost = self._rounds * len(wanted) - len(took_ms)
        p50_ms, p95_ms, p99_ms = (percentile(took_ms, percent) for percent in (50, 95, 99))
        instances = ", ".join(map(str, started))
        return Rush(what, len(wanted), self._rounds, p50_ms, p95_ms, p99_ms, max(took_ms), wrong, lost, instances)

    def _started(self, wanted: list[Wanted]) -> int:
        return sum(self._sleeping.started(name) for name in {endpoint for endpoint, _ in wanted})


async def _at_once(port: int, wanted: list[Wanted]) -> list[Answer | None]:
    """The answers, None for a lost one. All connections are open before the first request is sent."""
    callers = await asyncio.gather(*(Caller.connected(port) for _ in wanted))
    ends = await asyncio.gather(
        *(_good(caller, *one) for caller, one in zip(callers, wanted, strict=True)), return_exceptions=True
    )
    await asyncio.gather(*(caller.close() for caller in callers))
    return [None if isinstance(end, BaseException) else end for end in ends]


async def _good(caller: Caller, endpoint: str, model: str) -> Answer | None:
    answer = await asyncio.wait_for(caller.call(invocation(endpoint, model, scene.ROW)), ANSWER_WITHIN_S)
    return answer if answer.status == 200 else None


def percentile(taken: list[float], percent: int) -> float:
    return quantiles(taken, n=100, method="inclusive")[percent - 1] if len(taken) > 1 else taken[0]
