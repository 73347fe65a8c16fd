"""The story of a model, as a person reads it."""

from dataclasses import replace
from datetime import datetime

from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.model_groups import GroupState
from torpor_endpoint.core.pages.state import DecisionRow, InstanceState, ResidentModel, VariantState
from torpor_endpoint.core.pages.story import HAPPENED, Story, described, remembered, why_cold

NOON_S = datetime(2026, 5, 1, 12).timestamp()
COLD = ColdStart(
    NOON_S, "houses", "v", "a", "i-1", 200, 0.423, {"load": 0.3, "predict": 0.123}, victims=("b",), reason="first use"
)


def test_a_story_names_the_model_that_needed_the_room() -> None:
    evicted = DecisionRow(0.0, "a", "evict", "b needs the room; idle for 2.0 s after 3 hits", for_model="b")
    assert described(evicted).endswith("has to leave memory: b needs the room; idle for 2.0 s after 3 hits")


def test_a_story_says_how_long_it_took_and_how_it_stands() -> None:
    story = Story(
        "a",
        (DecisionRow(0.0, "a", "loaded", "measured", took_s=0.0119),),
        (ResidentModel("a", 2**21, 0, 1.25, "onnx", 4),),
    )
    first, last = story.lines()
    assert first.endswith("was loaded in 11.9 ms: measured")
    assert last == "now: in memory, 2.0 MiB, 4 hits, idle for 1.2 s"


def test_the_story_of_an_unloaded_model_says_that_it_is_not_in_memory() -> None:
    assert Story("a", (DecisionRow(0.0, "a", "unloaded"),)).lines()[-1] == "now: not in memory"


def test_the_story_of_an_unknown_model_says_that_nothing_is_known() -> None:
    (only,) = Story("a", (), variants=(VariantState("v", 0, 0, ()),)).lines()
    assert only.startswith("nothing is known about it")
    assert "the ledger has no cold start of it" in only


def test_the_story_of_a_model_without_instances_comes_from_the_ledger() -> None:
    first, row, last = Story("a", (), past=(COLD,), variants=(VariantState("v", 0, 0, ()),), told_s=NOON_S).lines()
    assert first.startswith("no running instance has decided anything about it")
    assert row == "12:00:00.000  a request took 423 ms (load 300 ms, predict 123 ms): first use; b left"
    assert last == "now: not in memory; v: nothing runs until a request comes"


def test_the_cold_start_of_a_pipeline_has_the_time_in_each_container() -> None:
    passed = replace(COLD, container_s={"clean": 0.002, "houses": 0.42})
    assert remembered(passed) == (
        "a request took 423 ms (load 300 ms, predict 123 ms; in clean 2.0 ms, in houses 420 ms): first use; b left"
    )


def test_the_cold_start_by_another_protocol_names_its_face() -> None:
    assert remembered(replace(COLD, face="tf-serving")).startswith("a request by tf-serving took 423 ms (load 300 ms")


def test_each_line_names_its_instance_if_there_are_several() -> None:
    two = (VariantState("v", 2, 0, (InstanceState("i-1", "v-0", 0), InstanceState("i-2", "v-1", 0))),)
    decisions = (DecisionRow(NOON_S, "a", "load", instance="i-2"),)
    resident = (ResidentModel("a", 2**20, 0, 0.0, "onnx", 1, "i-2"),)
    assert Story("a", decisions, resident, two, told_s=NOON_S).lines() == [
        "12:00:00.000  i-2  is to be loaded",
        "now: i-2  in memory, 1.0 MiB, 1 hit, idle for 0.0 s",
    ]
    assert "i-2" not in str(Story("a", decisions, resident))


def test_a_story_says_why_a_library_answers() -> None:
    decision = DecisionRow(0.0, "a", "not-mapped", reason="its booster is dart")
    assert described(decision) == "is served by its library: its booster is dart"


def test_a_word_that_is_not_known_here_is_shown_as_it_is() -> None:
    assert "pondered" not in HAPPENED
    assert described(DecisionRow(0.0, "a", "pondered")) == "pondered"


CHOSEN = MadeChoices(NOON_S, "houses", "v", "digits", "latency_ms=20", "a", 2, "group=digits; model=a; from=memory")


def test_the_story_of_a_group_has_its_choices_and_its_models() -> None:
    grouped = VariantState("v", 0, 0, (), groups=(GroupState("digits", ("a", "b"), ("c",)), GroupState("other")))
    chosen, now = Story("digits", (), variants=(grouped,), choices=(CHOSEN,), told_s=NOON_S).lines()
    why = "group=digits; model=a; from=memory"
    assert chosen == f"12:00:00.000  a answered 2 requests to group digits (latency_ms=20): {why}"
    assert now == "now: group digits of a, b; not there: c"


def test_the_story_of_a_group_that_answers_nothing_says_why() -> None:
    grouped = VariantState("v", 0, 0, (), groups=(GroupState("digits", fault="it is no JSON"),))
    assert Story("digits", (), variants=(grouped,)).lines() == ["now: group digits answers no call: it is no JSON"]


def test_choices_stand_among_the_decisions_about_a_model_by_time() -> None:
    decisions = (DecisionRow(NOON_S - 1, "a", "load"), DecisionRow(NOON_S + 1, "a", "unloaded"))
    lines = Story("a", decisions, choices=(CHOSEN,)).happened()
    assert [line.at_s - NOON_S for line in lines] == [-1, 0, 1]


def test_a_cold_start_says_by_which_choice_it_came() -> None:
    assert why_cold(replace(COLD, choice="group=digits")) == "first use; b left; chosen: group=digits"
