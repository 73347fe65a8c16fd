"""What happens in the fleet, as the rows of the page's timeline: each has its reason."""

from typing import Any

import pytest

from tests.helpers.ledger_with_pages import NOON_S, life
from torpor_container.wire import DecisionRecord
from torpor_endpoint.dashboard.timeline import EventKind, rows
from torpor_endpoint.fleet.readings import Readings


def decision(action: str, reason: str = "", took_s: float = 0.0, for_model: str = "") -> DecisionRecord:
    return {
        "seq": 1,
        "at_s": NOON_S,
        "model": "a",
        "action": action,
        "reason": reason,
        "bytes": 2048,
        "took_s": took_s,
        "for_model": for_model,
    }


def told(*happened: Any) -> list[dict[str, Any]]:
    readings = Readings()
    for one in happened:
        if isinstance(one, dict):
            readings.decided("houses", "v", "i-1", one)  # type: ignore[arg-type]  # a DecisionRecord is a dict
        else:
            readings.lived(one)
    return rows(readings.after(0))


def test_a_load_has_the_reason_for_which_it_began() -> None:
    (row,) = told(decision("load", "there is room"), decision("loaded", "measured 2,048 bytes", 0.0119))
    assert (row["kind"], row["model"], row["what"]) == (EventKind.LOAD, "a", "2 KiB in 11.9 ms; there is room")


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (decision("evict", "b needs the room", for_model="b"), EventKind.EVICTION),
        (decision("evict", "nobody calls"), EventKind.SLEEP),
        (decision("failed", "no such file"), EventKind.FAULT),
        (decision("refuse", "it is too large"), EventKind.FAULT),
        (life(), EventKind.WAKE),
        (life(stopped_s=NOON_S + 9), EventKind.SLEEP),
    ],
)
def test_each_kind_of_happening_has_its_lane(what: Any, kind: EventKind) -> None:
    assert [row["kind"] for row in told(what)] == [kind]


def test_the_steps_between_are_left_to_the_story() -> None:
    assert told(decision("download"), decision("downloaded"), decision("unloaded"), life(ready_s=None)) == []


def test_rows_keep_the_numbers_of_what_happened() -> None:
    found = told(decision("download"), decision("loaded"), life())
    assert [row["number"] for row in found] == [2, 3]
