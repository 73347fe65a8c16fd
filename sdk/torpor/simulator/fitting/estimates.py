"""Estimates single figures of a variant from its record: times in seconds, and the sigmas of their spread."""

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, median

import numpy as np

from torpor.simulator.fitting.time_laws import LOADS_MIN, Laws, grouped
from torpor.simulator.fitting.times import DELAYS, FITTED, WAITS
from torpor.simulator.fitting.variant_records import RecordedEffort, RecordedWait, VariantRecord, quiet_s
from torpor.workloads.profile import ModelProfile
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import ERROR_FROM, NOTICED_S

SINGLES_MIN = 30
"""The least number of single known predictions from which their spread is estimated."""


def profile(
    name: str, loads: Sequence[RecordedWait], laws: Laws, predicts: RecordedEffort, record: VariantRecord
) -> ModelProfile:
    """The medians of the model's own loads if there are enough, otherwise the times of the laws at its size. What its
    machine needed once is that of its own loads alone: without any, it was there before. A model without loads has as
    many workers as the one that was loaded last."""
    memory_bytes = laws.size_bytes(name)
    times_s = {what: laws.of(what, name).line.seconds(memory_bytes) for what in ("unload_s", *FITTED)}
    for what in FITTED:
        own_s = [load.times_s[what] for load in loads if what in load.times_s]
        if len(own_s) >= LOADS_MIN:
            times_s[what] = quiet_s(own_s, record.busy if what in WAITS else 0.0)
    for what in DELAYS.values():
        times_s[what] = noticed_s(times_s[what])
    delay_s = noticed_s(predicts.delay_s)
    times_s |= {"predict_s": predicts.work_s, "predict_delay_s": delay_s}
    times_s["once_s"] = max((load.once_s for load in loads), default=0.0)
    own_workers = workers(loads or record.loads) or 0
    artifact_bytes = record.artifacts_bytes.get(name, 0)
    return ModelProfile(
        name,
        memory_bytes,
        memory_bytes,
        **times_s,
        mapped_bytes=0,
        workers=own_workers,
        artifact_bytes=artifact_bytes,
        device_bytes=0,
    )


def workers(loads: Sequence[RecordedWait]) -> int | None:
    """The processes of its own that a model had after its last load; None if no load says so."""
    return next((load.workers for load in reversed(loads) if load.workers is not None), None)


def noticed_s(delay_s: float) -> float:
    """The delay, or 0 if it is so short that it is only clocks and switches between threads."""
    return delay_s if delay_s > NOTICED_S else 0.0


def predictions(record: VariantRecord) -> dict[str, RecordedEffort]:
    """The mean prediction of each model: of its warm requests, or of its cold ones if none was warm."""
    single = grouped((row.model, row.prediction) for row in record.whole if row.prediction is not None)
    means = {name: RecordedEffort(*map(fmean, zip(*own, strict=True))) for name, own in single.items()}
    means |= {name: warm.prediction for name, warm in record.warm.items()}
    single_s = [(row.model, row.effort["delay_s"]) for row in record.whole if row.prediction and row.effort]
    delays_s = grouped([*record.delays_s, *single_s]).items()
    return means | {name: RecordedEffort(means[name].work_s, quiet_s(own_s, record.busy)) for name, own_s in delays_s}


def predict_sigma(record: VariantRecord) -> float:
    """The sigma of predictions, estimated from those known one by one, since the sums of a minute hide their spread.

    Predictions right after a load are slower and vary more: they count only if there are few others.
    """
    hits = [(row.model, row.prediction.work_s) for row in record.whole if row.cold is None and row.prediction]
    warm = list(grouped([*record.alone, *hits]).values())
    sigma, freedom = _spread(warm)
    if freedom < SINGLES_MIN:
        after = grouped((load.model, load.first.work_s) for load in record.loads if load.first)
        sigma, _ = _spread([*warm, *after.values()])
    return sigma


def load_sigma(loads: Sequence[RecordedWait], laws: Laws) -> float:
    """The sigma of a model's loads around their median; if each model was loaded once, of the models around their
    law."""
    seconds = grouped((load.model, load.times_s["load_s"]) for load in loads if "load_s" in load.times_s)
    sigma, freedom = _spread(seconds.values())
    around = [law for law in laws.fitted if law.what == "load_s"]
    return sigma if freedom or not around else max(around, key=lambda law: law.loads).line.sigma


def wake_s(record: VariantRecord) -> float | None:
    """The median wait of requests that found no instance; otherwise of starts. None if there was none."""
    waited_s = [
        row.steps[WaitStep.WAKE] for row in record.whole if WaitStep.WAKE in row.steps and row.status < ERROR_FROM
    ]
    seen_s = waited_s or record.starts_s
    return median(seen_s) if seen_s else None


def overhead_s(record: VariantRecord) -> float:
    """The mean time beside the prediction: of warm requests, or of cold ones if none was warm."""
    if not record.warm:
        return fmean(row.steps.get(WaitStep.OVERHEAD, 0.0) for row in record.whole if row.prediction)
    beyond_s = sum(warm.spent_s - warm.predict_s for warm in record.warm.values())
    return max(0.0, beyond_s) / sum(warm.requests for warm in record.warm.values())


def imports_s(record: VariantRecord) -> float:
    """What the first load on the machine waited for libraries: loads that began later waited for a part of it."""
    return max((load.imports_s for load in record.loads), default=0.0)


def beside_load_s(record: VariantRecord) -> float:
    """The time of a cold request beside its steps and its prediction: a load also inspects and measures the model."""
    beside_s = [load.queue_s for load in record.loads if load.first is not None and not load.evicted]
    return quiet_s(beside_s, record.busy) if len(beside_s) >= LOADS_MIN else 0.0


def first_predict_s(record: VariantRecord, profiles: Mapping[str, ModelProfile]) -> float:
    """What the first prediction after a load takes more than the model's warm ones."""
    more_s = [
        load.first.whole_s - profiles[load.model].predict_s - profiles[load.model].predict_delay_s
        for load in record.loads
        if load.first is not None
    ]
    return max(0.0, quiet_s(more_s, record.busy)) if len(more_s) >= LOADS_MIN else 0.0


def _spread(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """The sigma of log-normal values around each group's own mean, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for seconds in groups:
        logs = np.log([one for one in seconds if one > 0])
        if len(logs):
            squares += float(logs.var()) * len(logs)
            freedom += len(logs) - 1
    return (sqrt(squares / freedom), freedom) if freedom else (0.0, 0)
