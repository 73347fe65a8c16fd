"""Measures models by calls of an endpoint: their answers, and what `Server-Timing` says that each call took."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from torpor.calling.answer import Answer
from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, TorporError
from torpor.group_profiles.answered_accuracy import AccuracyMeasure, accuracy, read_answers
from torpor.group_profiles.measured_group import MeasuredModel
from torpor.group_profiles.sample_rows import SampleRows
from torpor.pages import state
from torpor.pages.ledger import Which, cold_starts
from torpor.pages.model_retiring import retire
from torpor_container.wire import WaitStep
from torpor_endpoint.core.ledger import COLD_STEPS
from torpor_endpoint.core.pages import PageName

CSV = "text/csv"
WAKE = (WaitStep.HOLD.value, WaitStep.WAKE.value)
"""The steps of a call that waited for an instance."""
LOAD = tuple(step.value for step in COLD_STEPS if step.value not in WAKE)
WAKES_READ = 1000


class CalledInTiers(Protocol):
    """Calls of one model, which stands on one tier before each."""

    def call(self, body: bytes) -> Answer:
        """The model's answer to these lines of CSV."""

    def unload(self) -> None:
        """Have the model leave memory. It stays on disk."""

    def reload(self) -> None:
        """Have the model read from S3 again."""

    def size_bytes(self) -> int | None:
        """What it takes of the memory; None if that is not known."""


@dataclass(frozen=True)
class MeasuringPlan:
    """What is measured: `rows` are the numbers of rows whose latency is, `calls` is how often each of them and each
    load is. Without a `measure` the accuracy is not."""

    rows: Sequence[int]
    calls: int
    measure: AccuracyMeasure | None


def measured(
    model: str, calls: CalledInTiers, sample: SampleRows, plan: MeasuringPlan, wake_ms: float | None
) -> MeasuredModel:
    """`wake_ms` is what a call waits for an instance where none runs; None if that is not known, unless the first call
    here waits for one. Raises TorporError, botocore's ClientError."""
    one_row = sample.body(1)
    waited_ms = _spent(calls.call(one_row).steps_ms, WAKE)
    s3_ms = median(_reload_ms(calls.reload, calls, one_row) for _ in range(plan.calls))
    disk_ms = median(_reload_ms(calls.unload, calls, one_row) for _ in range(plan.calls))
    woken_ms = waited_ms or wake_ms
    loads = {"disk": min(disk_ms, s3_ms), "s3": s3_ms, **({} if woken_ms is None else {"asleep": s3_ms + woken_ms})}
    latencies = {rows: _latency_ms(calls, sample, rows, plan.calls) for rows in plan.rows}
    right = None if plan.measure is None else _accuracy(calls, sample, max(plan.rows), plan.measure)
    return MeasuredModel(model, right, latencies, loads, calls.size_bytes())


def _reload_ms(put_away: Callable[[], None], calls: CalledInTiers, body: bytes) -> float:
    put_away()
    return _spent(calls.call(body).steps_ms, LOAD)


def _latency_ms(calls: CalledInTiers, sample: SampleRows, rows: int, times: int) -> float:
    body = sample.body(rows)
    calls.call(body)  # the first prediction of a size may prepare what later ones use
    return median(_warm_ms(calls.call(body).steps_ms) for _ in range(times))


def _accuracy(calls: CalledInTiers, sample: SampleRows, together: int, measure: AccuracyMeasure) -> float:
    assert sample.labels is not None, "a measure is for labels"
    answers: list[list[str]] = []
    for since in range(0, len(sample.rows), together):
        rows = min(together, len(sample.rows) - since)
        answer = calls.call(sample.body(rows, since))
        answers += read_answers(answer.body, answer.content_type, rows)
    return accuracy(sample.labels, answers, measure)


def _spent(steps_ms: Mapping[str, float], steps: Sequence[str]) -> float:
    return sum(steps_ms.get(step, 0.0) for step in steps)


def _warm_ms(steps_ms: Mapping[str, float]) -> float:
    if not steps_ms:
        raise TorporError("the answers have no Server-Timing: models are measured on an endpoint of Torpor")
    return sum(took_ms for step, took_ms in steps_ms.items() if step not in COLD_STEPS)


class EndpointCalls:
    """`CalledInTiers` of a model of a live endpoint."""

    def __init__(self, connection: EndpointConnection, endpoint: str, model: str) -> None:
        self._connection = connection
        self._endpoint = endpoint
        self._model = model
        self._key = model
        self._caller = connection.caller()

    def call(self, body: bytes) -> Answer:
        answer = self._caller.invoke(self._endpoint, body, target_model=self._model, content_type=CSV, accept=CSV)
        self._key = answer.headers.get("x-torpor-target-model", self._model)  # the version, of a model with versions
        return answer

    def unload(self) -> None:
        retire(self._connection, self._endpoint, self._key, PageName.UNLOAD)

    def reload(self) -> None:
        retire(self._connection, self._endpoint, self._key, PageName.RELOAD)

    def size_bytes(self) -> int | None:
        (found,) = [one for one in state.endpoints(self._connection) if one.name == self._endpoint]
        sizes = [one.size_bytes for instance in found.instances for one in instance.named(self._key)]
        return max(sizes, default=None)

    def close(self) -> None:
        self._caller.close()


def ledgers_wake_ms(connection: EndpointConnection, endpoint: str) -> float | None:
    """What cold starts waited for an instance, from the ledger: the median; None without such a cold start."""
    try:
        found = cold_starts(connection, Which(endpoint), limit=WAKES_READ)
    except EndpointRefused:  # the ledger does not know an endpoint without requests
        return None
    return median([waited_s * 1000 for one in found if (waited_s := _spent(one.steps, WAKE))] or [0.0]) or None
