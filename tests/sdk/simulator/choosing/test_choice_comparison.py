"""Calls of a group in virtual time: each rule chooses as it says, and the endpoint's own meets needs for the least."""

from dataclasses import replace

import pytest

import torpor
from torpor.errors import TorporError
from torpor.simulator.choosing.choice_comparison import simulate_choice
from torpor.simulator.choosing.choice_rules import RULES, ChoiceMoment, RuleName
from torpor.simulator.choosing.group_planning import plan_choice, plan_group
from torpor.simulator.planning.plan_space import PlanSpace
from torpor.workloads.trace import BadTrace, recorded
from torpor_endpoint.core.model_choice.choosing_model import ModelState
from torpor_endpoint.core.model_choice.model_group import ChoiceGroup, GroupedModel, ModelTier
from torpor_endpoint.core.model_choice.stated_need import StatedNeed

MIB = 2**20


def model(name: str, accuracy: float, took_ms: float, s3_ms: float) -> GroupedModel:
    loads = {ModelTier.DISK: s3_ms / 2, ModelTier.S3: s3_ms, ModelTier.ASLEEP: s3_ms + 100}
    return GroupedModel(name, accuracy, ((1, took_ms),), loads, 50 * MIB, 0.115)


GROUP = ChoiceGroup(
    "digits", (model("small", 0.85, 2, 60), model("middle", 0.92, 20, 200), model("large", 0.97, 90, 600))
)
NEEDS = ("digits?latency_ms=150, min_accuracy=0.8", "digits?latency_ms=400, min_accuracy=0.95")
CALLS = recorded([(number * 0.05, NEEDS[number % 8 == 0]) for number in range(800)])


def states(**tiers: ModelTier) -> dict[str, ModelState]:
    return {one.model: ModelState(tiers.get(one.model, ModelTier.S3)) for one in GROUP.models}


@pytest.mark.parametrize(
    ("rule", "need", "tiers", "expected"),
    [
        (RuleName.BEST, StatedNeed(), {}, "large"),
        (RuleName.FASTEST, StatedNeed(min_accuracy=0.95), {}, "small"),
        (RuleName.INFAAS, StatedNeed(100, 0.8), {"small": ModelTier.MEMORY, "middle": ModelTier.MEMORY}, "middle"),
        (RuleName.INFAAS, StatedNeed(100, 0.9), {"small": ModelTier.MEMORY}, "middle"),  # the shortest load
        (RuleName.INFAAS, StatedNeed(1, 0.9), {}, "middle"),  # nothing meets it: the fastest of the accurate ones
        (RuleName.INFAAS, StatedNeed(1, 0.99), {}, "large"),
        (RuleName.TORPOR, StatedNeed(100, 0.8), {"small": ModelTier.MEMORY, "middle": ModelTier.MEMORY}, "small"),
        (RuleName.TORPOR, StatedNeed(min_accuracy=0.99), {}, "large"),  # the nearest
    ],
)
def test_each_rule_chooses_as_it_says(
    rule: RuleName, need: StatedNeed, tiers: dict[str, ModelTier], expected: str
) -> None:
    assert RULES[rule](ChoiceMoment(GROUP, need, states(**tiers), 100.0)).model == expected


def test_the_own_rule_meets_the_needs_for_less_than_the_rules_beside_it() -> None:
    compared = simulate_choice(CALLS, GROUP, instances=1, instance_type="ml.m5.large")
    own, best, fastest = (compared[rule] for rule in (RuleName.TORPOR, RuleName.BEST, RuleName.FASTEST))
    assert [one.calls for one in compared.outcomes] == [800] * 4
    assert own.late_share < 0.02
    assert (own.inexact, fastest.inexact) == (1, 100)  # one call came while the large model was loaded
    assert (own.late, best.late_share > 0.1) == (0, True)  # one model is too slow for all calls
    by_infaas = compared[RuleName.INFAAS].processing_usd
    assert by_infaas is not None
    assert own.processing_usd is not None
    assert by_infaas > 2 * own.processing_usd  # it takes the slowest that is quick enough
    assert best.accuracy > own.accuracy > fastest.accuracy
    assert own.models["large"] == 99
    frame = compared.frame()
    assert frame.loc["torpor", "calls"] == 800


def test_the_cheapest_scenario_that_meets_the_needs_is_planned() -> None:
    ways = [torpor.Scenario(instance_type="ml.m5.large", instances=count) for count in (1, 2)]
    found = plan_choice(CALLS, GROUP, ways, late_max=0.05)
    assert found.chosen is found.outcomes[0]
    assert plan_choice(CALLS, GROUP, ways, late_max=0.0).chosen is None  # the first calls wait for loads


def test_a_plan_tries_the_cheapest_hardware_first_and_ends_where_the_needs_are_met() -> None:
    space = PlanSpace(["ml.m5.large", "ml.m5.xlarge"], instances_max=2, idle_s=[])
    found = plan_group(CALLS, GROUP, quantile=0.95, space=space)
    assert found.best is not None
    assert found.best.scenario.name == "1 x ml.m5.large, LRU"
    assert len(found.trials) == 1
    none = plan_group(CALLS, GROUP, quantile=0.9999, space=space)  # the first calls wait for loads
    assert none.best is None
    assert [one.scenario.name for one in none.trials] == [
        f"{size}, LRU" for size in ("1 x ml.m5.large", "1 x ml.m5.xlarge", "2 x ml.m5.large", "2 x ml.m5.xlarge")
    ]
    assert all(one.outcome.result is None for one in none.trials)  # stopped early


def test_no_scenario_is_tried_that_has_no_more_of_anything_than_one_that_missed() -> None:
    space = PlanSpace(["ml.m5.xlarge", "ml.t2.medium"], instances_max=1, idle_s=[], policies=["LRU"])
    tight = replace(space, like=torpor.Scenario(memory_bytes=60 * MIB))
    found = plan_group(CALLS, GROUP, quantile=0.9999, space=tight)
    assert [one.scenario.instance_type for one in found.trials] == ["ml.t2.medium", "ml.m5.xlarge"]
    wider = replace(tight, instance_types=["ml.m5.large", "ml.t2.medium"])  # both have two processors
    assert len(plan_group(CALLS, GROUP, quantile=0.9999, space=wider).trials) == 1


def test_what_a_group_or_a_trace_lacks_is_named() -> None:
    with pytest.raises(TorporError, match="model bare of the group has no latency_ms"):
        simulate_choice(CALLS, ChoiceGroup("digits", (GroupedModel("bare"),)))
    for need, told in (("latency=1", "not understood"), ("rows=2", "leave out rows")):
        with pytest.raises(BadTrace, match=told):
            simulate_choice(recorded([(0.0, f"digits?{need}")]), GROUP)
