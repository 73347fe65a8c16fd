"""SimFaaS's model: each request has an instance to itself, the newest idle one or else a new one. It knows no memory.

The kernel is the simulator's, and the live keep-alive says how long an idle instance stays. Source: N. Mahmoudi and
H. Khazaei, "SimFaaS: A Performance Simulator for Serverless Computing Platforms", 2021.
"""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from torpor.simulator.engine.virtual_time import Kernel
from torpor_container.core.keepalive import KeepAlive


@dataclass(frozen=True)
class Traffic:
    """Successive seconds: between requests, and of service with an idle instance and without one."""

    gaps_s: Iterator[float]
    warm_s: Iterator[float]
    cold_s: Iterator[float]


def exponential(rate_hz: float, warm_s: float, cold_s: float, seed: str) -> Traffic:
    """Poisson requests and exponential service times of these means."""
    draw = Random(seed).expovariate

    def times(mean_s: float) -> Iterator[float]:
        while True:
            yield draw(1 / mean_s)

    return Traffic(times(1 / rate_hz), times(warm_s), times(cold_s))


@dataclass(frozen=True)
class Outcome:
    """What a platform did; instances are means over the time."""

    requests: int
    cold: int
    instances: float
    busy: float

    @property
    def cold_share(self) -> float:
        return self.cold / self.requests

    @property
    def utilisation(self) -> float:
        return self.busy / self.instances


class Platform:
    """One function, from no instance at all. Instances are numbered as they are born, so the newest has the highest.

    The keep-alive must let an idle instance stay for some time, however short.
    """

    def __init__(self, traffic: Traffic, keep: KeepAlive, seconds: float) -> None:
        self._traffic, self._keep, self._seconds = traffic, keep, seconds
        self._kernel = Kernel()
        self._born_s: dict[int, float] = {}  # of all that live
        self._idle: list[int] = []  # the newest last
        self._idle_since_s: dict[int, float] = {}
        self._requests = self._cold = 0
        self._lived_s = self._busy_s = 0.0

    def run(self) -> Outcome:
        """What is still in service at the end counts up to it."""
        self._kernel.after(next(self._traffic.gaps_s), self._arrive, self._traffic)
        self._kernel.run(self._seconds)
        lived_s = self._lived_s + sum(self._seconds - born_s for born_s in self._born_s.values())
        return Outcome(self._requests, self._cold, lived_s / self._seconds, self._busy_s / self._seconds)

    def _arrive(self, traffic: Traffic) -> None:
        self._kernel.after(next(traffic.gaps_s), self._arrive, traffic)
        self._requests += 1
        if self._idle:
            number, service_s = self._idle.pop(), next(traffic.warm_s)
            del self._idle_since_s[number]
        else:
            number, service_s = self._start(), next(traffic.cold_s)
        self._busy_s += min(service_s, self._seconds - self._kernel.now_s)
        self._kernel.after(service_s, self._finish, number)

    def _start(self) -> int:
        number = self._cold
        self._cold += 1
        self._born_s[number] = self._kernel.now_s
        self._kernel.after(self._keep.nap().sleep_s, self._look, number)
        return number

    def _finish(self, number: int) -> None:
        insort(self._idle, number)
        self._idle_since_s[number] = self._kernel.now_s

    def _look(self, number: int) -> None:
        """It ends if it has been idle for long enough, and otherwise is looked at when it may have been."""
        now_s = self._kernel.now_s
        ends_s = self._idle_since_s.get(number, now_s) + self._keep.nap().sleep_s
        if ends_s > now_s:
            self._kernel.at(ends_s, self._look, number)
        else:
            self._idle.remove(number)
            del self._idle_since_s[number]
            self._lived_s += now_s - self._born_s.pop(number)
