"""Defines the interface of a host, which runs instances: `launch`, `terminate`, `list`, `health`, keyed by slot.

A host starts and stops instances and reports their state. It never decides how many there should be, and never waits
until one is ready: the slot supervisor does. Only a host knows where processes, their disks and their output are: it
says by which address an instance is reached, and brings its output to the file that the launch names.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from torpor_container.frozen_class import frozen
from torpor_container.transport.address import Address


@dataclass(frozen=True, order=True)
class Slot:
    """The place of an instance in a variant, or of one of its containers. It outlives the process in it: rendezvous
    hashing ranks slots, so a restarted instance gets its own models back."""

    endpoint: str
    variant: str
    number: int
    container: int = 0  # the container's place in the model, from 0

    def __str__(self) -> str:
        first = f"{self.endpoint}/{self.variant}/{self.number}"
        return f"{first}/{self.container}" if self.container else first


@frozen
class Resources:
    """What a container takes of a machine. A copy of an inference component may take a part of a processor."""

    vcpu: float
    memory_mib: int
    gpus: int = 0


@frozen
class LaunchSpec:
    """What to start: the container's environment, and the endpoint's folder for its output.

    The host adds the folder of the slot's disk, SAGEMAKER_BASE_DIR. On this machine the instance inherits the
    endpoint's own variables, except those that begin with one of `forgotten`. `container` is the container's name if
    the instance has several, and `instance` then the incarnation of the instance, if one of its containers runs
    already: their output is kept together. `role` is the ARN of the execution role that its model names, where roles
    are used: what one role has read is on no disk of another role. `configuration` is a digest of what the instance
    serves, and on what machine: one of another configuration does not stand in for it.
    """

    slot: Slot
    environment: Mapping[str, str] = field(default_factory=dict)
    logs: Path | None = None
    resources: Resources | None = None
    forgotten: tuple[str, ...] = ()
    container: str = ""
    instance: str = ""
    role: str = ""
    configuration: str = ""


class Phase(StrEnum):
    """The state of an incarnation, as its host reports it."""

    PENDING = "pending"  # does not run yet; `reason` says why
    RUNNING = "running"
    EXITED = "exited"  # has ended by itself; `reason` says how


@frozen
class Launched:
    """One launch of a slot. Each launch has a new `incarnation` name, and a log of its own. The record of an instance
    that requests use holds those of its containers, and so does the routing table.

    `address` is None while it is pending. The output reaches the file `log` at once, or soon from another machine.
    `since_s`, in epoch seconds, is when it was launched, if that was by an earlier endpoint process. `configuration` is
    that of its launch, or empty as long as the host does not know it. `leaves_at_s`, in epoch seconds, is when its
    machine goes, if that was announced; 0 where no time was.
    """

    slot: Slot
    incarnation: str
    address: Address | None
    phase: Phase
    reason: str = ""
    log: Path | None = None
    since_s: float | None = None
    configuration: str = ""
    leaves_at_s: float | None = None

    @property
    def placed_at(self) -> Address:
        """Where it listens. Raises ValueError while it is pending."""
        if self.address is None:
            raise ValueError(f"{self.slot} has no place yet")
        return self.address

    def is_of(self, configuration: str) -> bool:
        """Whether it was launched for this configuration, as far as the host knows."""
        return self.configuration in ("", configuration)

    def serves(self, spec: LaunchSpec) -> bool:
        """Whether it runs, or will run, and this launch would start the same."""
        return self.phase is not Phase.EXITED and self.is_of(spec.configuration)


class HostError(Exception):
    """The host cannot launch or stop an instance. The message says why."""


class Host(Protocol):
    """Where instances run."""

    async def launch(self, spec: LaunchSpec) -> Launched:
        """Start the slot's instance, or return the one that runs already. It may be pending. One of another
        configuration is ended first. What a launch began that fails or is cancelled is ended, at the latest by
        `terminate` or by the next launch. Raises HostError."""

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        """Stop the slot's instance: by SIGTERM, and after `grace_s` by force. An empty slot is no error. Raises
        HostError if it may still run: whoever wants its end asks again."""

    def list(self) -> tuple[Launched, ...]:
        """Every instance that was launched and is not terminated."""

    async def placed(self, slot: Slot) -> Launched:
        """Wait until the slot's present incarnation is no longer pending. Meanwhile `health` says why it is."""

    async def exited(self, slot: Slot) -> Launched:
        """Wait until the slot's present incarnation ends, however it ends."""

    def health(self, slot: Slot) -> Launched | None:
        """The slot's incarnation with its phase; None if there is none."""

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        """Remove the disks of a variant without instances, or of all variants of an endpoint."""

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        """Learn what runs already, before the first launch. `kept` has each endpoint and variant that is served: the
        instances and disks of all others are removed. Raises HostError."""

    async def close(self) -> None:
        """Stop everything."""
