"""The record of an inference experiment, and the table of its statuses. Pure: callers give the time."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any

from torpor_container.frozen_class import frozen

REASON_MAX = 1024
"""The most characters of a StatusReason, by the service model."""

STEM_MAX = 48
"""Characters of the experiment's name in the names of its endpoint configurations, which have 63 at most."""


class ExperimentStatus(StrEnum):
    """The values of AWS's InferenceExperimentStatus."""

    CREATING = "Creating"
    CREATED = "Created"
    STARTING = "Starting"
    RUNNING = "Running"
    UPDATING = "Updating"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


_S = ExperimentStatus

MOVES: Mapping[ExperimentStatus, frozenset[ExperimentStatus]] = {
    _S.CREATING: frozenset({_S.CREATED}),
    _S.CREATED: frozenset({_S.STARTING, _S.CANCELLED}),
    _S.STARTING: frozenset({_S.RUNNING, _S.CANCELLED}),
    _S.RUNNING: frozenset({_S.UPDATING, _S.STOPPING, _S.CANCELLED}),
    _S.UPDATING: frozenset({_S.RUNNING, _S.CANCELLED}),
    _S.STOPPING: frozenset({_S.RUNNING, _S.COMPLETED, _S.CANCELLED}),  # it runs on if the endpoint cannot change
    _S.COMPLETED: frozenset(),
    _S.CANCELLED: frozenset(),
}


class Action(StrEnum):
    """The values of AWS's ModelVariantAction: what becomes of a variant when the experiment stops."""

    RETAIN = "Retain"
    REMOVE = "Remove"
    PROMOTE = "Promote"


@frozen
class StopOrder:
    """How an experiment ends. `desired` are DesiredModelVariants as sent. At the end of the schedule the endpoint gets
    its variants of before back, whatever the actions."""

    actions: Mapping[str, Action] = field(default_factory=dict)
    desired: tuple[Mapping[str, Any], ...] = ()
    state: ExperimentStatus = ExperimentStatus.COMPLETED
    reason: str | None = None
    scheduled: bool = False


@frozen
class InferenceExperiment:
    """One experiment. Times are epoch seconds. `settings` are members of CreateInferenceExperiment as sent, or as an
    update has changed them."""

    name: str
    arn: str
    created_s: float
    modified_s: float
    status: ExperimentStatus
    endpoint_name: str
    endpoint_created_s: float  # another endpoint of the same name is not the experiment's
    settings: Mapping[str, Any]
    start_s: float
    end_s: float
    desired: Mapping[str, Any] | None = None  # the settings of an update that is under way
    stop: StopOrder | None = None
    changes: int = 0  # how often the experiment has changed the endpoint, or tried to
    config_name: str | None = None  # the endpoint configuration under which it runs
    asked: str | None = None  # the endpoint configuration to which the endpoint is being updated
    reason: str | None = None
    completed_s: float | None = None

    @property
    def finished(self) -> bool:
        return not MOVES[self.status]

    @property
    def wanted(self) -> Mapping[str, Any]:
        """The settings, with those of an update that is under way."""
        return self.settings if self.desired is None else self.desired

    @property
    def own_config_name(self) -> str:
        """The name of the endpoint configuration that the present change makes. Each change has another one."""
        digest = sha256(f"{self.arn} {self.created_s} {self.changes}".encode()).hexdigest()[:8]
        return f"{self.name[:STEM_MAX].rstrip('-')}-{digest}"


@frozen
class Roles:
    """The two variants of an experiment's settings by their names, and the share of requests that are copied."""

    source: str
    shadow: str
    percentage: int
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # ModelVariants by name


def roles(settings: Mapping[str, Any]) -> Roles:
    config = settings["ShadowModeConfig"]
    (shadow,) = config["ShadowModelVariants"]
    variants = {variant["VariantName"]: variant for variant in settings["ModelVariants"]}
    source, percentage = config["SourceModelVariantName"], shadow["SamplingPercentage"]
    return Roles(source, shadow["ShadowModelVariantName"], percentage, variants)


def moved(
    experiment: InferenceExperiment, status: ExperimentStatus, now_s: float, reason: str | None = None
) -> InferenceExperiment:
    """The experiment in another status. Raises ValueError for a move that is not in the table.

    One that is finished ended now, unless its schedule ended before.
    """
    if status not in MOVES[experiment.status]:
        raise ValueError(f"an inference experiment does not go from {experiment.status} to {status}")
    there = replace(experiment, status=status, modified_s=now_s, reason=reason and reason[:REASON_MAX], asked=None)
    if MOVES[status]:
        return there
    return replace(there, completed_s=now_s, end_s=max(min(there.end_s, now_s), there.start_s))
