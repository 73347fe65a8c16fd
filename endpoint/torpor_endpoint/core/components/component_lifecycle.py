"""The life cycle of an inference component as a table of statuses and events. It does nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from torpor_endpoint.core.components.component_records import ComponentRecord, ComponentStatus
from torpor_endpoint.core.lifecycle import IllegalMove


class ComponentEvent(StrEnum):
    """What can happen to a component after CreateInferenceComponent."""

    READY = "ready"  # it has the copies that were asked for, of the specification that was asked for
    FAILED = "failed"  # it can have no copy: none fits, or none starts
    UPDATE = "update"  # UpdateInferenceComponent
    RESCALE = "rescale"  # UpdateInferenceComponentRuntimeConfig, or a scaling policy
    ROLLED_BACK = "rolled back"  # the update failed, and the old copies serve
    DELETE = "delete"  # DeleteInferenceComponent


# AWS's texts on a component in progress name what may not happen to it: "Cannot delete inference component … while it
# is in state CREATE_IN_PROGRESS" and "UPDATE_RC_IN_PROGRESS".
COMPONENT_MOVES: Mapping[ComponentStatus, Mapping[ComponentEvent, ComponentStatus]] = {
    ComponentStatus.CREATING: {
        ComponentEvent.READY: ComponentStatus.IN_SERVICE,
        ComponentEvent.FAILED: ComponentStatus.FAILED,
    },
    ComponentStatus.IN_SERVICE: {
        ComponentEvent.UPDATE: ComponentStatus.UPDATING,
        ComponentEvent.RESCALE: ComponentStatus.UPDATING,
        ComponentEvent.FAILED: ComponentStatus.FAILED,
        ComponentEvent.DELETE: ComponentStatus.DELETING,
    },
    ComponentStatus.UPDATING: {
        ComponentEvent.READY: ComponentStatus.IN_SERVICE,
        ComponentEvent.ROLLED_BACK: ComponentStatus.IN_SERVICE,
        ComponentEvent.FAILED: ComponentStatus.FAILED,
    },
    ComponentStatus.FAILED: {ComponentEvent.DELETE: ComponentStatus.DELETING},
    ComponentStatus.DELETING: {},
}

ANSWERING = frozenset({ComponentStatus.IN_SERVICE, ComponentStatus.UPDATING})
"""The statuses in which a component has copies that answer: an update takes none away before its successor serves."""

REASON_MAX = 1024
"""FailureReason has at most so many characters."""


def move_component(status: ComponentStatus, event: ComponentEvent) -> ComponentStatus:
    """The status after the event. Raises `IllegalMove`."""
    try:
        return COMPONENT_MOVES[status][event]
    except KeyError:
        raise IllegalMove(status, event) from None


def may_component(status: ComponentStatus, event: ComponentEvent) -> bool:
    """Whether an operation that causes this event is allowed now."""
    return event in COMPONENT_MOVES[status]


def component_after(component: ComponentRecord, event: ComponentEvent, reason: str | None = None) -> ComponentRecord:
    """The component after the event. READY makes what is pending current; ROLLED_BACK and FAILED drop it, but for the
    DeploymentConfig: that was the last one all the same, as an endpoint's is.

    `reason` belongs to FAILED and ROLLED_BACK. It stays until the next update, so that a person can read it.
    """
    moved = replace(component, status=move_component(component.status, event))
    if event is ComponentEvent.READY:
        return replace(_adopted(moved), failure_reason=None)
    if event in (ComponentEvent.ROLLED_BACK, ComponentEvent.FAILED):
        last = component.pending_deployment or component.deployment
        return replace(_without_pending(moved), deployment=last, failure_reason=reason and reason[:REASON_MAX])
    if event is ComponentEvent.DELETE:
        return _without_pending(moved)
    return replace(moved, failure_reason=None)


def _adopted(component: ComponentRecord) -> ComponentRecord:
    adopted = replace(component, copies=component.desired_copies)
    if component.pending_specifications is not None:
        adopted = replace(
            adopted,
            specifications=component.pending_specifications,
            by_instance_type=component.pending_by_instance_type,
        )
    if component.pending_deployment is not None:
        adopted = replace(adopted, deployment=component.pending_deployment)
    return _without_pending(adopted)


def _without_pending(component: ComponentRecord) -> ComponentRecord:
    return replace(
        component,
        pending_specifications=None,
        pending_by_instance_type=False,
        pending_copies=None,
        pending_deployment=None,
        rollout=None,
    )
