"""The VariantStatus of a variant while it is rolled out, with AWS's sentences, as DescribeEndpoint shows them.

The sentences are those of AWS's samples of the event "SageMaker Endpoint Deployment State Change".
"""

from dataclasses import replace
from enum import StrEnum
from math import ceil
from typing import Final, NamedTuple

from torpor_endpoint.core.rollouts.rollout import FleetSizes, FleetTarget, Rollout, RolloutPhase


class VariantStatusName(StrEnum):
    """The values of the status in a VariantStatus that a rollout has; AWS has Updating too."""

    CREATING = "Creating"
    DELETING = "Deleting"
    ACTIVATING_TRAFFIC = "ActivatingTraffic"
    BAKING = "Baking"


class VariantStatus(NamedTuple):
    """One VariantStatus. `since_s` is its StartTime, in epoch seconds."""

    state: VariantStatusName
    message: str
    since_s: float


STATES: Final = {
    RolloutPhase.PLANNED: VariantStatusName.CREATING,
    RolloutPhase.CREATING: VariantStatusName.CREATING,
    RolloutPhase.ACTIVATING: VariantStatusName.ACTIVATING_TRAFFIC,
    RolloutPhase.BAKING: VariantStatusName.BAKING,
    RolloutPhase.DELETING: VariantStatusName.DELETING,
    RolloutPhase.RESTORING: VariantStatusName.CREATING,
    RolloutPhase.RETURNING: VariantStatusName.ACTIVATING_TRAFFIC,
    RolloutPhase.REMOVING: VariantStatusName.DELETING,
}


def status_of(rollout: Rollout, variant: str) -> VariantStatus | None:
    """The status of a variant now; None for one that the rollout does not touch, and after its end."""
    fleet = next((one for one in rollout.fleets if one.name == variant), None)
    if fleet is None or rollout.phase not in STATES:
        return None
    return VariantStatus(STATES[rollout.phase], _message(rollout, fleet), rollout.since_s)


def _message(rollout: Rollout, fleet: FleetSizes) -> str:
    target = rollout.targets()[fleet.name]
    match rollout.phase:
        case RolloutPhase.CREATING:
            present = rollout.policy.batches(fleet.green, rollout.step - 1) if rollout.policy.rolling else 0
            return f"Launching {target.green - present} instance(s)."
        case RolloutPhase.ACTIVATING:
            return f"Activating traffic on {_capacity(rollout, fleet)}."
        case RolloutPhase.BAKING:
            last = rollout.step >= rollout.steps and not rollout.policy.rolling
            setting = "TerminationWaitInSeconds" if last else "WaitIntervalInSeconds"
            capacity = _capacity(rollout, fleet)
            return f"Baking for {rollout.bake_s:g} seconds ({setting}) with traffic enabled on {capacity}."
        case RolloutPhase.DELETING:
            return f"Terminating {_in(RolloutPhase.BAKING, rollout, fleet).blue - target.blue} instance(s)."
        case RolloutPhase.RESTORING:
            before = replace(rollout, back=rollout.back - 1).targets()[fleet.name]
            return f"Launching {target.blue - before.blue} instance(s)."
        case RolloutPhase.RETURNING:
            return f"Activating traffic on full capacity of {target.blue} instance(s)."
        case RolloutPhase.REMOVING:
            return f"Terminating {_in(RolloutPhase.RETURNING, rollout, fleet).green - target.green} instance(s)."
        case _:
            return f"Launching {fleet.green} instance(s)."


def _in(phase: RolloutPhase, rollout: Rollout, fleet: FleetSizes) -> FleetTarget:
    """What the phase before this one asked for."""
    return replace(rollout, phase=phase).targets()[fleet.name]


def _capacity(rollout: Rollout, fleet: FleetSizes) -> str:
    """The green instances that the traffic of this step needs."""
    share = rollout.policy.share(fleet.green, rollout.active)
    if share.is_all:
        return f"full capacity of {fleet.green} instance(s)"
    return f"canary capacity of {ceil(fleet.green * share.part / share.whole)} instance(s)"
