"""The life cycles of an endpoint and of an instance, as tables of states and events. They do nothing else."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from torpor_endpoint.core.resource_records import EndpointRecord, EndpointStatus


class EndpointEvent(StrEnum):
    """What can happen to an endpoint after CreateEndpoint."""

    READY = "ready"  # every variant, new or changed, passed its health check
    FAILED = "failed"  # a variant could not start
    UPDATE = "update"  # UpdateEndpoint or UpdateEndpointWeightsAndCapacities
    ROLLED_BACK = "rolled back"  # the old variants run again
    ROLLBACK_FAILED = "rollback failed"  # old and new variants serve together: the old ones cannot start again
    DELETE = "delete"  # DeleteEndpoint


class InstancePhase(StrEnum):
    """The phase of one incarnation. Only a `READY` one gets requests."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"  # takes no new request, finishes those it has
    GONE = "gone"


class InstanceEvent(StrEnum):
    """What can happen to an incarnation."""

    PING_OK = "ping ok"
    DIED = "died"  # its process ended
    TIMED_OUT = "timed out"  # it was not healthy in time, is no longer healthy, or did not drain in time
    RETIRE = "retire"  # it is idle or surplus, or its endpoint is deleted
    LAST_REPLY = "last reply"  # it has no request in flight any more


class IllegalMove(Exception):
    """The event cannot happen in this state: the caller's view of it is out of date or wrong."""

    def __init__(self, state: StrEnum, event: StrEnum) -> None:
        super().__init__(f"{type(state).__name__} {state.value!r} has no move for {event.value!r}")


# DescribeEndpoint: "RollingBack: Endpoint fails to scale up or down or change its variant weight and is in the process
# of rolling back to its previous configuration. Once the rollback completes, endpoint returns to an InService status."
ENDPOINT_MOVES: Mapping[EndpointStatus, Mapping[EndpointEvent, EndpointStatus]] = {
    EndpointStatus.CREATING: {
        EndpointEvent.READY: EndpointStatus.IN_SERVICE,
        EndpointEvent.FAILED: EndpointStatus.FAILED,
    },
    EndpointStatus.IN_SERVICE: {
        EndpointEvent.UPDATE: EndpointStatus.UPDATING,
        EndpointEvent.DELETE: EndpointStatus.DELETING,
    },
    EndpointStatus.UPDATING: {
        EndpointEvent.READY: EndpointStatus.IN_SERVICE,
        EndpointEvent.FAILED: EndpointStatus.ROLLING_BACK,
    },
    EndpointStatus.ROLLING_BACK: {
        EndpointEvent.ROLLED_BACK: EndpointStatus.IN_SERVICE,
        EndpointEvent.ROLLBACK_FAILED: EndpointStatus.UPDATE_ROLLBACK_FAILED,
    },
    # "Both the rolling deployment and auto-rollback failed. Your endpoint is in service with a mix of the old and new
    # endpoint configurations."
    EndpointStatus.UPDATE_ROLLBACK_FAILED: {
        EndpointEvent.UPDATE: EndpointStatus.UPDATING,
        EndpointEvent.DELETE: EndpointStatus.DELETING,
    },
    EndpointStatus.FAILED: {EndpointEvent.DELETE: EndpointStatus.DELETING},
    EndpointStatus.DELETING: {},
}

SERVING = frozenset(
    {
        EndpointStatus.IN_SERVICE,
        EndpointStatus.UPDATING,
        EndpointStatus.ROLLING_BACK,
        EndpointStatus.UPDATE_ROLLBACK_FAILED,
    }
)
"""The statuses in which InvokeEndpoint is answered: an endpoint stays available during an update."""

# Late events are no fault: a ping that is answered while draining, the exit of a killed process, the retirement of an
# incarnation that is gone.
INSTANCE_MOVES: Mapping[InstancePhase, Mapping[InstanceEvent, InstancePhase]] = {
    InstancePhase.STARTING: {
        InstanceEvent.PING_OK: InstancePhase.READY,
        InstanceEvent.DIED: InstancePhase.GONE,
        InstanceEvent.TIMED_OUT: InstancePhase.GONE,
        InstanceEvent.RETIRE: InstancePhase.GONE,  # it never got a request, so it has nothing to finish
    },
    InstancePhase.READY: {
        InstanceEvent.PING_OK: InstancePhase.READY,
        InstanceEvent.DIED: InstancePhase.GONE,
        InstanceEvent.TIMED_OUT: InstancePhase.GONE,
        InstanceEvent.RETIRE: InstancePhase.DRAINING,
    },
    InstancePhase.DRAINING: {
        InstanceEvent.PING_OK: InstancePhase.DRAINING,
        InstanceEvent.DIED: InstancePhase.GONE,
        InstanceEvent.TIMED_OUT: InstancePhase.GONE,
        InstanceEvent.RETIRE: InstancePhase.DRAINING,
        InstanceEvent.LAST_REPLY: InstancePhase.GONE,
    },
    InstancePhase.GONE: {
        InstanceEvent.DIED: InstancePhase.GONE,
        InstanceEvent.TIMED_OUT: InstancePhase.GONE,
        InstanceEvent.RETIRE: InstancePhase.GONE,
        InstanceEvent.LAST_REPLY: InstancePhase.GONE,
    },
}

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)


def move(status: EndpointStatus, event: EndpointEvent) -> EndpointStatus:
    """The status after the event. Raises `IllegalMove`."""
    return _next(ENDPOINT_MOVES, status, event)


def move_instance(phase: InstancePhase, event: InstanceEvent) -> InstancePhase:
    """The phase after the event. Raises `IllegalMove`."""
    return _next(INSTANCE_MOVES, phase, event)


def may(status: EndpointStatus, event: EndpointEvent) -> bool:
    """Whether an operation that causes this event is allowed now."""
    return event in ENDPOINT_MOVES[status]


def after(endpoint: EndpointRecord, event: EndpointEvent, reason: str | None = None) -> EndpointRecord:
    """The endpoint after the event. READY makes the pending configuration the current one; ROLLED_BACK and
    DELETE drop it, and ROLLBACK_FAILED leaves both.

    `reason` belongs to FAILED and ROLLBACK_FAILED. It outlives the rollback, so that a person can read why the update
    failed.
    """
    moved = replace(endpoint, status=move(endpoint.status, event), failure_reason=reason or endpoint.failure_reason)
    if event is EndpointEvent.READY:
        return replace(_adopted(moved), failure_reason=None)
    ended = event in (EndpointEvent.ROLLED_BACK, EndpointEvent.DELETE)
    return _without_pending(moved) if ended else moved


def confined(endpoint: EndpointRecord, reason: str) -> EndpointRecord:
    """The endpoint in the middle of an update once only its pending configuration can be served: that is current then,
    and `reason` says why. A rollback has failed."""
    forward = endpoint.status is EndpointStatus.UPDATING
    status = EndpointStatus.IN_SERVICE if forward else EndpointStatus.UPDATE_ROLLBACK_FAILED
    return replace(_adopted(endpoint), status=status, failure_reason=reason)


def _adopted(endpoint: EndpointRecord) -> EndpointRecord:
    if endpoint.pending_variants is None:
        return _without_pending(endpoint)
    config_name = endpoint.pending_config_name or endpoint.config_name
    return _without_pending(replace(endpoint, config_name=config_name, variants=endpoint.pending_variants))


def _without_pending(endpoint: EndpointRecord) -> EndpointRecord:
    return replace(endpoint, pending_config_name=None, pending_variants=None, pending_told=(), rollout=None)


def _next(moves: Mapping[State, Mapping[Event, State]], state: State, event: Event) -> State:
    try:
        return moves[state][event]
    except KeyError:
        raise IllegalMove(state, event) from None
