"""Carries out what is decided for one experiment, step by step. Each step is stored before the next one, so that an
endpoint that was killed goes on where it was."""

import logging
from dataclasses import replace
from math import inf

from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.lifecycle import EndpointEvent, may
from torpor_endpoint.core.resource_records import EndpointRecord
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.sagemaker.experiments.deploying import deploy
from torpor_endpoint.services.sagemaker.experiments.lifecycle import ExperimentStatus, InferenceExperiment
from torpor_endpoint.services.sagemaker.experiments.next_step import (
    CHANGING_S,
    Become,
    LookAgain,
    decide,
    failed,
    target,
)

log = logging.getLogger(__name__)


def bring_forward(context: Experimenting, experiment: InferenceExperiment) -> float:
    """Do all that is due now. Returns when to look at the experiment again, in epoch seconds."""
    control = context.control
    while not experiment.finished:
        now_s = control.clock()
        endpoint = control.store.endpoint(experiment.endpoint_name)
        before = endpoint_before(context, experiment) or endpoint
        aim = None if before is None else target(experiment, before)
        match decide(experiment, endpoint, aim, now_s):
            case LookAgain(at_s):
                return at_s
            case Become(changed):
                next_one = changed
            case _:
                assert endpoint is not None
                try:
                    _deploy(context, experiment, endpoint)
                except AwsError as error:
                    if _is_busy(context, endpoint):
                        return now_s + CHANGING_S
                    next_one = failed(experiment, error.message, now_s)
                else:
                    next_one = replace(experiment, asked=aim)
        if not context.experiments.change(experiment, next_one):
            return now_s  # an operation has changed it meanwhile
        _changed(context, experiment, next_one, endpoint)
        experiment = next_one
    return inf


def endpoint_before(context: Experimenting, experiment: InferenceExperiment) -> EndpointRecord | None:
    """The endpoint before the experiment first changed it."""
    kept = context.control.store.endpoint_before(experiment.endpoint_name)
    return kept if kept is not None and kept.created_s == experiment.endpoint_created_s else None


def _deploy(context: Experimenting, experiment: InferenceExperiment, endpoint: EndpointRecord) -> None:
    if experiment.status is ExperimentStatus.STARTING:
        context.control.store.keep_before(endpoint)
    deploy(context.control, experiment, endpoint, endpoint_before(context, experiment) or endpoint)


def _is_busy(context: Experimenting, endpoint: EndpointRecord) -> bool:
    """Whether another call has just changed the endpoint."""
    now = context.control.store.endpoint(endpoint.name)
    return now is None or not may(now.status, EndpointEvent.UPDATE)


def _changed(
    context: Experimenting, old: InferenceExperiment, new: InferenceExperiment, endpoint: EndpointRecord | None
) -> None:
    if new.status is not old.status:
        log.info("inference experiment %s is %s%s", new.name, new.status, f": {new.reason}" if new.reason else "")
    if new.finished:
        context.control.store.forget_before(new.endpoint_name)
    used = {new.asked, None if new.finished else new.config_name}
    if endpoint is not None:
        used |= {endpoint.config_name, endpoint.pending_config_name}
    for name in {old.config_name, old.own_config_name} - used:  # all of them made by the experiment
        if name is not None:
            context.control.store.remove_endpoint_config(name)
