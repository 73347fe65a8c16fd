"""What one tier (memory, or disk) holds: the models in it, their stages and pins, and the bytes that they take.

It counts; which models come and which leave is the decision of `Residency`.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final


class ModelStage(Enum):
    """Where one model is on its way through a tier."""

    COMING = auto()  # a caller fetches it; no room is taken yet
    LOADING = auto()  # admitted: its predicted size is taken
    HERE = auto()
    LEAVING = auto()  # chosen to leave: its room is free for others, and the keeper has yet to unload it


COMING: Final = ModelStage.COMING
LOADING: Final = ModelStage.LOADING
HERE: Final = ModelStage.HERE
LEAVING: Final = ModelStage.LEAVING


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a loaded model takes of memory: bytes of its instance alone, and a file that instances of the machine map.

    `file` is whatever tells the file that it maps from all others; it counts if there are
    `mapped_bytes`."""

    private_bytes: int
    mapped_bytes: int = 0
    file: Hashable | None = None

    def charged_bytes(self, holders: int) -> int:
        """What the model costs an instance while so many instances map its file, this one included: an equal share,
        rounded up, so that the shares of all never come to less than the file."""
        return self.private_bytes - (-self.mapped_bytes // max(1, holders))


class Resident:
    """What is known of one model while it is here, coming or leaving."""

    __slots__ = ("expected", "hits", "pins", "size_bytes", "stage", "used_s")

    def __init__(self, stage: ModelStage, size_bytes: int, pins: int, used_s: float, expected: bool = False) -> None:
        self.stage = stage
        self.size_bytes = size_bytes
        self.pins = pins
        self.hits = 0
        self.used_s = used_s
        self.expected = expected  # loaded before a caller asked; a hit, or a caller who waited for it, ends that

    @property
    def awaited(self) -> bool:
        """Whether a call is expected, and none has come yet."""
        return self.expected and not self.hits


class Occupancy:
    """The models of one tier and their bytes. Bytes are what the keeper measures or predicts."""

    def __init__(self, budget_bytes: int, loads_max: int) -> None:
        self.budget_bytes = budget_bytes
        self.planned_bytes = 0  # HERE + LOADING
        self.idle_bytes = 0  # HERE without a pin
        self.unaccounted_bytes = 0  # what the process uses beyond what its models explain
        self.hits = 0  # requests that found their model here
        self._leaving_bytes = 0
        self._loads_max = loads_max
        self._loads = 0
        self._models: dict[str, Resident] = {}

    def __contains__(self, name: str) -> bool:
        model = self._models.get(name)
        return model is not None and model.stage is HERE

    def __iter__(self) -> Iterator[tuple[str, Resident]]:
        """Every model that is here, by name."""
        for name, model in self._models.items():
            if model.stage is HERE:
                yield name, model

    def get(self, name: str) -> Resident | None:
        return self._models.get(name)

    def released(self, name: str) -> bool:
        """One caller no longer uses the model. True if no caller uses it now."""
        model = self._models[name]
        model.pins -= 1
        idle = model.pins == 0 and model.stage is HERE
        if idle:
            self.idle_bytes += model.size_bytes
        return idle

    def measured(self, used_bytes: int, gone: str | None = None) -> None:
        """The process uses this much: what its models do not explain takes room too.

        Models on their way out still count as used, except `gone`, which is about to be reported unloaded.
        """
        leaving_bytes = self._leaving_bytes - (self._models[gone].size_bytes if gone is not None else 0)
        self.unaccounted_bytes = max(0, used_bytes - self.planned_bytes - leaving_bytes)

    @property
    def at_limit(self) -> bool:
        """Whether as many loads are in flight as may be."""
        return self._loads >= self._loads_max

    @property
    def overrun(self) -> bool:
        """Whether the process is over its budget, and uses more than half of that budget beside its models."""
        used_bytes = self.planned_bytes + self.unaccounted_bytes
        return used_bytes > self.budget_bytes and self.unaccounted_bytes > self.budget_bytes // 2

    def has_room(self, size_bytes: int) -> bool:
        """Whether one more model of this size could come in without another leaving."""
        return self.planned_bytes + self.unaccounted_bytes + size_bytes <= self.budget_bytes

    def _unawaited_bytes(self) -> int:
        """The room that an expected model can get: idle models that are not expected themselves."""
        return sum(model.size_bytes for _, model in self if not model.pins and not model.awaited)

    def _is_idle(self, name: str) -> bool:
        return self._models[name].pins == 0

    def _is_idle_and_unawaited(self, name: str) -> bool:
        model = self._models[name]
        return model.pins == 0 and not model.awaited
