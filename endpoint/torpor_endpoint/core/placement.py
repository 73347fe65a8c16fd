"""Which instance serves a model: rendezvous hashing over slots, with bounded load. It holds no state and sends nothing.

Every router ranks the slots of a variant the same way for the same model, so a model's requests keep going to the
instance that has it, a restarted slot gets its own models back, and nobody needs a table. AWS describes the same
behaviour: "SageMaker continues to route requests for a model to the instance where the model is already loaded" and,
for a hot model, "some requests are routed to another instance". The bound is that of consistent hashing with bounded
loads (Mirrokni, Thorup, Zadimoghaddam, 2016).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import ceil
from typing import Final

SHARE: Final = 1.25
"""An instance may hold this much more than the average before a model gets a second copy."""

BUSY_MIN: Final = 8
"""Below this many requests in flight an instance is never too busy for its own models: a copy costs a cold start."""


@lru_cache(maxsize=16_384)
def ranking(model: str, slots: tuple[str, ...]) -> tuple[str, ...]:
    """The slots from the model's owner downwards. Adding or removing a slot moves only the models that it owns."""
    return tuple(sorted(slots, key=lambda slot: blake2b(f"{slot}\0{model}".encode(), digest_size=8).digest()))


def pick(model: str, in_flight: Mapping[str, int], busy_min: int = BUSY_MIN) -> str:
    """The slot for one more request for this model. `in_flight` holds every ready slot and is not empty."""
    return among(ranking(model, tuple(in_flight)), in_flight, busy_min)


def among(ranked: tuple[str, ...], in_flight: Mapping[str, int], busy_min: int = BUSY_MIN) -> str:
    """The same, of slots that are ranked for the model already."""
    owner = ranked[0]
    if in_flight[owner] < busy_min:
        return owner
    bound = max(busy_min, ceil(SHARE * (sum(in_flight.values()) + 1) / len(in_flight)))
    return next((slot for slot in ranked if in_flight[slot] < bound), owner)


def least_busy(in_flight: Mapping[str, int]) -> str:
    """The slot with the fewest requests, for variants that serve one model: any instance will do."""
    return min(in_flight, key=in_flight.__getitem__)


def weighted(weights: Sequence[tuple[str, float]], point: float) -> str:
    """The variant at `point` (0 to 1) when each takes its weight's share. If all weights are 0 the first takes all."""
    total = sum(weight for _, weight in weights)
    left = point * total
    for name, weight in weights:
        left -= weight
        if left < 0:
            return name
    return next((name for name, weight in reversed(weights) if weight > 0), weights[0][0])
