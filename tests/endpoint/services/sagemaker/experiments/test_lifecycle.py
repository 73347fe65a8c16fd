"""The status machine, the schedule and the decisions, as values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endpoint.services.helpers.in_memory_experiments import DAY_S, HOUR_S, NEW, NOON_S, OLD, ROLE, sampled
from torpor_endpoint.core.resource_records import Container, EndpointRecord, EndpointStatus, Variant
from torpor_endpoint.services.sagemaker.experiments import schedule
from torpor_endpoint.services.sagemaker.experiments.lifecycle import (
    MOVES,
    Action,
    ExperimentStatus,
    InferenceExperiment,
    StopOrder,
    moved,
)
from torpor_endpoint.services.sagemaker.experiments.next_step import Become, Deploy, LookAgain, decide, target

SETTINGS = {"Type": "ShadowMode", "RoleArn": ROLE, "ModelVariants": [OLD, NEW], "ShadowModeConfig": sampled(50)}
ENDED = {ExperimentStatus.COMPLETED, ExperimentStatus.CANCELLED}
TRIAL = InferenceExperiment(
    "trial", "arn:aws:sagemaker:r:1:inference-experiment/trial", NOON_S, NOON_S, ExperimentStatus.CREATING, "houses",
    NOON_S - 1, SETTINGS, NOON_S, NOON_S + DAY_S,
)  # fmt: skip
statuses = st.sampled_from(ExperimentStatus)


def endpoint(status: EndpointStatus, config: str, pending: str | None = None, created_s: float = 0) -> EndpointRecord:
    made_s = created_s or TRIAL.endpoint_created_s
    variants = (Variant("Old", "old", (Container("torpor"),)),)
    return EndpointRecord("houses", "arn", made_s, made_s, status, config, variants, pending_config_name=pending)


BEFORE = endpoint(EndpointStatus.IN_SERVICE, "plain")
ORDERS = [
    None,
    StopOrder(scheduled=True),
    StopOrder({"Old": Action.RETAIN, "New": Action.REMOVE}, state=ExperimentStatus.CANCELLED),
    StopOrder({"Old": Action.RETAIN, "New": Action.RETAIN}),
    StopOrder({"Old": Action.REMOVE, "New": Action.PROMOTE}),
]


@st.composite
def experiments(draw: st.DrawFn) -> InferenceExperiment:
    """An experiment in any status, with the fields that one in this status has."""
    status = draw(statuses)
    ran = status not in {ExperimentStatus.CREATING, ExperimentStatus.CREATED, ExperimentStatus.STARTING}
    stop = draw(st.sampled_from(ORDERS[1:])) if status is ExperimentStatus.STOPPING else None
    base = InferenceExperiment(**{**vars(TRIAL), "status": status, "stop": stop, "changes": 2})
    asked = draw(st.sampled_from([None, target(base, BEFORE)]))
    return InferenceExperiment(**{**vars(base), "config_name": "trial-during" if ran else None, "asked": asked})


@given(
    experiments(),
    st.sampled_from(EndpointStatus),
    st.sampled_from(["plain", "trial-during", "another"]),
    st.booleans(),
    st.floats(-2 * DAY_S, 2 * DAY_S),
)
def test_a_decision_is_a_move_of_the_table_a_deployment_or_a_look_in_the_future(
    experiment: InferenceExperiment, status: EndpointStatus, config: str, ours: bool, after_s: float
) -> None:
    if experiment.finished:
        return
    now_s = NOON_S + after_s
    aim = target(experiment, BEFORE)
    there = endpoint(status, config, aim if ours else None)
    match decide(experiment, there, aim, now_s):
        case LookAgain(at_s):
            assert at_s > now_s
        case Become(changed):
            assert changed != experiment
            assert changed.status is experiment.status or changed.status in MOVES[experiment.status]
        case Deploy():
            assert status is EndpointStatus.IN_SERVICE
            assert aim not in (config, experiment.asked)


def test_an_update_that_was_not_noted_before_a_kill_is_recognised() -> None:
    """The process ended after it had asked the endpoint to change, and before it had stored that."""
    starting = InferenceExperiment(**{**vars(TRIAL), "status": ExperimentStatus.STARTING, "changes": 1})
    aim = target(starting, BEFORE)
    assert decide(starting, endpoint(EndpointStatus.UPDATING, "plain", aim), aim, NOON_S) == Become(
        InferenceExperiment(**{**vars(starting), "asked": aim})
    )
    assert isinstance(decide(starting, endpoint(EndpointStatus.UPDATING, "plain", "another"), aim, NOON_S), LookAgain)
    arrived = decide(starting, endpoint(EndpointStatus.IN_SERVICE, str(aim)), aim, NOON_S)
    assert isinstance(arrived, Become)
    assert arrived.experiment.status is ExperimentStatus.RUNNING


@given(experiments(), st.sampled_from([None, endpoint(EndpointStatus.IN_SERVICE, "plain", created_s=NOON_S + 5)]))
def test_without_its_endpoint_every_experiment_is_cancelled(
    experiment: InferenceExperiment, other: EndpointRecord | None
) -> None:
    if experiment.finished or experiment.status is ExperimentStatus.CREATING:
        return
    decision = decide(experiment, other, None, NOON_S)
    assert isinstance(decision, Become)
    assert decision.experiment.status is ExperimentStatus.CANCELLED


@pytest.mark.parametrize("status", ExperimentStatus)
def test_only_what_has_ended_moves_no_more(status: ExperimentStatus) -> None:
    assert (not MOVES[status]) is (status in ENDED)


@given(statuses, statuses)
def test_a_move_that_is_not_in_the_table_raises(now: ExperimentStatus, then: ExperimentStatus) -> None:
    experiment = InferenceExperiment(**{**vars(TRIAL), "status": now})
    if then in MOVES[now]:
        there = moved(experiment, then, NOON_S + HOUR_S)
        assert (there.completed_s is not None) is there.finished
        assert there.start_s <= there.end_s
    else:
        with pytest.raises(ValueError, match="does not go from"):
            moved(experiment, then, NOON_S)


def test_each_change_of_the_endpoint_has_a_configuration_of_its_own() -> None:
    names = {InferenceExperiment(**{**vars(TRIAL), "changes": changes}).own_config_name for changes in range(50)}
    long = InferenceExperiment(**{**vars(TRIAL), "name": "a" * 47 + "-" + "b" * 72})
    assert len(names) == 50
    assert len(long.own_config_name) <= 63


@given(st.floats(0, 60 * DAY_S), st.floats(0, 60 * DAY_S), st.floats(0, 60 * DAY_S))
def test_a_schedule_that_is_taken_has_one_hour_to_thirty_days_from_its_start(
    start: float, end: float, now: float
) -> None:
    if schedule.fault(start, end, now) is None:
        assert schedule.DURATION_MIN_S - schedule.ON_THE_WAY_S <= end - max(start, now) <= schedule.DURATION_MAX_S
    assert schedule.started_early(now, end) <= max(end, now + schedule.DURATION_MAX_S)
    assert schedule.started_early(now, end) - now <= schedule.DURATION_MAX_S + 1e-6  # sums of seconds are rounded
