"""What instances are made with, and who is told of their lives: handed down once, to every pool."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from torpor_endpoint.core.ledger_records import SERVERLESS, InstanceLife
from torpor_endpoint.core.records import Variant
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.timing import TIMING, InstanceTiming
from torpor_endpoint.host import Host, Launched, LaunchSpec, Slot
from torpor_endpoint.host.images import Images


def untold(life: InstanceLife) -> None:
    """Nobody keeps a ledger."""


async def unsung(endpoint: str, variant: str, member: Incarnation) -> None:
    """Nobody wants to know what an instance has to say before it goes."""


async def kept(endpoint: str, variant: str) -> None:
    """Its instances' disks stay where they are."""


def without_delay(variant: Variant) -> float:
    """An instance is ready as soon as it is."""
    return 0.0


@dataclass(frozen=True)
class InstanceFactory:
    """`clock` gives epoch seconds. `start_delay_s` is how long an instance of a variant takes at least to be ready.

    `farewell` is asked for each instance that has drained, while it still answers. `vacated` is told once the last
    instance of a variant that is served no more has gone. The clock may be set back or forth: a life never ends before
    it began.
    """

    host: Host
    spec: Callable[[Variant, Slot], LaunchSpec]
    clock: Callable[[], float]
    lived: Callable[[InstanceLife], None] = untold
    farewell: Callable[[str, str, Incarnation], Awaitable[None]] = unsung
    start_delay_s: Callable[[Variant], float] = without_delay
    images: Images = field(default_factory=Images)
    timing: InstanceTiming = TIMING
    vacated: Callable[[str, str], Awaitable[None]] = kept

    def began(self, variant: Variant, launched: Launched, why: str, at_s: float) -> InstanceLife:
        size = variant.instance_type or (f"{SERVERLESS}{variant.serverless.memory_mib}" if variant.serverless else "")
        slot = launched.slot
        kept = variant.serverless is not None and variant.serverless.provisioned_concurrency > 0
        life = InstanceLife(
            slot.endpoint, slot.variant, launched.incarnation, slot.number, size, why, at_s, provisioned=kept
        )
        self.lived(life)
        return life

    def ready(self, life: InstanceLife) -> InstanceLife:
        ready = replace(life, ready_s=max(life.started_s, self.clock()))
        self.lived(ready)
        return ready

    def ended(self, life: InstanceLife, why: str) -> None:
        stopped_s = max(life.started_s, life.ready_s or life.started_s, self.clock())
        self.lived(replace(life, why_stopped=why, stopped_s=stopped_s))
