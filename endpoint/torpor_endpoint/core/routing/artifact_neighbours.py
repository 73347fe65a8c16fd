"""Decides which instances an instance asks for the artifact of a model that it has yet to fetch. It sends nothing.

The instances that are known to have the model come first: its former owner, and those that reported it. Then the first
instances in the model's own order (`ready_slots`), to which its calls went before a change, or go while its owner is
busy. Each router knows this by itself, so that no list of all artifacts is kept anywhere.
"""

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

NAMED_MAX: Final = 3
"""So many instances are named for one model: a miss costs its asker a question each."""
TOLD_MAX: Final = 16_384
"""So many pairs of a model and an instance are remembered. Beyond them, all are told once more."""

T = TypeVar("T")


def whom_to_ask(asking: T, known: Iterable[T], order: Iterable[T]) -> list[T]:
    """The instances to ask, each once, the likeliest first, and never the one that asks."""
    return [one for one in dict.fromkeys([*known, *order]) if one is not asking][:NAMED_MAX]


class ToldOnce(Generic[T]):
    """To which instances a call of each model has gone already: only the first one names neighbours."""

    def __init__(self) -> None:
        self._told: set[tuple[str, T]] = set()

    def is_first(self, model: str, instance: T) -> bool:
        """Whether no call of this model has gone to this instance yet. The next answer is no."""
        pair = model, instance
        if pair in self._told:
            return False
        if len(self._told) >= TOLD_MAX:
            self._told.clear()
        self._told.add(pair)
        return True
