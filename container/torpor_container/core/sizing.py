"""Predicts how big a model will be in memory before its load, and learns from the measurements after it.

The prediction for a model never seen is `fixed + ratio x artifact bytes`, by format; the ratio is learned. A model
that was measured before is predicted by its own measurement. A measurement costs milliseconds, more with many models in
memory. So a model is not measured for ever, and not every model of a format that predicts well is measured.
"""

from collections import OrderedDict, deque

from torpor_container.frozen_class import frozen

LEARNING = 0.3
"""How much one measurement moves the prediction: recent loads count, and one odd load does not upset it."""
ALIKE = 0.05
"""Two sizes that differ by no more than this part count as equal. Two equal measurements settle a model's size: a first
load may bring in what all models share, and a request that comes meanwhile may bring its body."""
TRUSTED_AFTER = 16
"""After this many measurements in a row as predicted, further models of about that size are not measured."""
MEASURED_EVERY = 16
"""One in this many of those is measured all the same. If it is not as predicted, all are measured again."""


@frozen
class Prior:
    """What is assumed of a format before anything is measured."""

    fixed_bytes: int = 256 * 1024
    ratio: float = 4.0  # bytes in memory per byte on disk


class Sizing:
    """Predicts sizes in bytes. It remembers the sizes of the last `known_max` models, and one rule per format."""

    def __init__(self, priors: dict[str, Prior], known_max: int = 10_000) -> None:
        self._rules = {name: _Rule(prior) for name, prior in priors.items()}
        self._known: OrderedDict[str, tuple[int, bool]] = OrderedDict()  # the last size, and whether it is settled
        self._known_max = known_max

    def predict(self, model_id: str, format_name: str, artifact_bytes: int) -> int:
        if model_id in self._known:
            return self._known[model_id][0]
        return self._rule(format_name).predict(artifact_bytes)

    def to_be_measured(self, model_id: str, format_name: str, artifact_bytes: int) -> bool:
        """Whether to measure this load; if not, what `predict` says will do. Call it once for each load."""
        if model_id in self._known:
            return not self._known[model_id][1]
        return self._rule(format_name).to_be_checked(artifact_bytes)

    def measured(self, model_id: str, format_name: str, artifact_bytes: int, size_bytes: int) -> None:
        """A load was measured: `size_bytes` is what the process grew by."""
        before, _ = self._known.get(model_id, (None, False))
        self._known[model_id] = size_bytes, before is not None and _alike(before, size_bytes)
        self._known.move_to_end(model_id)
        if len(self._known) > self._known_max:
            self._known.popitem(last=False)
        self._rule(format_name).learn(artifact_bytes, size_bytes)

    def _rule(self, format_name: str) -> "_Rule":
        return self._rules.setdefault(format_name, _Rule(Prior()))


class _Rule:
    """What was learned of the models of one format."""

    def __init__(self, prior: Prior) -> None:
        self._fixed_bytes = prior.fixed_bytes
        self._ratio = prior.ratio
        self._confirmed: deque[int] = deque(maxlen=TRUSTED_AFTER)  # artifact bytes of models that were as predicted
        self._unchecked = 0

    def predict(self, artifact_bytes: int) -> int:
        return self._fixed_bytes + int(self._ratio * artifact_bytes)

    def to_be_checked(self, artifact_bytes: int) -> bool:
        """Also True for models larger or smaller than all that were measured: nothing is known of them."""
        seen = self._confirmed
        if len(seen) < TRUSTED_AFTER or not min(seen) <= artifact_bytes <= max(seen):
            return True
        self._unchecked = (self._unchecked + 1) % MEASURED_EVERY
        return not self._unchecked

    def learn(self, artifact_bytes: int, size_bytes: int) -> None:
        if _alike(self.predict(artifact_bytes), size_bytes):
            self._confirmed.append(artifact_bytes)
        else:
            self._confirmed.clear()
        seen = max(0.0, size_bytes - self._fixed_bytes) / max(artifact_bytes, 1)
        self._ratio += LEARNING * (seen - self._ratio)


def _alike(one_bytes: int, other_bytes: int) -> bool:
    return abs(one_bytes - other_bytes) <= ALIKE * max(one_bytes, other_bytes)
