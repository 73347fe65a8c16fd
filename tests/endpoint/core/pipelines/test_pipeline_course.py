"""The course of an execution: each step once, after those that it waits for, in the same order whatever ends first."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.core.pipelines.test_pipeline_definition import condition, definition, step
from torpor_endpoint.core.pipelines.pipeline_course import Advance, StepSeen, StepStatus, advance
from torpor_endpoint.core.pipelines.pipeline_definition import PipelineDefinition, read_definition

RUNS, DONE = StepSeen(StepStatus.EXECUTING), StepSeen(StepStatus.SUCCEEDED)
FAILED, STOPPED = StepSeen(StepStatus.FAILED), StepSeen(StepStatus.STOPPED)
YES, NO = StepSeen(StepStatus.SUCCEEDED, True), StepSeen(StepStatus.SUCCEEDED, False)
FORK = read_definition(definition(step("a"), step("b"), step("c", DependsOn=["a"]), step("d", DependsOn=["b", "c"])))
BRANCH = read_definition(
    definition(condition("if", [step("yes")], [step("no")]), step("after", DependsOn=["if"]), step("free"))
)


def next_of(defined: PipelineDefinition, seen: dict[str, StepSeen], parallel: int = 9) -> Advance:
    return advance(defined, seen, parallel, stopping=False)


def test_a_step_has_one_of_aws_s_states() -> None:
    assert list(StepStatus) == ["Executing", "Succeeded", "Failed", "Stopped"]


def test_a_step_begins_once_all_before_it_have_succeeded() -> None:
    assert next_of(FORK, {}) == Advance(("a", "b"))
    assert next_of(FORK, {"a": DONE, "b": RUNS}) == Advance(("c",))
    assert next_of(FORK, {"a": DONE, "b": DONE, "c": RUNS}) == Advance()
    assert next_of(FORK, {"a": DONE, "b": DONE, "c": DONE}) == Advance(("d",))
    assert next_of(FORK, dict.fromkeys("abcd", DONE)) == Advance(over=True)


def test_no_more_run_at_once_than_may() -> None:
    assert next_of(FORK, {}, parallel=1) == Advance(("a",))
    assert next_of(FORK, {"a": RUNS}, parallel=1) == Advance()
    assert next_of(FORK, {"a": DONE}, parallel=1) == Advance(("b",))


@pytest.mark.parametrize("end", [FAILED, STOPPED])
def test_after_a_failed_step_nothing_begins_and_those_that_run_go_on(end: StepSeen) -> None:
    assert next_of(FORK, {"a": end, "b": RUNS}) == Advance()
    assert next_of(FORK, {"a": end, "b": DONE}) == Advance(over=True)


def test_an_execution_that_stops_begins_nothing() -> None:
    assert advance(FORK, {"a": DONE, "b": RUNS}, 9, stopping=True) == Advance()
    assert advance(FORK, {"a": DONE, "b": DONE}, 9, stopping=True) == Advance(over=True)


def test_one_branch_of_a_condition_runs_and_whoever_waits_for_the_condition_waits_for_the_branch() -> None:
    assert next_of(BRANCH, {}) == Advance(("if", "free"))
    assert next_of(BRANCH, {"if": YES, "free": DONE}) == Advance(("yes",))
    assert next_of(BRANCH, {"if": NO, "free": DONE}) == Advance(("no",))
    assert next_of(BRANCH, {"if": YES, "free": DONE, "yes": RUNS}) == Advance()
    assert next_of(BRANCH, {"if": YES, "free": DONE, "yes": DONE}) == Advance(("after",))
    assert next_of(BRANCH, {"if": YES, "free": DONE, "yes": DONE, "after": DONE}) == Advance(over=True)


def test_a_step_of_a_branch_that_waits_for_its_condition_waits_for_that_alone() -> None:
    inside = [step("first"), step("second", DependsOn=["if"])]
    read = read_definition(definition(condition("if", inside, []), step("after", DependsOn=["if"])))
    assert next_of(read, {"if": YES}) == Advance(("first", "second"))
    assert next_of(read, {"if": YES, "first": DONE, "second": RUNS}) == Advance()
    assert next_of(read, {"if": YES, "first": DONE, "second": DONE}) == Advance(("after",))


def test_a_step_that_waits_for_one_of_the_other_branch_never_begins() -> None:
    read = read_definition(definition(condition("if", [step("yes")], []), step("after", DependsOn=["yes"])))
    assert next_of(read, {"if": NO}) == Advance(over=True)


@st.composite
def definitions(draw: st.DrawFn) -> PipelineDefinition:
    """Steps that wait for some of those before them; every third is a condition with a branch of its own."""
    steps: list[Any] = []
    for at in range(draw(st.integers(1, 9))):
        before = draw(st.sets(st.sampled_from([one["Name"] for one in steps]))) if steps else set()
        name, waits = f"s{at}", sorted(before)
        if at % 3 == 2:
            steps.append(condition(name, [step(f"{name}-yes")], [step(f"{name}-no")], DependsOn=waits))
        else:
            steps.append(step(name, DependsOn=waits))
    return read_definition(json.dumps({"Version": "2020-12-01", "Steps": steps}))


def course(defined: PipelineDefinition, parallel: int, dice: Random) -> list[str]:
    """The steps in the order in which they began. Any running step may end next."""
    seen: dict[str, StepSeen] = {}
    began: list[str] = []
    while not (plan := advance(defined, seen, parallel, stopping=False)).over:
        for name in plan.begin:
            assert name not in seen, "each step begins once"
            waited = defined.step(name)
            assert all(seen[one].status is StepStatus.SUCCEEDED for one in waited.after)
            seen[name] = RUNS
        began += plan.begin
        running = sorted(name for name, one in seen.items() if one is RUNS)
        assert 0 < len(running) <= parallel
        ended = dice.choice(running)
        seen[ended] = YES if defined.step(ended).kind == "Condition" else DONE
    return began


@given(definitions(), st.integers(1, 4), st.integers(0, 99), st.integers(0, 99))
def test_the_same_steps_run_once_each_whatever_ends_first(
    defined: PipelineDefinition, parallel: int, one: int, other: int
) -> None:
    first = course(defined, parallel, Random(one))
    second = course(defined, parallel, Random(other))
    assert sorted(first) == sorted(second)
    assert sorted(first) == sorted(step.name for step in defined.steps if step.guard is None or step.guard.outcome)


@given(definitions(), st.integers(0, 99), st.integers(0, 99))
def test_one_at_a_time_the_order_is_always_the_same(defined: PipelineDefinition, one: int, other: int) -> None:
    assert course(defined, 1, Random(one)) == course(defined, 1, Random(other))
