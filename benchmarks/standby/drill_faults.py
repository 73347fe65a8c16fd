"""The faults of a pair of controls: each strikes the one that serves, waits until the right one serves, and ends."""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice
from typing import TypeVar

from benchmarks.standby.control_pair import ControlOfPair, ControlPair
from benchmarks.standby.kept_writes import KeptWrites
from benchmarks.standby.late_writes import WriteWatch

LOOK_S = 0.25
LOOKS_MAX = 24
"""Of the drill into the database, four a second as the standby's own, until the standby has the lease: about 6 s. It
takes over after 12 looks of its own that saw no beat."""
START_CPU_S = 4.0
"""The processor time from then on until it has accepted a model. With those 6 s it is the 10 s of a takeover, whatever
else the machine does."""
REST_S = 1.5
"""A control knows only by its next beat that another one stands by."""
WITHIN_S = 180.0
"""Whoever waits longer for one event ends the run."""
POLL_S = 0.05
BLINK_S = 1.5
"""A database that is away for so short is no reason to take over."""
ROUTERS_AWAY_S = (2.0, 6.0)

T = TypeVar("T")


class DrillKind(StrEnum):
    """What befalls the control that serves."""

    KILLED = "killed"
    FROZEN = "frozen"
    REFUSES = "database refuses"
    SWALLOWS = "database swallows"
    ALL_AWAY = "database and routers away"
    BLINKS = "database blinks"
    ROUTERS_AWAY = "routers away"


OUTLIVED = frozenset({DrillKind.BLINKS, DrillKind.ROUTERS_AWAY})
"""After these the same control serves."""


@dataclass
class StruckFaults:
    """`looks` are those from each fault until the standby had the lease, `start_cpu_s` its processor time from then
    until it accepted a model, and `took_s` the whole by the clock."""

    kinds: Counter[DrillKind] = field(default_factory=Counter)
    looks: dict[DrillKind, list[int]] = field(default_factory=lambda: defaultdict(list))
    start_cpu_s: list[float] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class PairFaults:
    """Strikes a pair. `watch` knows who holds the lease, and `writes` whether the one that serves accepts a model."""

    def __init__(self, pair: ControlPair, watch: WriteWatch, writes: KeptWrites, dice: random.Random) -> None:
        self.struck = StruckFaults()
        self._pair = pair
        self._watch = watch
        self._writes = writes
        self._dice = dice

    def strike(self, kind: DrillKind) -> None:
        """Raises TimeoutError if the pair is never whole again."""
        time.sleep(REST_S)
        serving = self._pair.controls[self._watch.holder()]
        if kind in OUTLIVED:
            self._stays(kind, serving)
        else:
            self._moves(kind, serving)
        self.struck.kinds[kind] += 1

    def _moves(self, kind: DrillKind, serving: ControlOfPair) -> None:
        """A fault after which the standby serves."""
        stood_by, began_s = serving.times_stood_by(), time.monotonic()
        self._begin(kind, serving)
        began = self._writes.began
        looks, standby = self._looks_until_taken(kind, serving), self._pair.other(serving.name)
        cpu_s = standby.processor_s()
        until(lambda: self._writes.accepted_call > began, f"the standby accepts a model after {kind}")
        self._note(kind, looks, standby.processor_s() - cpu_s, time.monotonic() - began_s)
        self._end(kind, serving)
        until(lambda: serving.times_stood_by() > stood_by, f"the one that was {kind} stands by")

    def _looks_until_taken(self, kind: DrillKind, serving: ControlOfPair) -> int:
        looks = 0

        def taken() -> bool:
            nonlocal looks
            looks += 1
            return self._watch.holder() != serving.name

        until(taken, f"the standby takes over from one that is {kind}", LOOK_S)
        return looks

    def _stays(self, kind: DrillKind, serving: ControlOfPair) -> None:
        """A fault after which the same control serves."""
        self._begin(kind, serving)
        time.sleep(BLINK_S if kind is DrillKind.BLINKS else self._dice.uniform(*ROUTERS_AWAY_S))
        self._end(kind, serving)
        began = self._writes.began
        until(lambda: self._writes.accepted_call > began, f"a model is accepted after {kind}")
        if self._watch.holder() != serving.name:
            self.struck.wrong.append(f"another control took over after: {kind}")

    def _note(self, kind: DrillKind, looks: int, cpu_s: float, took_s: float) -> None:
        self.struck.looks[kind].append(looks)
        self.struck.start_cpu_s.append(cpu_s)
        self.struck.took_s.append(took_s)
        if looks > LOOKS_MAX:
            self.struck.wrong.append(f"the standby had the lease {looks} looks after the other one was {kind}")
        if cpu_s > START_CPU_S:
            self.struck.wrong.append(f"the standby took {cpu_s:.1f} s of processor time to serve")

    def _begin(self, kind: DrillKind, serving: ControlOfPair) -> None:
        run, routers = self._pair.ways.run, self._pair.for_routers.way
        match kind:
            case DrillKind.KILLED:
                serving.stand.kill_endpoint()
            case DrillKind.FROZEN:
                serving.freeze()
            case DrillKind.REFUSES | DrillKind.BLINKS:
                run(serving.database.cut())
            case DrillKind.SWALLOWS:
                run(serving.database.swallow())
            case DrillKind.ALL_AWAY:
                run(serving.database.swallow())
                run(routers.cut())
            case DrillKind.ROUTERS_AWAY:
                run(routers.cut())

    def _end(self, kind: DrillKind, serving: ControlOfPair) -> None:
        match kind:
            case DrillKind.KILLED:
                serving.stand.start()
            case DrillKind.FROZEN:
                serving.thaw()
            case _:
                self._pair.ways.run(serving.database.mend())
                self._pair.ways.run(self._pair.for_routers.way.mend())


def kinds_of(faults: int, dice: random.Random) -> list[DrillKind]:
    """So many kinds, each as often as the others, in a random order."""
    found = list(islice(cycle(DrillKind), faults))
    dice.shuffle(found)
    return found


def until(true: Callable[[], T], what: str, poll_s: float = POLL_S) -> T:
    """Wait for a true value. Raises TimeoutError if there never is one."""
    deadline_s = time.monotonic() + WITHIN_S
    while not (value := true()):
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"it did not come to this: {what}")
        time.sleep(poll_s)
    return value
