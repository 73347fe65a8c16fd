"""What is chosen for inference components before they are deployed, in SageMaker's terms. Nothing is placed here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torpor.simulator.scenario import BadScenario
from torpor.value_rules import (
    AMOUNT,
    COUNT,
    MORE,
    NUMBER,
    SWITCH,
    Kind,
    ValueRule,
    a,
    check,
    one_of,
    one_of_in_any_case,
    optional,
    whole,
)
from torpor_container.core.eviction import POLICIES
from torpor_container.core.keepalive import POLICIES as KEEP_ALIVES
from torpor_container.settings import DEFAULTS
from torpor_endpoint.core.autoscaling.samples import (
    Measure,
    concurrent_requests_per_instance,
    invocations_per_instance,
    of_copies,
)
from torpor_endpoint.core.autoscaling.tracking import BY_MINUTES, HIGH_RESOLUTION, Tracked, Tracking
from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy

MEMORY_LEAST_MIB = 128
CORES_LEAST, ACCELERATORS_LEAST = 0.25, 1.0
"""The least that ComputeResourceRequirements may ask for."""

METRICS: Mapping[str, tuple[Tracked, Measure]] = {
    "concurrency": (HIGH_RESOLUTION, of_copies(concurrent_requests_per_instance)),
    "invocations": (BY_MINUTES, of_copies(invocations_per_instance)),
}
"""What a policy may track: SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution, and
SageMakerInferenceComponentInvocationsPerCopy."""


def _none_or(least: float) -> Kind:
    return NUMBER, ValueRule(f"is 0, or {least:g} or more", lambda value: value == 0 or least <= value < 1e6)


MIB_AMOUNT: Kind = (
    NUMBER,
    ValueRule(f"is {MEMORY_LEAST_MIB} or more", lambda value: MEMORY_LEAST_MIB <= value < 2**43),
)
SCALING: Mapping[str, Kind] = {
    "target": MORE,
    "metric": one_of(METRICS),
    "copies_min": whole(0),
    "copies_max": COUNT,
    "scale_out_cooldown_s": (NUMBER, ValueRule("is 0 or more", lambda value: 0 <= value < 1e9)),
    "scale_in_cooldown_s": (NUMBER, ValueRule("is 0 or more", lambda value: 0 <= value < 1e9)),
}


@dataclass(frozen=True)
class CopyScaling:
    """Target tracking of a component's DesiredCopyCount. Raises BadScenario."""

    target: float
    metric: str = "concurrency"  # a key of METRICS
    copies_min: int = 0
    copies_max: int = 4
    scale_out_cooldown_s: float = 300.0
    scale_in_cooldown_s: float = 300.0

    def __post_init__(self) -> None:
        check(BadScenario, SCALING, self.__dict__)
        if self.copies_max < self.copies_min:
            raise BadScenario(f"copies_max is at least copies_min, which is {self.copies_min}, not {self.copies_max}")

    @property
    def tracking(self) -> Tracking:
        tracked, _ = METRICS[self.metric]
        return Tracking(
            self.target,
            tracked.points_out,
            tracked.points_in,
            self.scale_out_cooldown_s,
            self.scale_in_cooldown_s,
        )


class CopyChange(NamedTuple):
    """UpdateInferenceComponentRuntimeConfig: so many copies from then on, in seconds since the first request."""

    at_s: float
    copies: int


NAME: Kind = (ValueRule("is a component's name", lambda value: isinstance(value, str) and bool(value)),)
SETUP: Mapping[str, Kind] = {
    "name": NAME,
    "models": (ValueRule("is a tuple of models, each named once", lambda value: _names(value)),),
    "policy": one_of_in_any_case(POLICIES),
    "loads_max": COUNT,
    "model_idle_s": optional(MORE),
    "model_keep_alive": one_of(KEEP_ALIVES),
    "room_mib": optional(MORE),
    "disk_mib": optional(MORE),
    "memory_mib": MIB_AMOUNT,
    "memory_max_mib": optional(MIB_AMOUNT),
    "cores": _none_or(CORES_LEAST),
    "accelerators": _none_or(ACCELERATORS_LEAST),
    "copies": whole(0),
    "binpack": SWITCH,
    "keep_alive": one_of(KEEP_ALIVES),
    "idle_s": MORE,
    "concurrency": COUNT,
    "scaling": optional(a(CopyScaling, "is a CopyScaling")),
    "wake_s": optional(AMOUNT),
    "slowed": SWITCH,
}


@dataclass(frozen=True)
class AdapterSetup:
    """An adapter (BaseInferenceComponentName): the copies of its base serve it. Each fetches it with the first request
    that names it there, or ahead of its requests where another copy has it. Raises BadScenario."""

    name: str
    base: str  # the component whose model it adapts
    model: str = ""  # as the trace names it; empty: the adapter's name

    def __post_init__(self) -> None:
        check(BadScenario, {"name": NAME, "base": NAME}, self.__dict__)

    @property
    def serves(self) -> str:
        """The adapter's name in the trace."""
        return self.model or self.name


@dataclass(frozen=True)
class ComponentSetup:
    """One component: what each of its copies reserves, and how many there are. With `models` its container is
    multi-model: each copy loads them as they are called, and evicts them. Times are in seconds. Raises BadScenario."""

    name: str
    memory_mib: int = 1024  # MinMemoryRequiredInMb: set aside for each copy
    model: str = ""  # that it serves, as the trace names it; empty: the component's name
    memory_max_mib: int | None = None  # MaxMemoryRequiredInMb: the most that a copy may take; None: what is set aside
    cores: float = 0.0  # NumberOfCpuCoresRequired; 0: none are set aside
    accelerators: float = 0.0
    copies: int = 1  # CopyCount
    binpack: bool = False  # SchedulingConfig.PlacementStrategy is BINPACK
    keep_alive: str = DEFAULTS.keep_alive  # of a copy that a request has started, where CopyCount is 0
    idle_s: float = DEFAULTS.idle_s
    concurrency: int = DEFAULTS.concurrency
    scaling: CopyScaling | None = None
    wake_s: float | None = None  # from a copy's start until it is ready, all in all; None: as the scenario has it
    slowed: bool = True  # by a part of a core; False: the model's times were measured on that part
    changes: tuple[CopyChange, ...] = ()  # of the copies, in order of time
    models: tuple[str, ...] = ()  # of a multi-model container, as the trace names them
    policy: str = DEFAULTS.policy  # the next fields are those of a multi-model container
    loads_max: int = DEFAULTS.loads_max
    model_idle_s: float | None = DEFAULTS.model_idle_s
    model_keep_alive: str = DEFAULTS.model_keep_alive
    room_mib: float | None = None  # for models in each copy; None: what a copy may take, without its process
    disk_mib: float | None = None  # TORPOR_DISK_MIB of its container: for models or adapters; None: the instance's

    def __post_init__(self) -> None:
        check(BadScenario, {name: _named(self.name, name, kind) for name, kind in SETUP.items()}, self.__dict__)
        if self.models and self.model:
            raise BadScenario(f"component {self.name}: give model, or models of a multi-model container, not both")
        if self.memory_max_mib is not None and self.memory_max_mib < self.memory_mib:
            least, most = f"{self.memory_mib:,.6g}", f"{self.memory_max_mib:,.6g}"
            raise BadScenario(
                f"component {self.name}: memory_max_mib is at least memory_mib, which is {least}, not {most}"
            )

    @property
    def serves(self) -> str:
        """The model's name in the trace; of a multi-model container, the component's."""
        return self.model or self.name

    @property
    def called(self) -> tuple[str, ...]:
        """All models that it serves, as the trace names them."""
        return self.models or (self.serves,)

    @property
    def bound_mib(self) -> int:
        """The most memory that a copy may take."""
        return self.memory_mib if self.memory_max_mib is None else self.memory_max_mib

    @property
    def needs(self) -> ComputeAmount:
        return ComputeAmount(self.memory_mib, self.cores, self.accelerators)

    def copy(self, number: int) -> PackedCopy:
        """The copy of this number as the packing knows it."""
        strategy = PlacementStrategy.BINPACK if self.binpack else PlacementStrategy.SPREAD
        return PackedCopy(CopyId(self.name, number), self.needs, strategy)


# -- inside ------------------------------------------------------------------------------------------------------------
def _names(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and all(isinstance(name, str) and name for name in value)
        and len(set(value)) == len(value)
    )


def _named(component: object, field: str, kind: Kind) -> Kind:
    """The same rules, whose messages name the component too."""
    if field == "name":
        return kind
    return tuple(ValueRule(f"of component {component} {rule.words}", rule.holds) for rule in kind)
