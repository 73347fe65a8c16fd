"""Single figures of a variant, each from its record: times in seconds, and the sigmas of their spread."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, median

import numpy as np

from torpor.simulator.fitting.laws import LOADS_MIN, Laws, grouped
from torpor.simulator.fitting.records import Load, Record
from torpor.simulator.fitting.times import BROUGHT
from torpor.simulator.profile import ModelProfile
from torpor_container.wire import Step
from torpor_endpoint.core.ledger import ERROR_FROM

SINGLES_MIN = 30
"""So many predictions that are known one by one tell their spread."""


def profile(name: str, loads: Sequence[Load], laws: Laws, predict_s: float) -> ModelProfile:
    """The medians of the model's own loads where they are enough, otherwise what the laws say at its size."""
    memory_bytes = laws.size_bytes(name)
    times_s = {what: laws.of(what, name).line.seconds(memory_bytes) for what in ("unload_s", *BROUGHT)}
    for what in BROUGHT:
        own_s = [load.times_s[what] for load in loads if what in load.times_s]
        if len(own_s) >= LOADS_MIN:
            times_s[what] = median(own_s)
    return ModelProfile(name, memory_bytes, memory_bytes, **times_s, predict_s=predict_s)


def predict_s(record: Record) -> dict[str, float]:
    """Means by model: of the warm requests, or of those known one by one where none was warm."""
    single_s = grouped((row.model, row.predict_s) for row in record.whole if row.predict_s is not None)
    means_s = {name: fmean(seconds) for name, seconds in single_s.items()}
    return means_s | {name: max(0.0, warm.predict_s) / warm.requests for name, warm in record.warm.items()}


def predict_sigma(record: Record) -> float:
    """From predictions known one by one: minutes of many requests do not tell the spread within them.

    Those that followed a load are slower and differ more: they count only where there are few others.
    """
    hits = [(row.model, row.predict_s) for row in record.whole if row.cold is None and row.predict_s is not None]
    warm = list(grouped([*record.alone, *hits]).values())
    sigma, freedom = _spread(warm)
    if freedom < SINGLES_MIN:
        after = grouped((load.model, load.predict_s) for load in record.loads if load.predict_s is not None)
        sigma, _ = _spread([*warm, *after.values()])
    return sigma


def load_sigma(loads: Sequence[Load], laws: Laws) -> float:
    """Of a model's loads around its own middle; where each was loaded once, of the models around their law."""
    seconds = grouped((load.model, load.times_s["load_s"]) for load in loads if "load_s" in load.times_s)
    sigma, freedom = _spread(seconds.values())
    around = [law for law in laws.told if law.what == "load_s"]
    return sigma if freedom or not around else max(around, key=lambda law: law.loads).line.sigma


def wake_s(record: Record) -> float | None:
    """What those waited who found no instance; otherwise how long starts took. None where there was none."""
    waited_s = [row.steps[Step.WAKE] for row in record.whole if Step.WAKE in row.steps and row.status < ERROR_FROM]
    seen_s = waited_s or record.starts_s
    return median(seen_s) if seen_s else None


def overhead_s(record: Record) -> float:
    """The mean beyond the prediction: of warm requests, or of those known one by one where none was warm."""
    if not record.warm:
        return fmean(row.steps.get(Step.OVERHEAD, 0.0) for row in record.whole if row.predict_s is not None)
    beyond_s = sum(warm.spent_s - warm.predict_s for warm in record.warm.values())
    return max(0.0, beyond_s) / sum(warm.requests for warm in record.warm.values())


def beside_load_s(loads: Sequence[Load], profiles: Mapping[str, ModelProfile]) -> float:
    """A model is looked at before it is loaded and measured after it, and its first prediction is a slow one."""
    beside_s = [
        load.queue_s + load.predict_s - profiles[load.model].predict_s
        for load in loads
        if load.predict_s is not None and not load.evicted
    ]
    return max(0.0, median(beside_s)) if len(beside_s) >= LOADS_MIN else 0.0


def _spread(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """The sigma of log-normal values around each group's own middle, and the degrees of freedom that tell it."""
    squares, freedom = 0.0, 0
    for seconds in groups:
        logs = np.log([one for one in seconds if one > 0])
        if len(logs):
            squares += float(logs.var()) * len(logs)
            freedom += len(logs) - 1
    return (sqrt(squares / freedom), freedom) if freedom else (0.0, 0)
