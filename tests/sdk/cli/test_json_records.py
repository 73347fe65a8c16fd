"""The JSON of commands: its keys, and values that JSON does not have."""

from dataclasses import dataclass
from math import inf, nan

from torpor.cli.json_records import OutcomeEntry, ReplayOutput, keys, text


@dataclass(frozen=True)
class Inner:
    at_s: float | None


@dataclass(frozen=True)
class Outer:
    name: str
    shadow: Inner | None
    rows: tuple[Inner, ...]
    known: bool


def test_the_keys_of_a_record_have_those_below_them() -> None:
    assert dict(keys(Outer)) == {
        "name": "text",
        "shadow": "object or null",
        "shadow.at_s": "number or null",
        "rows[].at_s": "number or null",
        "known": "true or false",
    }


def test_what_is_no_number_is_null() -> None:
    outcome = OutcomeEntry("200", 1, nan, 0.1, 0.2, inf, "")
    shown = text(ReplayOutput("a", 1, 0, 2.0, 1, nan, 0.5, False, (outcome,)), indent=None)
    assert '"late_p50_s": null, "late_p99_s": 0.5' in shown
    assert '"cold_share": null, "p50_s": 0.1, "p95_s": 0.2, "p99_s": null' in shown
    assert "\n" not in shown
