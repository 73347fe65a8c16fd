"""The seam to whatever runs instances: `launch`, `terminate`, `list`, `health`, keyed by slot.

A host starts and stops instances and tells how they are. It never decides how many there should be, and never waits
for one to be ready: that deadline is the controller's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, order=True)
class Slot:
    """The place of an instance, which outlives the process in it: rendezvous hashing over slots gives a restarted
    instance its own models back."""

    endpoint: str
    variant: str
    number: int

    def __str__(self) -> str:
        return f"{self.endpoint}/{self.variant}/{self.number}"


@dataclass(frozen=True)
class LaunchSpec:
    """What to start: the container's own environment, and the folder for its output.

    Variables that begin with one of `forgotten` are not handed down from the endpoint's own.
    """

    slot: Slot
    environment: Mapping[str, str] = field(default_factory=dict)
    logs: Path | None = None
    forgotten: tuple[str, ...] = ()


class Phase(StrEnum):
    PENDING = "pending"  # not running yet; `reason` says why
    RUNNING = "running"
    EXITED = "exited"  # ended by itself; `reason` says how


@dataclass(frozen=True)
class Launched:
    """One incarnation of a slot: it changes whenever the process behind the slot is a new one, and has its own log."""

    slot: Slot
    incarnation: str
    socket: str
    phase: Phase
    reason: str = ""
    log: Path | None = None


class HostError(Exception):
    """The host could not do it; the message says why."""


class Host(Protocol):
    """Where instances run."""

    async def launch(self, spec: LaunchSpec) -> Launched:
        """Start the slot's instance, or answer the one that is there already. Raises HostError."""

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        """Stop it: ask first, then force after `grace_s`. A slot with nothing in it is no error."""

    def list(self) -> tuple[Launched, ...]:
        """Every instance that was launched and not terminated."""

    async def exited(self, slot: Slot) -> Launched:
        """Wait until the slot's present incarnation ends, however it ends."""

    def health(self, slot: Slot) -> Launched | None:
        """How the slot's incarnation is; None if there is none."""

    async def close(self) -> None:
        """Stop everything."""
