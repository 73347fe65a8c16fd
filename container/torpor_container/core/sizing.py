"""How big a model will be in memory: predicted before the load, corrected by the measurements after it.

The prediction for a model never seen is `fixed + ratio x artifact bytes`, by format; the ratio is learned. A model
that was measured before is predicted by its own measurement, and is not measured for ever: that costs milliseconds.
"""

from collections import OrderedDict
from dataclasses import dataclass

LEARNING = 0.3
"""How much one measurement moves what is known: recent loads count, one odd load does not upset it."""
ALIKE = 0.05
"""Two measurements that differ by no more than this part settle a size. A first load may have brought in what all
models share, and a request that came meanwhile may have brought its body."""


@dataclass(frozen=True)
class Prior:
    """What is believed of a format before anything is measured."""

    fixed_bytes: int = 256 * 1024
    ratio: float = 4.0  # bytes in memory per byte on disk


class Sizing:
    """Predicts sizes in bytes. Remembers the measurements of the last `known_max` models, and one ratio per format."""

    def __init__(self, priors: dict[str, Prior], known_max: int = 10_000) -> None:
        self._priors = priors
        self._ratios: dict[str, float] = {}
        self._known: OrderedDict[str, tuple[int, bool]] = OrderedDict()  # the last size, and whether it is settled
        self._known_max = known_max

    def predict(self, model_id: str, format_name: str, artifact_bytes: int) -> int:
        if model_id in self._known:
            return self._known[model_id][0]
        prior = self._priors.get(format_name, Prior())
        return prior.fixed_bytes + int(self._ratios.get(format_name, prior.ratio) * artifact_bytes)

    def settled(self, model_id: str) -> bool:
        """Whether what `predict` says of it needs no further measurement."""
        return model_id in self._known and self._known[model_id][1]

    def measured(self, model_id: str, format_name: str, artifact_bytes: int, size_bytes: int) -> None:
        """A load was measured: `size_bytes` is what the process grew by."""
        before, _ = self._known.get(model_id, (None, False))
        self._known[model_id] = size_bytes, before is not None and _alike(before, size_bytes)
        self._known.move_to_end(model_id)
        if len(self._known) > self._known_max:
            self._known.popitem(last=False)
        prior = self._priors.get(format_name, Prior())
        seen = max(0.0, size_bytes - prior.fixed_bytes) / max(artifact_bytes, 1)
        ratio = self._ratios.get(format_name, prior.ratio)
        self._ratios[format_name] = ratio + LEARNING * (seen - ratio)


def _alike(one_bytes: int, other_bytes: int) -> bool:
    return abs(one_bytes - other_bytes) <= ALIKE * max(one_bytes, other_bytes)
