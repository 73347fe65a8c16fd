"""From which zygote an instance is forked, and which zygotes may end."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_container.processes.import_steps import Step
from torpor_endpoint.core.warm_steps import WantedStep, WarmZygote, source, spare, wanted

RUNNING = st.builds(
    lambda rows: [WarmZygote(step, *row) for step, row in rows.items()],
    st.dictionaries(st.sampled_from(Step), st.tuples(st.booleans(), st.integers(0, 2))),
)
STEPS = st.sampled_from(Step)


@given(STEPS, RUNNING)
def test_a_zygote_is_chosen_that_has_what_is_needed(needed: Step, running: Collection[WarmZygote]) -> None:
    assert source(needed, running) >= needed


@given(STEPS, RUNNING)
def test_nobody_waits_for_imports_while_a_ready_zygote_suffices(needed: Step, running: Collection[WarmZygote]) -> None:
    ready = [zygote.step for zygote in running if zygote.ready and zygote.step >= needed]
    if ready:
        assert source(needed, running) == max(ready)


@given(STEPS, RUNNING)
def test_another_zygote_starts_only_where_none_suffices(needed: Step, running: Collection[WarmZygote]) -> None:
    runs = {zygote.step for zygote in running}
    assert (source(needed, running) in runs) == any(step >= needed for step in runs)


@given(RUNNING)
def test_only_a_zygote_without_children_ends_and_one_takes_its_place(running: Collection[WarmZygote]) -> None:
    left = {zygote.step: zygote for zygote in running if zygote.step not in spare(running)}
    for zygote in running:
        if zygote.step in spare(running):
            assert zygote.children == 0
            assert any(other.ready and step > zygote.step for step, other in left.items())


@given(STEPS, RUNNING)
def test_what_may_end_is_not_what_the_next_instance_is_forked_from(
    needed: Step, running: Collection[WarmZygote]
) -> None:
    assert source(needed, running) not in spare(running)


@given(RUNNING)
def test_once_the_spare_have_ended_no_more_may(running: Collection[WarmZygote]) -> None:
    left = [zygote for zygote in running if zygote.step not in spare(running)]
    assert spare(left) == frozenset()


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
    ],
)
def test_an_instance_needs_what_its_models_needed_and_at_first_what_its_settings_say(
    environment: dict[str, str], recorded: Step | None, expected: WantedStep
) -> None:
    assert wanted(environment, recorded) == expected
