"""Choices of one group and need are one record, which the last of them explains."""

from torpor_endpoint.core.model_choice.choosing_model import IN_MEMORY, ModelChoice, choose_model
from torpor_endpoint.core.model_choice.made_choices import made_choices
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel
from torpor_endpoint.core.model_choice.stated_need import StatedNeed, read_need

GROUP = ChoiceGroup("digits", (GroupedModel("a", 0.9, ((1, 2.0),)),))


def choice(need: str, rows: int = 1) -> ModelChoice:
    return choose_model(GROUP, read_need(need), {"a": IN_MEMORY}, rows)


def test_choices_of_one_need_are_counted_whatever_their_rows() -> None:
    chosen = [(1.0, choice("latency_ms=20")), (2.0, choice("")), (3.0, choice("rows=2, latency_ms=20.0", 2))]
    found = made_choices("houses", "v", "a/7", chosen)
    assert [(one.at_s, one.need, one.model, one.requests) for one in found] == [
        (3.0, "latency_ms=20", "a/7", 2),
        (2.0, "any model", "a/7", 1),
    ]
    assert "rows=2" in found[0].why
    assert made_choices("houses", "v", "a", []) == []


def test_a_choice_keeps_the_need_that_it_met() -> None:
    assert choice("min_accuracy=0.5").need == StatedNeed(min_accuracy=0.5)
