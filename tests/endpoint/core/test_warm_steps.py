"""From which zygote an instance is forked, and how long a zygote stays without a child."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.processes.import_steps import Step
from torpor_endpoint.core.warm_steps import UNUSED_S, WantedStep, WarmZygote, is_kept, rest_s, source, wanted

RUNNING = st.builds(
    lambda rows: [WarmZygote(step, *row) for step, row in rows.items()],
    st.dictionaries(st.sampled_from(Step), st.tuples(st.booleans(), st.booleans())),
)
NEEDS = st.builds(WantedStep, st.sampled_from(Step), st.booleans())
SECONDS = st.floats(0.0, 1000.0)


@given(NEEDS, RUNNING)
def test_a_zygote_is_chosen_that_has_what_is_needed(needs: WantedStep, running: Collection[WarmZygote]) -> None:
    assert source(needs, running) >= needs.step


@given(NEEDS, RUNNING)
def test_nobody_waits_for_imports_while_a_ready_zygote_suffices(
    needs: WantedStep, running: Collection[WarmZygote]
) -> None:
    ready = [zygote.step for zygote in running if zygote.ready and zygote.step >= needs.step]
    if ready:
        assert source(needs, running) == (max(ready) if needs.guessed else min(ready))


@given(NEEDS, RUNNING)
def test_another_zygote_starts_only_where_none_suffices(needs: WantedStep, running: Collection[WarmZygote]) -> None:
    runs = {zygote.step for zygote in running}
    assert (source(needs, running) in runs) == any(step >= needs.step for step in runs)


@given(RUNNING, SECONDS)
def test_a_zygote_without_children_ends_at_once_only_where_one_in_use_takes_over(
    running: Collection[WarmZygote], idle_s: float
) -> None:
    for zygote in running:
        higher = [one for one in running if one.step > zygote.step and one.ready and not one.unused]
        expected = min(idle_s, UNUSED_S) if zygote.unused else 0.0 if higher else idle_s
        assert rest_s(zygote, running, idle_s) == expected


@given(RUNNING.filter(bool), SECONDS)
def test_the_highest_zygote_is_never_taken_over(running: Collection[WarmZygote], idle_s: float) -> None:
    highest = max(running, key=lambda zygote: zygote.step)
    assert rest_s(highest, running, idle_s) >= min(idle_s, UNUSED_S)


@pytest.mark.parametrize(
    ("environment", "recorded", "expected"),
    [
        ({}, None, WantedStep(Step.BOOSTERS, guessed=True)),
        ({}, Step.BARE, WantedStep(Step.BARE)),
        ({}, Step.BOOSTERS, WantedStep(Step.BOOSTERS)),
        ({}, Step.WHOLE, WantedStep(Step.WHOLE)),
        ({"TORPOR_IMAGE": "scikit-learn"}, None, WantedStep(Step.WHOLE)),
        ({"TORPOR_IMAGE": "xgboost"}, None, WantedStep(Step.BOOSTERS, guessed=True)),
        ({"SAGEMAKER_PROGRAM": "inference.py"}, None, WantedStep(Step.WHOLE)),
        ({"TORPOR_CONTAINER": '{"command": ["serve"]}'}, None, WantedStep(Step.BARE)),
        ({"TORPOR_CONTAINER": "", "SAGEMAKER_PROGRAM": ""}, Step.BOOSTERS, WantedStep(Step.BOOSTERS)),
        ({"TORPOR_MEMORY_MIB": "511"}, Step.BARE, WantedStep(Step.WHOLE)),  # what it imports itself would be its own
        ({"TORPOR_MEMORY_MIB": "511", "TORPOR_CONTAINER": '{"command": ["serve"]}'}, None, WantedStep(Step.BARE)),
        ({"TORPOR_MEMORY_MIB": "512"}, Step.BARE, WantedStep(Step.BARE)),
        ({"TORPOR_MEMORY_MIB": "much"}, Step.BARE, WantedStep(Step.BARE)),
    ],
)
def test_an_instance_needs_what_its_models_needed_and_at_first_what_its_settings_say(
    environment: dict[str, str], recorded: Step | None, expected: WantedStep
) -> None:
    assert wanted(environment, recorded) == expected


@pytest.mark.parametrize(("warm_idle_s", "kept"), [(5.0, False), (59.0, False), (60.0, True), (600.0, True)])
def test_a_guess_is_worth_its_imports_where_it_is_kept_for_a_minute(warm_idle_s: float, kept: bool) -> None:
    assert is_kept(warm_idle_s) is kept


def test_of_zygotes_that_are_on_their_way_the_lowest_that_suffices_is_waited_for() -> None:
    running = [WarmZygote(Step.WHOLE, ready=False), WarmZygote(Step.BOOSTERS, ready=False)]
    assert source(WantedStep(Step.BARE), running) is Step.BOOSTERS


def test_a_need_is_no_guess_and_a_zygote_is_in_use_unless_it_is_said() -> None:
    assert WantedStep(Step.BARE) == WantedStep(Step.BARE, guessed=False)
    assert WarmZygote(Step.BARE, ready=True) == WarmZygote(Step.BARE, ready=True, unused=False)
