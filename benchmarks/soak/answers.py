"""Decides which outcomes of a call are right, by what S3 may have held meanwhile. It only takes times, and calls
nothing.

An object is overwritten or deleted at some moment between the beginning and the end of the request that does so, so
for that while both the old and the new state may be seen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

MISSING = "Failed to download model data"
"""The error of a call whose model is not in S3."""
BROKEN = "ModelError"
"""The error of a call whose instance ended meanwhile."""


class Verdict(StrEnum):
    """The outcome of a call. The last two are failures."""

    RIGHT = "right"
    ABSENT = "no such model"  # and there was none
    KILLED = "killed"  # it was in flight as its instance was killed
    WRONG = "wrong answer"
    LOST = "lost"


GOOD = frozenset({Verdict.RIGHT, Verdict.ABSENT, Verdict.KILLED})


@dataclass
class Spell:
    """A state of an object, with the time in which it was possible: a number, or None without an object."""

    number: int | None
    since_s: float
    until_s: float = inf


@dataclass
class History:
    """All states of one key. There is one change at a time."""

    spells: list[Spell] = field(default_factory=lambda: [Spell(None, -inf)])

    @property
    def number(self) -> int | None:
        return self.spells[-1].number

    def change_begins(self, number: int | None, now_s: float) -> None:
        self.spells.append(Spell(number, now_s))

    def change_is_done(self, now_s: float) -> None:
        self.spells[-2].until_s = now_s

    def held(self, number: float | None, since_s: float, until_s: float) -> bool:
        """Whether the state was possible at some moment in between."""
        return any(
            spell.number == number and spell.since_s <= until_s and spell.until_s >= since_s for spell in self.spells
        )


@dataclass(frozen=True)
class Kill:
    """The time in which instances of one endpoint, or of all (None), were killed."""

    endpoint: str | None
    began_s: float
    ended_s: float = inf


@dataclass(frozen=True)
class Call:
    """One call and its end: the number that it was told, or else the error.

    `led_s` is when the first of the calls began that wanted this model of this endpoint and were still in flight as
    this one began: if it waited for a load, none earlier has begun it.
    """

    endpoint: str
    model: str
    led_s: float
    began_s: float
    ended_s: float
    number: float | None = None
    error: str = ""
    steps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """What an endpoint may hold: nothing older than `asleep_s`, when it was last seen with no instance at all.

    `revalidates`: it asks S3 before each load; else an instance may load again what it has on disk.
    """

    asleep_s: float
    revalidates: bool


def judged(call: Call, history: History, known: Known, kills: Iterable[Kill]) -> Verdict:
    if call.number is not None:
        held = history.held(call.number, _since_s(call, known), call.ended_s)
        return Verdict.RIGHT if held else Verdict.WRONG
    if MISSING in call.error and history.held(None, call.led_s, call.ended_s):
        return Verdict.ABSENT
    if call.error.startswith(BROKEN) and any(_hit(kill, call) for kill in kills):
        return Verdict.KILLED
    return Verdict.LOST


def _since_s(call: Call, known: Known) -> float:
    """The earliest time at which the call's object may have been read."""
    read = "download" in call.steps or (known.revalidates and "load" in call.steps)
    return call.led_s if read else known.asleep_s


def _hit(kill: Kill, call: Call) -> bool:
    mine = kill.endpoint is None or kill.endpoint == call.endpoint
    return mine and kill.began_s <= call.ended_s and call.began_s <= kill.ended_s
