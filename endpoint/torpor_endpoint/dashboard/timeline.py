"""Turns what happened in the fleet into the rows of the page's timeline: loads, evictions, wakes, sleeps, and faults.

Each row has a reason. What a person need not see of a model's way is left out: its story has it all.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from torpor_container import wire
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pages.plain_figures import milliseconds, size
from torpor_endpoint.fleet.readings import Happening

Row = dict[str, Any]


class EventKind(StrEnum):
    """The kinds of rows, each a lane of the timeline."""

    LOAD = "load"
    EVICTION = "eviction"
    WAKE = "wake"
    SLEEP = "sleep"
    FAULT = "fault"


BEGIN = "load"
"""The action of the decision that begins a load. Its reason says how there is room."""
DECISIONS = {
    "loaded": EventKind.LOAD,
    "evict": EventKind.EVICTION,
    "failed": EventKind.FAULT,
    "not-downloaded": EventKind.FAULT,
    "refuse": EventKind.FAULT,
}
"""The kind of row for each action of a decision that gets one."""


def rows(happenings: Iterable[Happening]) -> list[Row]:
    """The rows of these happenings, oldest first. `what` is the reason, and what it took."""
    begun: dict[tuple[str, str], str] = {}  # why a load began, by instance and model
    found = []
    for one in happenings:
        whose = {"number": one.number, "endpoint": one.endpoint, "variant": one.variant, "instance": one.instance}
        if isinstance(one.what, InstanceLife):
            row = _life_row(whose, one.what)
        else:
            row = _decision_row(whose, one.what, begun)
        if row is not None:
            found.append(row)
    return found


def _decision_row(whose: Row, decision: wire.DecisionRecord, begun: dict[tuple[str, str], str]) -> Row | None:
    kind, load = DECISIONS.get(decision["action"]), (whose["instance"], decision["model"])
    if decision["action"] == BEGIN:
        begun[load] = decision["reason"]
    if kind is None:
        return None
    if kind is EventKind.EVICTION and not decision["for_model"]:
        kind = EventKind.SLEEP  # nobody calls the model: no other one needs its room
    what = decision["reason"]
    if kind is EventKind.LOAD:
        took = f"{size(decision['bytes'])} in {milliseconds(decision['took_s'])}"
        what = "; ".join(filter(None, (took, begun.pop(load, ""))))
    return {**whose, "kind": kind, "at_s": decision["at_s"], "model": decision["model"], "what": what}


def _life_row(whose: Row, life: InstanceLife) -> Row | None:
    """A row when an instance is ready, and one when it has stopped. Its launch alone gets none."""
    if life.stopped_s is not None:
        return {**whose, "kind": EventKind.SLEEP, "at_s": life.stopped_s, "what": life.why_stopped}
    if life.ready_s is None:
        return None
    what = f"{life.why_started}; ready after {milliseconds(life.ready_s - life.started_s)}"
    return {**whose, "kind": EventKind.WAKE, "at_s": life.ready_s, "what": what}
