"""Chooses the instance for a model's request, by rendezvous hashing over slots with bounded load. It sends nothing.

Every router ranks the slots of a variant the same way for the same model. So a model's requests keep going to the
instance that has it, a restarted slot gets its own models back, and no table is needed. AWS describes the same
behaviour: "SageMaker continues to route requests for a model to the instance where the model is already loaded" and,
for a hot model, "some requests are routed to another instance". The bound is that of consistent hashing with bounded
loads (Mirrokni, Thorup, Zadimoghaddam, 2016).
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import ceil
from typing import Final, Generic, TypeVar

SHARE: Final = 1.25
"""An instance may have this much more than the average load before a model gets a second copy."""

BUSY_MIN: Final = 8
"""With fewer requests in flight an instance is never too busy for its own models: a copy costs a cold start."""

RANKED_MAX: Final = 16_384
"""The most cached rankings of models. A new ranking takes microseconds."""


class PlacedInstance:
    """An instance that requests are placed on. `in_flight` counts the requests that it has not answered."""

    __slots__ = ("in_flight",)

    in_flight: int


T = TypeVar("T", bound=PlacedInstance)


class Placement(Generic[T]):
    """The ready instances of one variant, by slot."""

    def __init__(self) -> None:
        self._ready: dict[str, T] = {}
        self._ranked: dict[str, tuple[T, ...]] = {}  # by model: the instances in the order of its ranking

    def offer(self, slot: str, instance: T) -> None:
        """Place requests on this instance from now on."""
        self._ready[slot] = instance
        self._ranked.clear()

    def withdraw(self, slot: str) -> T | None:
        """Place no more requests on the slot's instance, and return it; None if the slot had none."""
        self._ranked.clear()
        return self._ready.pop(slot, None)

    def pick(self, model: str) -> T:
        """The instance for one more request for this model. At least one instance must be ready."""
        if len(self._ready) == 1:
            return next(iter(self._ready.values()))
        ranked = self._ranked.get(model)
        if ranked is None:
            ranked = self._rank(model)
        owner = ranked[0]
        if owner.in_flight < BUSY_MIN:
            return owner
        bound = max(BUSY_MIN, ceil(SHARE * (sum([one.in_flight for one in ranked]) + 1) / len(ranked)))
        return next((one for one in ranked if one.in_flight < bound), owner)

    def least_busy(self) -> T:
        """The instance with the fewest requests, for variants with one model. At least one must be ready."""
        return min(self._ready.values(), key=lambda one: one.in_flight)

    def get(self, slot: str) -> T | None:
        return self._ready.get(slot)

    def __len__(self) -> int:
        return len(self._ready)

    def __iter__(self) -> Iterator[T]:
        """The instances that are ready now. The set may change during the iteration."""
        return iter(tuple(self._ready.values()))

    def _rank(self, model: str) -> tuple[T, ...]:
        if len(self._ranked) == RANKED_MAX:
            self._ranked.clear()
        ranked = self._ranked[model] = tuple([self._ready[slot] for slot in ranking(model, self._ready)])
        return ranked


def ranking(model: str, slots: Iterable[str]) -> list[str]:
    """The slots in the model's order, its owner first. A new or removed slot moves only the models that it owns."""
    return sorted(
        slots, key=lambda slot: blake2b(f"{slot}\0{model}".encode(errors="surrogateescape"), digest_size=8).digest()
    )


def weighted(weights: Sequence[tuple[str, float]], point: float) -> str:
    """The variant at `point` (0 to 1), where each variant has a share by its weight. If all are 0 the first has all."""
    total = sum(weight for _, weight in weights)
    left = point * total
    for name, weight in weights:
        left -= weight
        if left < 0:
            return name
    return next((name for name, weight in reversed(weights) if weight > 0), weights[0][0])
