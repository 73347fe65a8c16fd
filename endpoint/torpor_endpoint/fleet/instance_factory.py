"""Holds what every pool makes its instances with, and the observers to which it reports their lives."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from torpor_endpoint.core.ledger_records import SERVERLESS, InstanceLife
from torpor_endpoint.core.memory_shares import MemoryPlan
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.drains import NoOtherRouter, OtherRouters
from torpor_endpoint.fleet.timing import TIMING, InstanceTiming
from torpor_endpoint.host import Host, Launched, LaunchSpec, Slot
from torpor_endpoint.host.images import Images
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import machine_digest

P = TypeVar("P", bound=VariantPool)


def without_ledger(life: InstanceLife) -> None:
    """Record nothing: there is no ledger."""


async def without_farewell(endpoint: str, variant: str, incarnation: Incarnation) -> None:
    """Read nothing from an instance before it stops."""


async def disks_kept(endpoint: str, variant: str) -> None:
    """Keep the disks of the variant's instances."""


async def without_fault(variant: Variant, endpoint_arn: str) -> str | None:
    """Find no fault: roles are names only."""
    return None


def without_sharing(variant: Variant) -> MemoryPlan | None:
    """Share no memory: each container keeps the budget that it starts with."""
    return None


def unnoticed() -> None:
    """Tell nobody: nothing is counted."""


def unfollowed(endpoint: str) -> None:
    """Tell nobody: no router follows."""


def without_setups(endpoint: str, variant: Variant) -> None:
    """Tell nobody: no ledger is written."""


def without_delay(variant: Variant) -> float:
    """Delay nothing: an instance is ready as soon as it answers."""
    return 0.0


def names_are_keys(pool: VariantPool) -> None:
    """List nothing: each name of this pool is a key."""


def digest_without_key(variant: Variant) -> str:
    """Nobody but this process sees a digest."""
    return machine_digest(variant, b"")


@dataclass(frozen=True)
class InstanceFactory:
    """Launches instances with `spec` on `host`, and records their lives.

    `clock` gives epoch seconds. Somebody may set the clock back: a recorded life still never ends before its start.
    `lived` gets each life whenever it changes, and `set_up` the endpoint's name and the variant of each instance that
    begins or is updated. `farewell` runs for each drained instance while it still answers.
    `start_delay_s` is the shortest time until an instance of a variant is ready. `vacated` runs when the last instance
    of a variant that is no longer served has stopped. `memory_plan` says how several containers share the memory of an
    instance. `updating` is called before an update changes what an endpoint's pools are, and `changed` with the name of
    an endpoint of which a pool has changed. `others` are the routers beside this process. `fault` says why a variant
    cannot be deployed at the endpoint with this ARN. `digest` tells variants apart whose instances differ. `named` gets
    each new pool with versions or groups.
    """

    host: Host
    spec: Callable[[Variant, Slot], LaunchSpec]
    clock: Callable[[], float]
    lived: Callable[[InstanceLife], None] = without_ledger
    set_up: Callable[[str, Variant], None] = without_setups
    farewell: Callable[[str, str, Incarnation], Awaitable[None]] = without_farewell
    start_delay_s: Callable[[Variant], float] = without_delay
    images: Images = field(default_factory=Images)
    timing: InstanceTiming = TIMING
    vacated: Callable[[str, str], Awaitable[None]] = disks_kept
    memory_plan: Callable[[Variant], MemoryPlan | None] = without_sharing
    updating: Callable[[], None] = unnoticed
    changed: Callable[[str], None] = unfollowed
    others: OtherRouters = field(default_factory=NoOtherRouter)
    fault: Callable[[Variant, str], Awaitable[str | None]] = without_fault
    digest: Callable[[Variant], str] = digest_without_key
    named: Callable[[VariantPool], None] = names_are_keys

    def joined(self, pool: P) -> P:
        """A new pool, whose prefix is listed where names below it may be no keys."""
        if pool.versions is not None or pool.groups is not None:
            self.named(pool)
        return pool

    def launch_spec(self, variant: Variant, slot: Slot) -> LaunchSpec:
        """What the host needs to start a container of the variant."""
        return replace(self.spec(variant, slot), configuration=self.digest(variant))

    def slots(self, variant: Variant, slot: Slot) -> list[Slot]:
        """The slots of all containers of the instance in this slot."""
        return [replace(slot, container=number) for number in range(len(variant.containers))]

    def running(self, endpoint: str, variant: Variant) -> dict[int, bool]:
        """The slot numbers of the instances that the host runs for a variant of this name, and whether all containers
        were launched for just this variant."""
        found: dict[int, bool] = {}
        configuration = self.digest(variant)
        for one in self.host.list():
            if (one.slot.endpoint, one.slot.variant) == (endpoint, variant.name):
                found[one.slot.number] = found.get(one.slot.number, True) and one.is_of(configuration)
        return found

    def adopted_in(self, slot: Slot) -> list[str]:
        """The instance in this slot, if an earlier endpoint process launched it: routers may still use it."""
        return [one.incarnation for one in self.host.list() if one.slot == slot and one.since_s is not None]

    async def terminate(self, variant: Variant, slot: Slot, grace_s: float) -> None:
        """Stop all containers of the instance in this slot together (see `Host.terminate`), also those of an earlier
        variant that had more of them."""
        known = {one.slot for one in self.host.list() if replace(one.slot, container=0) == slot}
        slots = sorted(known.union(self.slots(variant, slot)))
        await asyncio.gather(*(self.host.terminate(one, grace_s) for one in slots))

    def began(self, variant: Variant, launched: Launched, why: str, at_s: float) -> InstanceLife:
        """Record that an instance was launched at `at_s`, in epoch seconds, for the reason `why`."""
        size = variant.instance_type or (f"{SERVERLESS}{variant.serverless.memory_mib}" if variant.serverless else "")
        size = size if variant.copies is None else ""  # its instance has a life of its own, which is what is paid
        slot, needs = launched.slot, variant.copies
        ready_kept = 0 if variant.serverless is None else variant.serverless.provisioned_concurrency
        life = InstanceLife(
            slot.endpoint,
            slot.variant,
            launched.incarnation,
            slot.number,
            size,
            why,
            at_s,
            provisioned=slot.number < ready_kept,
            shadow=variant.shadow,
            volume_gb=variant.request.get("VolumeSizeInGB"),
            placed_on=needs.placed_on if needs else "",
            reserved_mib=needs.memory_mib if needs else 0.0,
            reserved_cores=needs.cores if needs else 0.0,
            reserved_accelerators=needs.accelerators if needs else 0.0,
        )
        self.lived(life)
        self.set_up(slot.endpoint, variant)
        return life

    def ready(self, life: InstanceLife) -> InstanceLife:
        """Record that the instance is ready now."""
        ready = replace(life, ready_s=max(life.started_s, self.clock()))
        self.lived(ready)
        return ready

    def updated(self, life: InstanceLife, variant: Variant) -> InstanceLife:
        """Record that an update made the instance's variant a shadow variant now, or made it none."""
        self.set_up(life.endpoint, variant)
        if life.shadow == variant.shadow:
            return life
        changed = replace(life, shadow=variant.shadow, changed_s=max(life.started_s, self.clock()))
        self.lived(changed)
        return changed

    def ended(self, life: InstanceLife, why: str) -> None:
        """Record that the instance has stopped now, for the reason `why`."""
        stopped_s = max(life.started_s, life.ready_s or life.started_s, self.clock())
        self.lived(replace(life, why_stopped=why, stopped_s=stopped_s))
