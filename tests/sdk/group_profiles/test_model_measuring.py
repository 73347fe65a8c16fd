"""A model is measured by calls from each tier, and the group's file keeps what was not measured."""

import json
from typing import Any

import pytest

from torpor.calling.answer import Answer
from torpor.errors import TorporError
from torpor.group_profiles.answered_accuracy import AccuracyMeasure
from torpor.group_profiles.measured_group import MeasuredModel, measured_file, new_group_file
from torpor.group_profiles.model_measuring import MeasuringPlan, measured
from torpor.group_profiles.sample_rows import SampleRows

SAMPLE = SampleRows(("1", "2", "3"), ("1", "0", "1"))


class ModelOfTiers:
    """It answers 1 to each row, loads within 80 ms from S3 and 30 from disk, and predicts for 1 ms and 1 ms a row."""

    def __init__(self, timed: bool = True) -> None:
        self.tier = "asleep"
        self.timed = timed

    def call(self, body: bytes) -> Answer:
        rows = body.count(b"\n")
        cold = {"asleep": "wake;dur=900, download;dur=50, load;dur=30", "s3": "download;dur=50, load;dur=30"}
        steps = [*filter(None, [{**cold, "disk": "load;dur=30"}.get(self.tier)]), f"predict;dur={rows}, overhead;dur=1"]
        self.tier = "memory"
        return Answer(b"1\n" * rows, {"server-timing": ", ".join(steps)} if self.timed else {})

    def unload(self) -> None:
        self.tier = "disk"

    def reload(self) -> None:
        self.tier = "s3"

    def size_bytes(self) -> int | None:
        return 20480


def test_each_figure_is_of_its_own_tier_and_number_of_rows() -> None:
    found = measured("a", ModelOfTiers(), SAMPLE, MeasuringPlan((1, 8), 3, AccuracyMeasure.CLASSES), None)
    loads = {"disk": 30.0, "s3": 80.0, "asleep": 980.0}
    assert found == MeasuredModel("a", 2 / 3, {1: 2.0, 8: 9.0}, loads, 20480)


def test_an_instance_that_runs_already_has_the_wake_of_the_ledger() -> None:
    calls = ModelOfTiers()
    calls.tier = "memory"
    plan = MeasuringPlan((1,), 1, None)
    assert measured("a", calls, SAMPLE, plan, 700.0).load_ms["asleep"] == 780.0
    assert "asleep" not in measured("a", calls, SAMPLE, plan, None).load_ms
    with pytest.raises(TorporError, match="Server-Timing"):
        measured("a", ModelOfTiers(timed=False), SAMPLE, plan, None)


def test_the_file_keeps_what_was_not_measured() -> None:
    before: dict[str, Any] = {"models": {"a": {"accuracy": 0.5, "usd_per_hour": 2}, "b": {"latency_ms": {"4": 1}}}}
    found = [MeasuredModel("a", None, {1: 1.23456789}, {"s3": 80.0}, 7)]
    before["models"]["b"]["usd_per_hour"] = 3
    read = json.loads(measured_file("digits", before, found, None, {"rows": 3}))
    assert read["models"]["a"] == {
        "accuracy": 0.5,
        "usd_per_hour": 2,
        "latency_ms": {"1": 1.23457},
        "load_ms": {"s3": 80.0},
        "size_bytes": 7,
    }
    assert (read["models"]["b"], read["measured"]) == (before["models"]["b"], {"rows": 3})
    assert json.loads(measured_file("digits", new_group_file(["a"]), found, 0.1, {}))["usd_per_hour"] == 0.1
