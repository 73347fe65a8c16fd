"""CreateInferenceExperiment and its family. They write what is wanted; the experiment runner carries it out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus
from torpor_endpoint.services.sagemaker.endpoints import found_endpoint
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.experiments import deploying, errors, rules, schedule, shapes
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.lifecycle import (
    Action,
    ExperimentStatus,
    InferenceExperiment,
    StopOrder,
    moved,
    roles,
)
from torpor_endpoint.services.sagemaker.experiments.next_step import reverts
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.sagemaker.members.checking import check_known
from torpor_endpoint.services.sagemaker.tag_operations import first_tags

_S = ExperimentStatus


def create_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    check_known("CreateInferenceExperimentRequest", call.params)
    control, now_s = context.control, context.control.clock()
    start_s, end_s = schedule.planned(call.params.get("Schedule", {}), now_s)
    _refuse(schedule.fault(start_s, end_s, now_s))
    endpoint = found_endpoint(control, call)
    if endpoint.status is not EndpointStatus.IN_SERVICE:
        raise INVALID(f'EndpointName: the endpoint "{endpoint.name}" is {endpoint.status}. It must be InService.')
    settings = {member: call.params[member] for member in shapes.SETTINGS if member in call.params}
    deploying.variants_during(control, endpoint, settings)
    tags = first_tags(call)
    name = call.params["Name"]
    experiment = InferenceExperiment(
        name,
        f"arn:aws:sagemaker:{call.region}:{call.account}:inference-experiment/{name.lower()}",
        now_s,
        now_s,
        _S.CREATING,
        endpoint.name,
        endpoint.created_s,
        settings,
        max(start_s, now_s),
        end_s,
    )
    if refusal := context.experiments.add(experiment):
        raise refusal
    control.store.tags.put(experiment.arn, tags)
    return _answered(context, experiment)


def describe_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    experiment = _found(context, call)
    return shapes.description(experiment, _endpoint(context, experiment))


def list_inference_experiments(context: Experimenting, call: Call) -> dict[str, Any]:
    """List them all. The filter Type has one value, which every experiment has."""
    experiments, token = page(context.experiments.all(), call.params)
    return {"InferenceExperiments": list(map(shapes.summary, experiments)), "NextToken": token}


def update_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    check_known("UpdateInferenceExperimentRequest", call.params)
    experiment = _found(context, call, _S.CREATED, _S.RUNNING)
    settings = rules.merged(experiment.settings, call.params)
    updated = replace(experiment, modified_s=context.control.clock())
    if experiment.status is _S.RUNNING:
        rules.check_while_running(experiment.settings, settings)
        updated = _rescheduled_end(updated, call.params.get("Schedule", {}))
        updated = _resampled(updated, settings)
    else:
        endpoint = _endpoint(context, experiment)
        if endpoint is not None:
            deploying.variants_during(context.control, endpoint, settings)
        updated = replace(_rescheduled(updated, call.params.get("Schedule", {})), settings=settings)
    return _changed(context, experiment, updated)


def start_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    experiment = _found(context, call, _S.CREATED)
    now_s = context.control.clock()
    end_s = schedule.started_early(now_s, experiment.end_s)
    return _changed(context, experiment, replace(experiment, start_s=now_s, end_s=end_s, modified_s=now_s))


def stop_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    check_known("StopInferenceExperimentRequest", call.params)
    experiment = _found(context, call, _S.CREATED, _S.RUNNING)
    now_s, started = context.control.clock(), experiment.status is _S.RUNNING
    rules.check_stop(experiment.settings, call.params, started=started)
    reason = call.params.get("Reason")
    if not started:
        return _changed(context, experiment, moved(experiment, _S.CANCELLED, now_s, reason))
    stops = replace(
        moved(experiment, _S.STOPPING, now_s, reason), stop=_order(call.params), changes=experiment.changes + 1
    )
    _check_stop(context, stops)
    return _changed(context, experiment, stops)


def delete_inference_experiment(context: Experimenting, call: Call) -> dict[str, Any]:
    """Delete the record. The endpoint stays as it is."""
    experiment = _found(context, call, _S.CREATED, _S.COMPLETED, _S.CANCELLED)
    if not context.experiments.remove(experiment):
        raise errors.CONFLICT(f'The inference experiment "{experiment.name}" has just changed. Try again.')
    context.control.store.tags.forget(experiment.arn)
    return {"InferenceExperimentArn": experiment.arn}


OPERATIONS: Mapping[str, Operation[Experimenting]] = {
    "CreateInferenceExperiment": create_inference_experiment,
    "DescribeInferenceExperiment": describe_inference_experiment,
    "ListInferenceExperiments": list_inference_experiments,
    "UpdateInferenceExperiment": update_inference_experiment,
    "StartInferenceExperiment": start_inference_experiment,
    "StopInferenceExperiment": stop_inference_experiment,
    "DeleteInferenceExperiment": delete_inference_experiment,
}


def _found(context: Experimenting, call: Call, *statuses: ExperimentStatus) -> InferenceExperiment:
    """The experiment. Raises ConflictException if it has none of these statuses."""
    name = call.params["Name"]
    experiment = context.experiments.get(name)
    if experiment is None:
        raise errors.NO_EXPERIMENT(name=name)
    if statuses and experiment.status not in statuses:
        raise errors.CONFLICT(
            f'The inference experiment "{name}" is {experiment.status}. {call.operation} needs {" or ".join(statuses)}.'
        )
    return experiment


def _endpoint(context: Experimenting, experiment: InferenceExperiment) -> EndpointRecord | None:
    """The experiment's endpoint; None if it was deleted, whether or not there is another one of its name."""
    endpoint = context.control.store.endpoint(experiment.endpoint_name)
    return endpoint if endpoint and endpoint.created_s == experiment.endpoint_created_s else None


def _changed(context: Experimenting, old: InferenceExperiment, new: InferenceExperiment) -> dict[str, Any]:
    if not context.experiments.change(old, new):
        raise errors.CONFLICT(f'The inference experiment "{old.name}" has just changed. Try again.')
    return _answered(context, new)


def _answered(context: Experimenting, experiment: InferenceExperiment) -> dict[str, Any]:
    context.wakeup.notify()
    return {"InferenceExperimentArn": experiment.arn}


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise INVALID(fault)


def _rescheduled(experiment: InferenceExperiment, wire: Mapping[str, Any]) -> InferenceExperiment:
    """The experiment, which has not started, with another schedule."""
    start_s, end_s = schedule.replanned(wire, experiment.start_s, experiment.end_s)
    if wire:
        _refuse(schedule.fault(start_s, end_s, experiment.modified_s))
    return replace(experiment, start_s=start_s, end_s=end_s)


def _rescheduled_end(experiment: InferenceExperiment, wire: Mapping[str, Any]) -> InferenceExperiment:
    """AWS: "If the status of the inference experiment is Running, then you can update only the end date." """
    start_s, end_s = schedule.replanned(wire, experiment.start_s, experiment.end_s)
    if round(start_s, 3) != round(experiment.start_s, 3):
        raise INVALID("Schedule.StartTime cannot change after the experiment has started.")
    if wire:
        _refuse(schedule.fault(experiment.start_s, end_s, experiment.start_s))
        _refuse("Schedule.EndTime must be in the future." if end_s <= experiment.modified_s else None)
    return replace(experiment, end_s=end_s)


def _resampled(experiment: InferenceExperiment, settings: Mapping[str, Any]) -> InferenceExperiment:
    """The experiment, which runs, with new settings: at once, unless the endpoint has to change."""
    if roles(settings).percentage == roles(experiment.settings).percentage:
        return replace(experiment, settings=settings)
    updating = moved(experiment, _S.UPDATING, experiment.modified_s)
    return replace(updating, desired=settings, changes=experiment.changes + 1)


def _order(params: Mapping[str, Any]) -> StopOrder:
    actions = {name: Action(action) for name, action in params["ModelVariantActions"].items()}
    state = ExperimentStatus(params.get("DesiredState", _S.COMPLETED))
    return StopOrder(actions, tuple(params.get("DesiredModelVariants", ())), state, params.get("Reason"))


def _check_stop(context: Experimenting, stops: InferenceExperiment) -> None:
    """Raises ValidationException if the endpoint cannot have the variants that the stop asks for."""
    control = context.control
    endpoint, before = _endpoint(context, stops), control.store.endpoint_before(stops.endpoint_name)
    if endpoint is None or before is None or reverts(stops, before):
        return
    variants = deploying.variants_of_change(control, stops, endpoint, before)
    deploying.check_variants(control, endpoint, variants)
