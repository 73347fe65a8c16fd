"""Fits all service times of one variant to its ledger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from torpor.simulator.fitting import estimates
from torpor.simulator.fitting.fitted_pipeline import FittedPipeline, pipeline
from torpor.simulator.fitting.ledger_reader import read
from torpor.simulator.fitting.room_of_evictions import room_bytes
from torpor.simulator.fitting.time_laws import Law, Laws, grouped
from torpor.simulator.fitting.variant_records import Memory, RecordedEffort, RecordedSetup, RecordedWait, VariantRecord
from torpor.workloads.profile import ContainerProfile, ModelProfile
from torpor.workloads.trace import BadTrace

Explained = dict[str, str | float | None]


@dataclass(frozen=True)
class Fitted:
    """One variant's service times, in seconds. A single-model variant's model has size 0: waking the instance loads it.

    `predict_s` of a profile is the mean of warm requests, so a draw is `predict_s * exp(N(-sigma**2 / 2, sigma))`; the
    other times are medians, so a draw is `load_s * exp(N(0, sigma))`. A sigma is 0 if it is not known.
    """

    profiles: Mapping[str, ModelProfile] = field(repr=False)
    wake_s: float | None  # from a request that finds no instance until one is ready; None if none started
    overhead_s: float  # a warm request beyond its prediction
    beside_load_s: float  # a request that loads its model, beyond the steps, evictions, and its prediction
    first_predict_s: float  # the first prediction after a load, beyond a warm one
    imports_s: float  # the first load on the machine, for libraries
    predict_sigma: float
    load_sigma: float
    laws: Sequence[Law] = field(repr=False)
    assumed: Sequence[str]  # models without a recorded load, or without a recorded prediction
    memory: Memory | None = None  # of its instances; None if it was not recorded
    containers: tuple[ContainerProfile, ...] = ()  # of a pipeline, in its order
    unread: Sequence[str] = ()  # containers whose memory was not recorded
    setup: RecordedSetup | None = None  # None in a ledger of an earlier version
    size: str = ""  # of its newest instance: an ml.* type, or a serverless one
    response_bytes: float = 0.0  # of an answer, on average
    stand_in: Callable[[str], ModelProfile] | None = field(default=None, repr=False)
    """The profile of a model that the ledger lacks, by its name: the usual size, and the laws' times at that size. None
    of a single-model variant, which has no laws."""
    unworked: Sequence[str] = ()  # models and containers of which the ledger does not say what answers

    def explain(self) -> list[Explained]:
        """A row for each figure and law, for `pandas.DataFrame(fitted.explain())`."""
        single = (
            "wake_s", "overhead_s", "beside_load_s", "first_predict_s", "imports_s", "predict_sigma", "load_sigma",
        )  # fmt: skip
        passed: list[Explained] = [
            {"figure": f"in {one.name}", "value": one.predict_s, "sigma": one.predict_sigma}
            for one in self.containers
            if not one.models
        ]
        return [
            *({"figure": name, "value": getattr(self, name)} for name in single),
            *passed,
            *map(_explained, self.laws),
        ]


def fitted(path: Path | str, endpoint: str | None = None, variant: str | None = None) -> Fitted:
    """Fit a variant to `ledger.sqlite`, also while the endpoint runs.

    A model with at least three recorded loads has their medians, otherwise the times of its format's law at its own
    size; without any recorded load, at the usual size. A name that only ever got errors is not a model. Raises
    BadTrace.
    """
    piped = pipeline(read(Path(path), endpoint, variant))
    record = piped.record
    predictions = estimates.predictions(record)
    if record.models and not record.loads:
        raise BadTrace(f"{record} has no recorded load: call models that are not in memory, or give profiles in a CSV")
    if not predictions:
        raise BadTrace(f"{record} has no recorded request that succeeded: call it, or give profiles in a CSV")

    laws, usual = Laws(record.loads, record.busy), RecordedEffort(*map(median, zip(*predictions.values(), strict=True)))
    own = grouped((load.model, load) for load in record.loads)
    profiles = {
        name: estimates.profile(name, own.get(name, ()), laws, predictions.get(name, usual), record)
        for name in sorted(record.models)
    }
    stand_in = partial(estimates.profile, loads=(), laws=laws, predicts=usual, record=record)
    if (single := record.single_model) is not None:
        predicts = predictions.get(single, usual)
        profiles[single] = ModelProfile(
            single, 0, 0, 0.0, 0.0, 0.0, 0.0, predicts.work_s,
            predict_delay_s=estimates.noticed_s(predicts.delay_s), workers=record.container_workers.get("", 0),
        )  # fmt: skip
    assumed = (record.models - own.keys()) | (record.models - predictions.keys())
    return Fitted(
        profiles,
        estimates.wake_s(record),
        estimates.overhead_s(record),
        estimates.beside_load_s(record),
        estimates.first_predict_s(record, profiles),
        estimates.imports_s(record),
        estimates.predict_sigma(record),
        estimates.load_sigma(record.loads, laws),
        tuple(laws.fitted),
        tuple(sorted(assumed)),
        _memory(record, piped.containers, profiles),
        piped.containers,
        piped.unread,
        record.setup,
        record.size,
        record.response_bytes,
        stand_in if record.loads else None,
        _unworked(record, own, piped),
    )


def _unworked(
    record: VariantRecord, own: Mapping[str, Sequence[RecordedWait]], piped: FittedPipeline
) -> tuple[str, ...]:
    """The models, or containers of one model, of which the ledger does not say what answers their requests."""
    models = (name for name in sorted(record.models) if estimates.workers(own.get(name) or record.loads) is None)
    single = record.single_model if not piped.containers and "" not in record.container_workers else None
    return (*models, *([single] if single is not None else ()), *piped.unworked)


def _memory(
    record: VariantRecord, containers: Sequence[ContainerProfile], profiles: Mapping[str, ModelProfile]
) -> Memory | None:
    """The memory of an instance, and what it takes beside models by its own evictions; of a pipeline, what the
    container with the models takes beside them."""
    if record.memory is None:
        return None
    if containers:
        with_models = next(one.name for one in containers if one.models)
        own_bytes = record.container_bytes.get(with_models, record.memory.own_bytes)
    else:
        budget_bytes, sizes = record.memory.budget_bytes, {name: one.memory_bytes for name, one in profiles.items()}
        room = room_bytes(record.memory_reports, sizes, budget_bytes - record.memory.own_bytes)
        own_bytes = max(0, budget_bytes - room)
    return record.memory._replace(own_bytes=own_bytes)


def _explained(law: Law) -> Explained:
    line = law.line
    size = {"bytes_per_s": line.bytes_per_s, "bytes_per_s_error": line.bytes_per_s_error, "sigma": line.sigma}
    row: Explained = {"figure": law.what, "value": line.fixed_s, "error": line.fixed_error_s, **size}
    return row | {"format": law.format, "tier": law.tier, "models": law.models, "loads": law.loads}
