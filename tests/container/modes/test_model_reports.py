"""What an instance tells of its models: all, the latest, or what has changed since the report that its reader has."""

from typing import Any

import pytest

from torpor_container.errors import BadInput
from torpor_container.modes.model_reports import ModelReports, StateRequest
from torpor_container.wire import LoadedModel


def model(name: str, hits: int = 0, idle_s: float = 0.0, mapped: bool = False) -> LoadedModel:
    own: LoadedModel = {"name": name, "size_bytes": 1, "in_flight": 0, "idle_s": idle_s, "format": "f", "hits": hits}
    return {**own, "mapped": mapped}


def names(told: Any) -> list[str]:
    return [one["name"] for one in told["models"]]


def test_a_report_has_what_changed_and_what_left() -> None:
    reports = ModelReports()
    first = reports.report([model("a"), model("b"), model("c")], 0)
    assert (names(first), first["report"], "since" in first) == (["a", "b", "c"], 1, False)
    second = reports.report([model("a", idle_s=9.0), model("b", hits=1), model("d")], 1)
    assert (names(second), second["since"], second["gone"]) == (["b", "d"], 1, ["c"])


@pytest.mark.parametrize("known", [0, 1, 7])
def test_a_reader_that_has_another_report_gets_all(known: int) -> None:
    reports = ModelReports()
    for _ in range(2):
        reports.report([model("a")], 0)
    assert names(reports.report([model("a")], known)) == ["a"]


def test_all_or_the_latest_are_told_where_no_differences_are_asked_for() -> None:
    models = [model("a", idle_s=2.0), model("b", idle_s=1.0)]
    assert names(StateRequest().told(models, ModelReports())) == ["a", "b"]
    latest = StateRequest(most=1).told(models, ModelReports())
    assert (names(latest), latest["model_count"]) == (["b"], 2)


def test_models_whose_names_begin_so_are_told_alone() -> None:
    models = [model("a/1/m"), model("a/2/m"), model("ab/1/m"), model("b")]
    asked = StateRequest.read({"below": "a/"})
    assert names(asked.told(models, ModelReports())) == ["a/1/m", "a/2/m"]
    assert StateRequest(below="a", most=1).told(models, ModelReports())["model_count"] == 3


@pytest.mark.parametrize("name", ["after", "most", "since"])
@pytest.mark.parametrize("value", ["", "-1", "1.0", "x", "\u0662", "1" * 20])
def test_a_parameter_that_is_no_number_is_named(name: str, value: str) -> None:
    with pytest.raises(BadInput, match=f"{name}="):
        StateRequest.read({name: value})
