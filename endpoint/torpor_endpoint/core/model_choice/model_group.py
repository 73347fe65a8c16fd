"""The record of a group: models that do the same task, with the accuracy, the latency and the price of each."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from torpor_container.frozen_class import frozen

HOUR_S: Final = 3600.0


class ModelTier(StrEnum):
    """Where a model is when a request comes. `asleep`: no instance runs yet, and the model is in S3."""

    MEMORY = "memory"
    DISK = "disk"
    S3 = "s3"
    ASLEEP = "asleep"


@frozen
class GroupedModel:
    """One model of a group. None, or an empty mapping, is what nobody measured.

    `latency_ms` has the milliseconds of a prediction by the number of its rows, from few to many. `load_ms` has, by
    tier, the milliseconds until the model is in memory. `usd_per_hour` is the price of the processing that it uses.
    """

    model: str
    accuracy: float | None = None
    latency_ms: tuple[tuple[int, float], ...] = ()
    load_ms: Mapping[ModelTier, float] = field(default_factory=dict)
    size_bytes: int | None = None
    usd_per_hour: float | None = None

    def predict_ms(self, rows: int) -> float | None:
        """Milliseconds of a prediction of so many rows: on the straight line between the two measured numbers of rows
        around it. Beyond the largest it goes on as between the last two; of one alone, in proportion to the rows."""
        points = self.latency_ms
        if not points:
            return None
        first_rows, first_ms = points[0]
        if rows <= first_rows:
            return first_ms
        if len(points) == 1:
            return first_ms * rows / first_rows
        upper = next((place for place, (most, _) in enumerate(points) if rows <= most), len(points) - 1)
        (fewer, before_ms), (more, after_ms) = points[upper - 1], points[upper]
        slope_ms = (after_ms - before_ms) / (more - fewer)
        return after_ms + max(slope_ms, 0.0) * (rows - more) if rows > more else before_ms + slope_ms * (rows - fewer)

    def loaded_within_ms(self, tier: ModelTier) -> float | None:
        """Milliseconds until the model is in memory. A load from disk that nobody measured takes at most as long as one
        from S3."""
        if tier is ModelTier.MEMORY:
            return 0.0
        if tier is ModelTier.DISK:
            return self.load_ms.get(ModelTier.DISK, self.load_ms.get(ModelTier.S3))
        return self.load_ms.get(tier)


@frozen
class ChoiceGroup:
    """A group by its name. `models` are in the order of its file."""

    name: str
    models: tuple[GroupedModel, ...]
