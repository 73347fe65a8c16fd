"""A load test in virtual time: users who each send a request, wait for its answer, and send the next one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil

WARM_SHARE = 0.1
"""The share of the requests at the beginning that is not counted: all users begin at once."""


@dataclass(frozen=True)
class SteadyLoad:
    """What users got. `latencies_s` are sorted."""

    per_s: float
    latencies_s: Sequence[float]
    busy_share: float  # of the threads' time

    def latency_s(self, share: float) -> float:
        """The latency that this share of the requests had at most."""
        return self.latencies_s[max(0, ceil(share * len(self.latencies_s)) - 1)]


def closed_loop(
    users: int, threads: int, service_s: Callable[[], float], overhead_s: float, requests: int
) -> SteadyLoad:
    """So many requests of these users, answered in their order by threads that each take `service_s()` seconds for one.
    `overhead_s` passes on the way of a request, while no thread is busy with it."""
    ready = [0.0] * users
    free = [0.0] * threads
    heapify(ready)
    skipped = int(WARM_SHARE * requests)
    latencies, busy_s, since_s, ended_s = [], 0.0, 0.0, 0.0
    for number in range(requests):
        came_s, thread_s = heappop(ready), heappop(free)
        takes_s = service_s()
        done_s = max(came_s, thread_s) + takes_s
        heappush(free, done_s)
        heappush(ready, done_s + overhead_s)
        if number < skipped:
            since_s = max(since_s, done_s)
            continue
        latencies.append(done_s + overhead_s - came_s)
        busy_s += takes_s
        ended_s = max(ended_s, done_s)
    lasted_s = max(ended_s - since_s, 1e-9)
    return SteadyLoad(len(latencies) / lasted_s, sorted(latencies), min(1.0, busy_s / (threads * lasted_s)))
