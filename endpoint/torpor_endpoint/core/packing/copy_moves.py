"""How a copy moves from one instance to another, as a table of phases: its successor comes first, and then it goes."""

from collections.abc import Mapping
from enum import StrEnum

from torpor_endpoint.core.lifecycle import IllegalMove


class MovePhase(StrEnum):
    PLANNED = "planned"
    STARTING = "starting"  # the successor starts; the copy serves
    LEAVING = "leaving"  # the successor serves; the copy finishes what it has
    DONE = "done"
    ABANDONED = "abandoned"  # the copy stays where it is


class MoveEvent(StrEnum):
    BEGIN = "begin"
    READY = "ready"  # the successor passed its health check
    FAILED = "failed"  # the successor cannot start, or its component or endpoint has changed meanwhile
    LEFT = "left"  # the copy has answered its last request, or died


MOVE_PHASES: Mapping[MovePhase, Mapping[MoveEvent, MovePhase]] = {
    MovePhase.PLANNED: {
        MoveEvent.BEGIN: MovePhase.STARTING,
        MoveEvent.FAILED: MovePhase.ABANDONED,
        MoveEvent.LEFT: MovePhase.ABANDONED,
    },
    MovePhase.STARTING: {
        MoveEvent.READY: MovePhase.LEAVING,
        MoveEvent.FAILED: MovePhase.ABANDONED,
        MoveEvent.LEFT: MovePhase.STARTING,  # a copy that dies early has its successor soon
    },
    MovePhase.LEAVING: {MoveEvent.LEFT: MovePhase.DONE},
    MovePhase.DONE: {},
    MovePhase.ABANDONED: {},
}

OLD_SERVES = frozenset({MovePhase.PLANNED, MovePhase.STARTING, MovePhase.ABANDONED})
"""The phases in which requests go to the copy that is to leave. In the others they go to its successor."""


def move_phase(phase: MovePhase, event: MoveEvent) -> MovePhase:
    """The phase after the event. Raises `IllegalMove`."""
    try:
        return MOVE_PHASES[phase][event]
    except KeyError:
        raise IllegalMove(phase, event) from None
