"""One variant's service times together, fitted to its ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from torpor.simulator.fitting import figures
from torpor.simulator.fitting.laws import Law, Laws, grouped
from torpor.simulator.fitting.reading import read
from torpor.simulator.fitting.records import Memory, RecordedEffort
from torpor.workloads.profile import ModelProfile
from torpor.workloads.trace import BadTrace

Explained = dict[str, str | float | None]


@dataclass(frozen=True)
class Fitted:
    """One variant's service times, in seconds. A model of a single-model variant takes no room: its wake loads it.

    `predict_s` of a profile is the mean of warm requests, so a draw is `predict_s * exp(N(-sigma**2 / 2, sigma))`; the
    other times are medians, so a draw is `load_s * exp(N(0, sigma))`. A sigma is 0 where nothing tells it.
    """

    profiles: Mapping[str, ModelProfile] = field(repr=False)
    wake_s: float | None  # a request that finds no instance, until one is ready; None if none was seen to start
    overhead_s: float  # a warm request beyond its prediction
    beside_load_s: float  # a request that loads its model, beyond the steps, those who leave, and a warm prediction
    predict_sigma: float
    load_sigma: float
    laws: Sequence[Law] = field(repr=False)
    assumed: Sequence[str]  # models with no load, or no prediction, on record
    memory: Memory | None = None  # of its instances, and what they take of it beside their models; None: nobody told

    def explain(self) -> list[Explained]:
        """A row for each figure and law, as for a table: `pandas.DataFrame(fitted.explain())`."""
        single = ("wake_s", "overhead_s", "beside_load_s", "predict_sigma", "load_sigma")
        return [*({"figure": name, "value": getattr(self, name)} for name in single), *map(_explained, self.laws)]


def fitted(path: Path | str, endpoint: str | None = None, variant: str | None = None) -> Fitted:
    """From `ledger.sqlite`, also of an endpoint that runs.

    A model has the medians of its own loads where it has three on record, otherwise its format's law at its own size;
    one that answered and has no load on record gets the law at the usual size. A name that was only ever an error is no
    model. Raises BadTrace.
    """
    record = read(Path(path), endpoint, variant)
    predictions = figures.predictions(record)
    if record.models and not record.loads:
        raise BadTrace(f"{record} has no load on record: call models that are not in memory, or give profiles in a CSV")
    if not predictions:
        raise BadTrace(f"{record} has no request on record that went well: call it, or give profiles in a CSV")

    laws, usual = Laws(record.loads, record.busy), RecordedEffort(*map(median, zip(*predictions.values(), strict=True)))
    own = grouped((load.model, load) for load in record.loads)
    profiles = {
        name: figures.profile(name, own.get(name, ()), laws, predictions.get(name, usual), record.busy)
        for name in sorted(record.models)
    }
    if (single := record.single_model) is not None:
        predicts = predictions.get(single, usual)
        profiles[single] = ModelProfile(
            single, 0, 0, 0.0, 0.0, 0.0, 0.0, predicts.work_s, predict_delay_s=figures.noticed_s(predicts.delay_s)
        )
    assumed = (record.models - own.keys()) | (record.models - predictions.keys())
    return Fitted(
        profiles,
        figures.wake_s(record),
        figures.overhead_s(record),
        figures.beside_load_s(record, profiles),
        figures.predict_sigma(record),
        figures.load_sigma(record.loads, laws),
        tuple(laws.told),
        tuple(sorted(assumed)),
        record.memory,
    )


def _explained(law: Law) -> Explained:
    line = law.line
    size = {"bytes_per_s": line.bytes_per_s, "bytes_per_s_error": line.bytes_per_s_error, "sigma": line.sigma}
    row: Explained = {"figure": law.what, "value": line.fixed_s, "error": line.fixed_error_s, **size}
    return row | {"format": law.format, "tier": law.tier, "models": law.models, "loads": law.loads}
