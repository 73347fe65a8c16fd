"""The result of a replay: columns with a row for each request, and statistics of them."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor.pages.data_frames import STEPS, pandas
from torpor_endpoint.core.ledger import COLD_STEPS, NOTICED_S

UNKNOWN = -1
"""The value in `hits` if the answer has no Server-Timing."""


@dataclass(frozen=True, eq=False)
class Replayed:
    """The outcomes of the requests: columns of one length, in the trace's order. Times are seconds since the start.

    A request is cold by the ledger's rule: it waited for an instance or a model. Without Server-Timing, `hits` has
    UNKNOWN and `steps_s` has NaN.
    """

    names: Sequence[str] = field(repr=False)
    outcome_names: Sequence[str]  # a status with the error's code, or the name of the error without an answer
    began_at_s: float  # epoch seconds
    interrupted: bool
    unanswered: int  # sent, but interrupted before the answer
    planned_s: NDArray[np.float64] = field(repr=False)
    sent_s: NDArray[np.float64] = field(repr=False)
    done_s: NDArray[np.float64] = field(repr=False)
    models: NDArray[np.int32] = field(repr=False)  # indexes into `names`
    outcomes: NDArray[np.int16] = field(repr=False)  # indexes into `outcome_names`
    statuses: NDArray[np.int16] = field(repr=False)
    hits: NDArray[np.int8] = field(repr=False)  # 1: the model was in memory; 0: it was not
    steps_s: NDArray[np.float32] = field(repr=False)  # a column for each of `data_frames.STEPS`
    messages: Mapping[str, str] = field(default_factory=dict, repr=False)  # the first message of each failed outcome

    def __len__(self) -> int:
        return len(self.sent_s)

    @property
    def good(self) -> NDArray[np.bool_]:
        good: NDArray[np.bool_] = self.statuses // 100 == 2
        return good

    @property
    def failed(self) -> int:
        return len(self) - int(self.good.sum())

    @property
    def timed(self) -> NDArray[np.bool_]:
        """Whether each answer had a Server-Timing header."""
        timed: NDArray[np.bool_] = ~np.isnan(self.steps_s[:, 0])
        return timed

    @property
    def cold(self) -> NDArray[np.bool_]:
        waits = [place for place, step in enumerate(STEPS) if step in COLD_STEPS]
        cold: NDArray[np.bool_] = self.steps_s[:, waits].max(axis=1) > NOTICED_S
        return cold

    @property
    def counts(self) -> dict[str, int]:
        """The number of requests by outcome, the most frequent first."""
        counts = np.bincount(self.outcomes, minlength=len(self.outcome_names)).tolist()
        pairs = sorted(zip(self.outcome_names, counts, strict=True), key=lambda pair: -pair[1])
        return {outcome: requests for outcome, requests in pairs if requests}

    @property
    def wall_s(self) -> float:
        """Seconds from the start to the last answer."""
        return float(self.done_s.max(initial=0.0))

    @property
    def in_flight_most(self) -> int:
        """The most requests that were in flight at one moment."""
        moments_s = np.concatenate((self.sent_s, self.done_s))
        steps = np.repeat(np.array([1, -1]), len(self))
        return int(np.cumsum(steps[np.lexsort((steps, moments_s))]).max(initial=0))

    def cold_share(self, outcome: str | None = None) -> float:
        """The share of cold requests, among those with Server-Timing, or with this outcome; NaN if there is none."""
        which = self.timed if outcome is None else self.timed & self._had(outcome)
        return float(self.cold[which].mean()) if which.any() else np.nan

    def latency_s(self, share: float, outcome: str | None = None) -> float:
        """The seconds from sending within which this share was answered: 0.99 for the p99. NaN if there is none.

        Of the requests that succeeded, or of those with this outcome.
        """
        which = self.good if outcome is None else self._had(outcome)
        return _quantile(self.done_s[which] - self.sent_s[which], share)

    def late_s(self, share: float) -> float:
        """How late this share was sent at most, in seconds. If that is much, the replay measured itself. NaN if there
        is none."""
        return _quantile(np.maximum(0.0, self.sent_s - self.planned_s), share)

    def frame(self) -> Any:
        """A pandas DataFrame with a row for each request: its time (UTC), model, outcome, and seconds by step."""
        frame = pandas().DataFrame(dict(self._columns()))
        kinds = {"model": "category", "outcome": "category", "hit": "boolean", "cold": "boolean"}
        at = pandas().to_datetime(self.began_at_s + self.sent_s, unit="s", utc=True)
        frame.insert(0, "at", at)
        return frame.astype(kinds)

    def write(self, path: Path) -> None:
        """Write the same rows as CSV, without `at`; unknown values are empty."""
        columns = dict(self._columns())
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                writer.writerow("" if cell != cell else cell for cell in row)

    def _had(self, outcome: str) -> NDArray[np.bool_]:
        had: NDArray[np.bool_] = self.outcomes == list(self.outcome_names).index(outcome)
        return had

    def _columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """The columns, rounded to microseconds."""
        known = np.array([False, True, None], dtype=object)  # the last one is for UNKNOWN
        yield "planned_s", self.planned_s.round(6)
        yield "sent_s", self.sent_s.round(6)
        yield "done_s", self.done_s.round(6)
        yield "model", np.array(self.names, dtype=object)[self.models]
        yield "outcome", np.array(self.outcome_names, dtype=object)[self.outcomes]
        yield "status", self.statuses
        yield "hit", known[self.hits]
        yield "cold", known[np.where(self.timed, self.cold, UNKNOWN)]
        for place, step in enumerate(STEPS):
            yield f"{step}_s", self.steps_s[:, place].astype(np.float64).round(6)


def _quantile(values_s: NDArray[np.float64], share: float) -> float:
    return float(np.quantile(values_s, share)) if len(values_s) else np.nan
