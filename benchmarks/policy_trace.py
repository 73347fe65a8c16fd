"""Requests for models by Zipf's law, and what an eviction policy makes of them when loads take no time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from torpor_container.core.eviction import Future, Policy


@dataclass(frozen=True)
class Trace:
    """Which models are asked for, one after the other, and how big each is."""

    requests: Iterable[str]
    sizes: dict[str, int]

    def room_bytes(self, share: float) -> int:
        """A share of what all models take, rounded to tens, so that a tenth of it is whole."""
        return int(share * sum(self.sizes.values())) // 10 * 10


def zipf(requests: int, models: int, seed: int = 1, exponent: float = 1.0) -> Trace:
    """Sizes are log-normal, and tell nothing of popularity."""
    random = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(1, models + 1) ** exponent)
    ranks = np.searchsorted(shares, random.random(requests) * shares[-1])
    names = [f"model-{number}" for number in random.permutation(models)]
    sizes = np.maximum(1, np.exp(random.normal(4, 1.2, models))).astype(int)
    return Trace([names[rank] for rank in ranks], dict(zip(names, sizes.tolist(), strict=True)))


class Cache:
    """The resident models, by a policy that decides which model leaves."""

    def __init__(self, policy: Policy, room_bytes: int, cost_s: float) -> None:
        self._policy = policy
        self._cost_s = cost_s
        self.free_bytes = room_bytes
        self.resident: dict[str, int] = {}

    def enter(self, name: str, size_bytes: int) -> None:
        self._policy.added(name, size_bytes, self._cost_s)
        self.resident[name] = size_bytes
        self.free_bytes -= size_bytes

    def leave(self, name: str) -> None:
        self._policy.removed(name)
        self.free_bytes += self.resident.pop(name)

    def make_room(self, size_bytes: int) -> None:
        while self.free_bytes < size_bytes:
            victim = self._policy.victim(lambda name: True)
            assert victim is not None
            self.leave(victim)

    def served(self, name: str) -> None:
        if not self._policy.keeps(name, self.free_bytes):
            self.leave(name)


def replay(policy: Policy, trace: Trace, room_bytes: int, cost_s: float = 1.0, room_first: bool = True) -> int:
    """The hits. What is larger than the room is served and not kept.

    With `room_first` the others leave before the newcomer is there, as in real memory; without, it may be the one.
    """
    hits, cache = 0, Cache(policy, room_bytes, cost_s)
    for name in trace.requests:
        size_bytes = trace.sizes[name]
        if name in cache.resident:
            hits += 1
            policy.touched(name)
        elif size_bytes <= room_bytes:
            if room_first:
                cache.make_room(size_bytes)
            cache.enter(name, size_bytes)
            cache.make_room(0)
            if name in cache.resident:
                cache.served(name)
    return hits


def replay_knowing(make: Callable[[Future], Policy], trace: Trace, room_bytes: int) -> int:
    """The hits of an offline reference, which is told the trace."""
    position = -1

    def played() -> Iterator[str]:
        nonlocal position
        for position, name in enumerate(trace.requests):  # noqa: B007
            yield name

    future = Future(((float(at), name) for at, name in enumerate(trace.requests)), lambda: position)
    return replay(make(future), Trace(played(), trace.sizes), room_bytes)
