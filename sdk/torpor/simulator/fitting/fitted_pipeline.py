"""Fits the containers of a pipeline to its variant's record, and makes the record that of the container with the
models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from torpor.simulator.fitting.variant_records import RecordedContainer, RecordedWarm, VariantRecord, Whole
from torpor.workloads.profile import ContainerProfile
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import ERROR_FROM

SINGLES_MIN = 30
"""The least number of single known times from which their spread is estimated."""

NOTICED = 0.01
"""A smaller sigma counts as none: a percent is within the clocks."""
ONE_BELOW = 0.1587
"""The quantile of a normal distribution that is one standard deviation below its middle."""


@dataclass(frozen=True)
class FittedPipeline:
    """`record` is as the container with the models has seen it: its predictions are of that container alone, and no
    request was in any other."""

    record: VariantRecord
    containers: tuple[ContainerProfile, ...] = ()  # empty for a variant of one container
    unread: tuple[str, ...] = ()  # containers whose memory was not recorded
    unworked: tuple[str, ...] = ()  # containers of which it was not recorded what answers


def pipeline(record: VariantRecord) -> FittedPipeline:
    """The containers of the newest pipeline of the record.

    A container's time includes what it does beside its prediction, so it counts as work; the measured efforts of
    predictions are not used, since they are sums over containers. The container with the models is the one that takes
    longer when a model is loaded; without loads, the last one.
    """
    names = list(record.pipeline)
    if len(names) < 2:
        return FittedPipeline(record)
    means_s = {name: _mean_s(record, name) for name in names}
    models = _with_models(record, means_s)
    others = [name for name in names if name != models]
    fitted = tuple(
        ContainerProfile(name, models=True)
        if name == models
        else ContainerProfile(
            name,
            record.container_bytes.get(name, 0),
            means_s[name],
            predict_sigma=_sigma(record, name),
            workers=record.container_workers.get(name, 0),
        )
        for name in names
    )
    unread = tuple(name for name in others if name not in record.container_bytes)
    unworked = tuple(name for name in others if name not in record.container_workers)
    return FittedPipeline(_seen_by(record, models, others, means_s), fitted, unread, unworked)


def _mean_s(record: VariantRecord, name: str) -> float:
    """The mean seconds of a warm request in this container; of a cold one if none was warm."""
    warm = [one for one in record.containers if one.container == name and one.warm]
    if warm:
        return sum(one.warm_s for one in warm) / sum(one.warm for one in warm)
    cold_s = [row.container_s[name] - row.waited_s for row in record.whole if name in row.container_s]
    return max(0.0, fmean(cold_s)) if cold_s else 0.0


def _with_models(record: VariantRecord, means_s: Mapping[str, float]) -> str:
    *_, last = means_s
    if not record.models:
        return last
    cold = [row for row in record.whole if row.cold is not None and row.container_s]

    def longer_s(name: str) -> float:
        return sum(row.container_s.get(name, 0.0) - means_s[name] for row in cold)

    return max(means_s, key=longer_s) if cold else last


def _sigma(record: VariantRecord, name: str) -> float:
    """The standard deviation of the logarithm of single times in a container without models.

    It is taken from the shorter half of the times, as if the longer half were alike: cold requests often wait for a
    processor beside a load, which makes times longer, and never shorter.
    """
    seconds = [row.container_s[name] for row in record.whole if row.container_s.get(name, 0.0) > 0]
    if len(seconds) < SINGLES_MIN:
        return 0.0
    low_s, middle_s = np.quantile(seconds, (ONE_BELOW, 0.5))
    sigma = float(np.log(middle_s / low_s))
    return sigma if sigma >= NOTICED else 0.0


def _seen_by(record: VariantRecord, models: str, others: Sequence[str], means_s: Mapping[str, float]) -> VariantRecord:
    """The record without what happened in the other containers."""
    own = {one.model: one for one in record.containers if one.container == models and one.warm}
    others_s = sum(means_s[name] for name in others)

    def warm(model: str, sums: RecordedWarm) -> RecordedWarm:
        each: RecordedContainer | None = own.get(model)
        predict_s = means_s[models] if each is None else each.warm_s / each.warm
        spent_s = sums.spent_s - others_s * sums.requests
        return RecordedWarm(sums.requests, spent_s, predict_s * sums.requests, 0, 0.0, 0.0)

    def whole(row: Whole) -> Whole:
        if row.status >= ERROR_FROM or WaitStep.PREDICT not in row.steps or not row.container_s:
            return row._replace(effort=None)
        beside_s = sum(row.container_s.get(name, 0.0) for name in others)
        predict_s = max(0.0, row.steps[WaitStep.PREDICT] - beside_s)
        return row._replace(effort=None, steps={**row.steps, WaitStep.PREDICT: predict_s})

    return replace(
        record,
        whole=[whole(row) for row in record.whole],
        warm={model: warm(model, sums) for model, sums in record.warm.items()},
        delays_s=(),
        alone=(),
    )
