"""A reader of differences knows the models of a container as a reader of whole reports does."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torpor_container.modes.model_reports import ModelReports, StateRequest
from torpor_container.wire import LoadedModel
from torpor_endpoint.fleet.supervision.resident_models import ResidentModels


def model(name: str, hits: int = 0, idle_s: float = 0.0, mapped: bool = False) -> LoadedModel:
    own: LoadedModel = {"name": name, "size_bytes": 1, "in_flight": 0, "idle_s": idle_s, "format": "f", "hits": hits}
    return {**own, "mapped": mapped}


ROUNDS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcd"), st.tuples(st.integers(0, 2), st.booleans())), st.booleans()),
    max_size=8,
)


@given(ROUNDS)
def test_a_reader_of_differences_knows_what_a_reader_of_all_knows(
    rounds: list[tuple[dict[str, tuple[int, bool]], bool]],
) -> None:
    """`lost`: the answer does not arrive, so that the reader's next question names an older report."""
    reports, known, shown = ModelReports(), ResidentModels(), dict[str, Any]()
    for at_s, (now, lost) in enumerate(rounds):
        models = [model(name, hits, idle_s=0.5, mapped=mapped) for name, (hits, mapped) in now.items()]
        told = StateRequest(since=known.report).told(models, reports)
        if not lost:
            known.take(told, float(at_s))
            shown = {name: (hits, mapped) for name, (hits, mapped) in now.items()}
        assert {one["name"]: (one["hits"], one["mapped"]) for one, _ in known} == shown
        assert (len(known), known.mapped) == (len(shown), sum(mapped for _, mapped in shown.values()))


def test_a_model_that_nobody_calls_keeps_the_moment_of_its_last_call() -> None:
    reports, known = ModelReports(), ResidentModels()
    for at_s in (10.0, 50.0):
        told = reports.report([model("a", idle_s=at_s - 7.0)], known.report)
        known.take(told, at_s)
    assert [used_s for _, used_s in known] == [7.0]
    assert told["models"] == []


def test_a_container_that_knows_no_differences_tells_all_each_time() -> None:
    known = ResidentModels()
    for told in ("ab", "b", ""):
        known.take({"models": [model(name) for name in told]}, 1.0)
        assert "".join(one["name"] for one, _ in known) == told
    assert known.report == 0
