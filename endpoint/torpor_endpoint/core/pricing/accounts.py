"""Gathers what costs are calculated from, apart from prices: each variant's lives and traffic in a window of time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from torpor_endpoint.core.components.component_variants import component_of
from torpor_endpoint.core.ledger import Sums
from torpor_endpoint.core.ledger_records import ON_PROVISIONED, SERVERLESS, TRANSFORM_JOB, InstanceLife
from torpor_endpoint.core.pricing.catalogue import INSTANCE_DISK_MIB, has_local_disk

MIB_PER_GB = 1024


@dataclass(frozen=True)
class Window:
    since_s: float
    until_s: float

    @property
    def length_s(self) -> float:
        return max(0.0, self.until_s - self.since_s)

    def alive_s(self, life: InstanceLife) -> float:
        """Seconds of a life inside the window. A life without an end goes on."""
        return max(0.0, self.end_s(life) - max(life.started_s, self.since_s))

    def end_s(self, life: InstanceLife) -> float:
        return self.until_s if life.stopped_s is None else min(life.stopped_s, self.until_s)


@dataclass(frozen=True)
class ModelTraffic:
    """One model's requests in the window, on instances of one size ("" if they never reached one)."""

    endpoint: str
    variant: str
    model: str
    size: str
    sums: Sums
    shadow: bool = False  # copies of requests, which a shadow variant got


@dataclass
class VariantUse:
    """One variant's lives and traffic in the window, either as a production variant or as a shadow variant."""

    endpoint: str
    variant: str
    lives: list[InstanceLife] = field(default_factory=list)
    traffic: list[ModelTraffic] = field(default_factory=list)
    shadow: bool = False
    copies: list[InstanceLife] = field(default_factory=list)  # of inference components, on these instances
    artifacts_bytes: int = 0  # in S3, of all models that it ever fetched, as far as that is known

    @property
    def component(self) -> bool:
        """Whether it is an inference component, whose copies run on instances of another variant."""
        return component_of(self.variant) is not None

    @property
    def job(self) -> bool:
        """Whether it is a batch transform job, and no variant of an endpoint."""
        return self.endpoint.startswith(TRANSFORM_JOB)


def accounts(lives: Iterable[InstanceLife], traffic: Iterable[ModelTraffic], window: Window) -> list[VariantUse]:
    """The use of every variant that had an instance or a request in the window, by endpoint, the production variants
    first, in order of name. A variant that an update promoted has one of each kind.

    `traffic` arrived in the window; lives may reach beyond the window or lie outside it.
    """
    found: dict[tuple[str, str, bool], VariantUse] = {}

    def of(one: InstanceLife | ModelTraffic) -> VariantUse:
        key = one.endpoint, one.variant, one.shadow
        return found.setdefault(key, VariantUse(one.endpoint, one.variant, shadow=one.shadow))

    for life in lives:
        for part in by_role(life):
            if window.alive_s(part):
                of(part).lives.append(part)
    for one in traffic:
        of(one).traffic.append(one)
    for copy in [life for use in found.values() for life in use.lives if life.placed_on]:
        if (instances := found.get((copy.endpoint, copy.placed_on, copy.shadow))) is not None:
            instances.copies.append(copy)
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[2], key[1]))]


def existed_s(use: VariantUse, window: Window) -> float:
    """The seconds of the window since the variant's first instance in it; all of them if it had none."""
    return window.until_s - max(window.since_s, min((one.started_s for one in use.lives), default=window.since_s))


def by_role(life: InstanceLife) -> Sequence[InstanceLife]:
    """The life's parts as a shadow variant's instance and as a production variant's. One part if no update changed
    that."""
    if life.changed_s is None:
        return (life,)
    before = replace(life, shadow=not life.shadow, stopped_s=life.changed_s, changed_s=None)
    return before, replace(life, started_s=life.changed_s, changed_s=None)


def memory_gb(size: str) -> float | None:
    """The memory of a serverless instance in GB; None for an instance that is billed by the hour."""
    return int(own_size(size).removeprefix(SERVERLESS)) / MIB_PER_GB if size.startswith(SERVERLESS) else None


def own_size(size: str) -> str:
    """The size of an instance, of the size that the ledger writes for its traffic."""
    return size.removesuffix(ON_PROVISIONED)


def volume_gb(size: str, given_gb: float | None = None) -> float:
    """The GB of the volume of an instance of this type: VolumeSizeInGB if that is given, else as much as Torpor gives
    it. A type with disks of its own has no volume."""
    if not size.startswith("ml.") or has_local_disk(size):
        return 0.0
    return INSTANCE_DISK_MIB / MIB_PER_GB if given_gb is None else given_gb
