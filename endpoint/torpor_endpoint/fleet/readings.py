"""Keeps the collector's latest reading of each instance, and what happened lately, for whoever shows them.

It asks no instance anything: the collector and the instances' lives write, the dashboard reads. It is bounded.
"""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from torpor_container import wire
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.fleet.supervision.resident_models import ResidentModels

HAPPENINGS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class InstanceReading:
    """An instance's own report, and when it came. Its decisions are not in it: they are happenings."""

    at_s: float  # epoch seconds
    statuses: Mapping[str, wire.InstanceStatus]
    """By container, those that answered, without their models."""
    models: Mapping[str, ResidentModels]
    """The models in memory, by container as above. They are those of the latest reading."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One decision of an instance, or one change in an instance's life. Numbers rise by one."""

    number: int
    endpoint: str
    variant: str
    instance: str
    what: wire.DecisionRecord | InstanceLife


class Readings:
    """For the event loop's thread."""

    def __init__(self) -> None:
        self.latest: dict[str, InstanceReading] = {}
        """The latest reading by the instance's id."""
        self._happenings: deque[Happening] = deque(maxlen=HAPPENINGS_MAX)
        self.last_number = 0

    def read(self, instance: str, reading: InstanceReading) -> None:
        self.latest[instance] = reading

    def decided(self, endpoint: str, variant: str, instance: str, decision: wire.DecisionRecord) -> None:
        self._add(endpoint, variant, instance, decision)

    def lived(self, life: InstanceLife) -> None:
        """An instance has begun, is ready, or has ended."""
        self._add(life.endpoint, life.variant, life.instance, life)

    def keep(self, instances: Collection[str]) -> None:
        """Drop the readings of all other instances."""
        self.latest = {name: reading for name, reading in self.latest.items() if name in instances}

    def after(self, number: int) -> Sequence[Happening]:
        """What happened later than the happening of this number, oldest first."""
        if number >= self.last_number:
            return ()
        return [one for one in self._happenings if one.number > number]

    def _add(self, endpoint: str, variant: str, instance: str, what: wire.DecisionRecord | InstanceLife) -> None:
        self.last_number += 1
        self._happenings.append(Happening(self.last_number, endpoint, variant, instance, what))
