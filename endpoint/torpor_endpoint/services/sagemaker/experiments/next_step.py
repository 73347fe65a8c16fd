"""What comes next for an experiment, from its record, its endpoint's record and the time. Decides, and does nothing."""

from dataclasses import dataclass, replace

from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.services.sagemaker.experiments.lifecycle import (
    Action,
    ExperimentStatus,
    InferenceExperiment,
    StopOrder,
    moved,
    roles,
)

CHANGING_S = 0.1
"""How soon to look again while the endpoint changes."""
RUNNING_S = 1.0
"""How soon to look again at an experiment that runs: another call may update or delete its endpoint."""
RESTING_S = 60.0
"""How soon to look again at the latest, since the clock may be set."""

GONE = "The endpoint was deleted."
OVERTAKEN = (
    "The endpoint was updated to the endpoint configuration {config} by another call, and the experiment leaves it so."
)
TOO_LATE = "The schedule ended before the experiment could start."
FAILED = "The endpoint could not be updated: {why}"
LEFT = "{reason} The endpoint still has both variants."


@dataclass(frozen=True)
class LookAgain:
    """Nothing to do until then."""

    at_s: float


@dataclass(frozen=True)
class Become:
    """Store this record in place of the experiment's."""

    experiment: InferenceExperiment


@dataclass(frozen=True)
class Deploy:
    """Update the endpoint to the experiment's target."""


Decision = LookAgain | Become | Deploy


def reverts(experiment: InferenceExperiment, before: EndpointRecord) -> bool:
    """Whether a stop gives the endpoint the configuration of before back: at the end of the schedule, and where the
    endpoint keeps just what it had before.

    AWS: "After the test is complete, the endpoint reverts to the state it was in prior to starting the test."
    """
    order = experiment.stop
    if order is None:
        return False
    parts = roles(experiment.settings)
    removes = order.actions.get(parts.shadow) is Action.REMOVE
    source = parts.variants[parts.source]["ModelName"]
    same = all(not variant.shadow and variant.model_name == source for variant in before.variants)
    return order.scheduled or (removes and not order.desired and same)


def target(experiment: InferenceExperiment, before: EndpointRecord) -> str | None:
    """The name of the endpoint configuration that the endpoint is to have next. `before` is the endpoint as it was
    before the experiment."""
    order = experiment.stop
    if order is not None and reverts(experiment, before):
        return before.config_name
    if order is not None and not order.desired and set(order.actions.values()) == {Action.RETAIN}:
        return experiment.config_name
    return experiment.own_config_name


def decide(experiment: InferenceExperiment, endpoint: EndpointRecord | None, aim: str | None, now_s: float) -> Decision:
    """What to do now. `aim` is the experiment's target."""
    if experiment.status is ExperimentStatus.CREATING:
        return Become(moved(experiment, ExperimentStatus.CREATED, now_s))
    if endpoint is None or not _is_of(experiment, endpoint):
        return Become(moved(experiment, ExperimentStatus.CANCELLED, now_s, GONE))
    if experiment.status is ExperimentStatus.CREATED:
        return _waiting(experiment, now_s)
    if experiment.status is ExperimentStatus.RUNNING:
        return _running(experiment, endpoint, now_s)
    if endpoint.status is not EndpointStatus.IN_SERVICE:
        asked = endpoint.pending_config_name == aim and aim != experiment.asked
        return Become(replace(experiment, asked=aim)) if asked else LookAgain(now_s + CHANGING_S)
    if endpoint.config_name == aim:
        return Become(arrived(experiment, now_s))
    if experiment.asked is not None and experiment.asked == aim:
        why = endpoint.failure_reason or f"it has the endpoint configuration {endpoint.config_name}."
        return Become(failed(experiment, why, now_s))
    if experiment.config_name is not None and endpoint.config_name != experiment.config_name:
        return Become(overtaken(experiment, endpoint, now_s))
    return Deploy()


def arrived(experiment: InferenceExperiment, now_s: float) -> InferenceExperiment:
    """The experiment after the endpoint has what was asked for."""
    order = experiment.stop
    if order is not None:
        return moved(experiment, order.state, now_s, order.reason)
    runs = moved(experiment, ExperimentStatus.RUNNING, now_s)
    return replace(runs, settings=experiment.wanted, desired=None, config_name=experiment.own_config_name)


def failed(experiment: InferenceExperiment, why: str, now_s: float) -> InferenceExperiment:
    """The experiment after the endpoint could not be updated. It runs on as before, if it ran and is not over."""
    reason = FAILED.format(why=why)
    if experiment.status is ExperimentStatus.STARTING:
        return moved(experiment, ExperimentStatus.CANCELLED, now_s, reason)
    if experiment.stop is not None and experiment.stop.scheduled:
        return moved(experiment, ExperimentStatus.CANCELLED, now_s, LEFT.format(reason=reason))
    runs = moved(experiment, ExperimentStatus.RUNNING, now_s, reason)
    return replace(runs, desired=None, stop=None)


def overtaken(experiment: InferenceExperiment, endpoint: EndpointRecord, now_s: float) -> InferenceExperiment:
    reason = OVERTAKEN.format(config=endpoint.config_name)
    return moved(experiment, ExperimentStatus.CANCELLED, now_s, reason)


def _is_of(experiment: InferenceExperiment, endpoint: EndpointRecord) -> bool:
    same = endpoint.created_s == experiment.endpoint_created_s
    return same and endpoint.status is not EndpointStatus.DELETING


def _waiting(experiment: InferenceExperiment, now_s: float) -> Decision:
    if now_s >= experiment.end_s:
        return Become(moved(experiment, ExperimentStatus.CANCELLED, now_s, TOO_LATE))
    if now_s >= experiment.start_s:
        started = moved(experiment, ExperimentStatus.STARTING, now_s)
        return Become(replace(started, start_s=now_s, changes=experiment.changes + 1))
    return LookAgain(min(experiment.start_s, now_s + RESTING_S))


def _running(experiment: InferenceExperiment, endpoint: EndpointRecord, now_s: float) -> Decision:
    if endpoint.status is not EndpointStatus.IN_SERVICE:
        return LookAgain(now_s + CHANGING_S)
    if endpoint.config_name != experiment.config_name:
        return Become(overtaken(experiment, endpoint, now_s))
    if now_s >= experiment.end_s:
        stops = moved(experiment, ExperimentStatus.STOPPING, now_s)
        return Become(replace(stops, stop=StopOrder(scheduled=True), changes=experiment.changes + 1))
    return LookAgain(min(experiment.end_s, now_s + RUNNING_S))
