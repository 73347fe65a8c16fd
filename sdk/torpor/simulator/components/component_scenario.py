"""A scenario of inference components: the instances of one variant, the components on them, and what both cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup
from torpor.simulator.costs.costing import components_on
from torpor.simulator.costs.ways_to_serve import TERMS, Cost, CostTerms, Way
from torpor.simulator.scenario import MIB, OWN_BYTES, BadScenario
from torpor.value_rules import AMOUNT, BYTES, COUNT, SWITCH, Kind, ValueRule, a, check, one_of, optional, whole
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount, schedulable
from torpor_endpoint.core.packing.packed_instances import PackedInstance
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.resource_records import InstanceTypePool, ScaleIn

TYPE = one_of(CATALOGUE, "is one of the catalogue's types, as ml.m5.large")
SCENARIO: Mapping[str, Kind] = {
    "instance_type": TYPE,
    "instances": COUNT,
    "instances_min": optional(whole(0)),
    "instances_max": optional(COUNT),
    "scale_in": optional(a(ScaleIn, "is a ScaleIn")),
    "strict": SWITCH,
    "wake_s": AMOUNT,
    "instance_wake_s": AMOUNT,
    "overhead_s": AMOUNT,
    "own_bytes": BYTES,
    "components": (ValueRule("is a tuple of ComponentSetup, one or more", lambda value: _setups(value)),),
    "adapters": (ValueRule("is a tuple of AdapterSetup", lambda value: _adapters(value)),),
}
NO_ROOM = (
    "component {name}: a copy of {needs} fits on no instance: copies may have {room} of {types}. Ask for less, or take"
    " a larger instance_type"
)
NO_HOLD = (
    "component {name}: copies is 0, and strict: without a copy every request fails, and no policy starts one. Give it"
    " copies, a scaling, or strict=False, which holds requests"
)
MULTI_MODEL = (
    "component {name}: a multi-model container is Torpor's own, and --aws-strict refuses it: give strict=False, or a"
    " component for each model"
)
NO_BASE = "adapter {name}: its base {base} is no component, or has a multi-model container, which loads no adapters"
TOO_SMALL = (
    "component {name}: its model takes {takes:,.6g} MiB with its process, and a copy may take {bound:,.6g} MiB: raise"
    " memory_max_mib, or memory_mib"
)


@dataclass(frozen=True)
class ComponentScenario:
    """Components on the instances of one variant, whose endpoint configuration names no model.

    With `instances_min` the number of instances follows the copies (ManagedInstanceScaling), between that and
    `instances_max`. Otherwise there are `instances`. With `pools` (InstancePools) each instance is of the first type
    that is not `lacking`. `strict`: a request without a copy fails, as on AWS; otherwise it starts one and waits.
    Times are in seconds. Raises BadScenario.
    """

    components: tuple[ComponentSetup, ...]
    instance_type: str = "ml.m5.large"
    instances: int = 1  # InitialInstanceCount
    instances_min: int | None = None
    instances_max: int | None = None
    scale_in: ScaleIn | None = None
    pools: tuple[InstanceTypePool, ...] = ()  # replace instance_type
    lacking: tuple[str, ...] = ()  # types of which no instance can be had
    strict: bool = False
    wake_s: float = 0.1  # of a copy's process, beside the steps that bring its model
    instance_wake_s: float = 0.0  # until an instance takes copies: none in Torpor, minutes on AWS
    overhead_s: float = 0.0  # of each request, on its way
    own_bytes: int = OWN_BYTES  # that a copy's process takes beside its model
    adapters: tuple[AdapterSetup, ...] = ()

    def __post_init__(self) -> None:
        check(BadScenario, SCENARIO, self.__dict__)
        for kind in (*(pool.instance_type for pool in self.pools), *self.lacking):
            check(BadScenario, {"pools": TYPE}, {"pools": kind})
        if self.instances_max is not None and self.instances_min is None:
            raise BadScenario(f"instances_max goes with instances_min, not {self.instances_max}")
        if self.instances_min is not None and self.most < max(1, self.instances_min):
            raise BadScenario(f"instances_max is at least instances_min, which is {self.instances_min}")
        self._check_components()

    def _check_components(self) -> None:
        all_names = [*(one.name for one in self.components), *(one.name for one in self.adapters)]
        for what, names in (("name", all_names), ("model", self.serves())):
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise BadScenario(f"components: two have the {what} {twice}")
        if not self.types:
            raise BadScenario("lacking: it has the types of all pools, so that no instance can be had: leave out one")
        rooms = [self.room_of(kind) for kind in self.types]
        for one in self.components:
            if not any(one.needs.fits(room) for room in rooms):
                told = {"name": one.name, "needs": shown(one.needs), "types": ", ".join(self.types)}
                raise BadScenario(NO_ROOM.format(**told, room=" or ".join(map(shown, rooms))))
            if self.strict and not one.copies and one.scaling is None:
                raise BadScenario(NO_HOLD.format(name=one.name))
            if self.strict and one.models:
                raise BadScenario(MULTI_MODEL.format(name=one.name))
        bases = {one.name for one in self.components if not one.models}
        for adapter in self.adapters:
            if adapter.base not in bases:
                raise BadScenario(NO_BASE.format(name=adapter.name, base=adapter.base))

    def serves(self) -> list[str]:
        """All models and adapters, as the trace names them."""
        models = [name for one in self.components for name in one.called]
        return [*models, *(adapter.serves for adapter in self.adapters)]

    def checked_bounds(self, memory_bytes: Mapping[str, int]) -> None:
        """Check that each model has room in a copy of its own. `memory_bytes` are those of each model in memory. Raises
        BadScenario."""
        for one in self.components:
            if one.models:
                continue  # a copy has room for some of them
            takes_mib = (memory_bytes.get(one.serves, 0) + self.own_bytes) / MIB
            if memory_bytes.get(one.serves) and takes_mib > one.bound_mib:
                raise BadScenario(TOO_SMALL.format(name=one.name, takes=takes_mib, bound=one.bound_mib))

    @property
    def types(self) -> tuple[str, ...]:
        """The types that its instances may have, in the order in which they are tried."""
        if not self.pools:
            return (self.instance_type,)
        kinds = [pool.instance_type for pool in sorted(self.pools, key=lambda pool: pool.priority)]
        return tuple(kind for kind in kinds if kind not in self.lacking)

    @property
    def managed(self) -> bool:
        """Whether the number of instances follows the copies."""
        return self.instances_min is not None

    @property
    def least(self) -> int:
        return self.instances if self.instances_min is None else self.instances_min

    @property
    def most(self) -> int:
        """The most instances that it may have."""
        return self.instances if self.instances_min is None else self.instances_max or max(1, self.instances)

    @property
    def begins(self) -> int:
        """The instances that it begins with."""
        return min(max(self.instances, self.least), self.most)

    def room_of(self, instance_type: str) -> ComputeAmount:
        """What copies may have of an instance of this type."""
        size = CATALOGUE[instance_type]
        return schedulable(size.memory_mib, size.vcpus, size.gpus, strict=self.strict)

    @property
    def empty(self) -> list[PackedInstance]:
        """As many instances of its first type as it may have, without copies."""
        kind = self.types[0]
        return [PackedInstance(number, self.room_of(kind), instance_type=kind) for number in range(self.most)]

    @property
    def copies(self) -> int:
        """The copies that it begins with."""
        return sum(one.copies for one in self.components)

    @property
    def sleeps(self) -> bool:
        """Whether it has no instance while nobody calls."""
        return self.instances_min == 0 and all(_may_be_none(one) for one in self.components)

    @property
    def holds(self) -> bool:
        """Whether requests wait where a component has no copy, which AWS does not let them."""
        return not self.strict and any(_may_be_none(one) for one in self.components)

    @property
    def on_aws(self) -> bool:
        return not self.holds and not any(one.models for one in self.components)

    @property
    def scales(self) -> bool:
        """Whether its number of instances or copies changes."""
        return self.managed or self.holds or any(one.scaling is not None for one in self.components)

    @property
    def name(self) -> str:
        """A short name, for tables and plots."""
        count = f"{self.instances}" if not self.managed else f"{self.least}-{self.most}"
        kinds = "/".join(self.types)
        parts = [f"components: {counted_copies(self.copies, len(self.components))} on {count} x {kinds}"]
        if self.managed and self.scale_in is not None:
            parts.append(self.scale_in.strategy.value.lower())
        if any(one.scaling is not None for one in self.components):
            parts.append("copies scale")
        if self.strict and any(_may_be_none(one) for one in self.components):
            parts.append("strict")
        elif self.holds:
            parts.append("copies sleep")
        if many := sum(bool(one.models) for one in self.components):
            parts.append(f"{many} multi-model")
        if self.adapters:
            parts.append(f"{len(self.adapters)} adapters")
        return ", ".join(parts)

    def cost(self, instance_s: Mapping[str, float], terms: CostTerms = TERMS, moved_bytes: int = 0) -> Cost:
        """The cost of these seconds of its instances, by their type, within the time of `terms`."""
        return components_on(instance_s, self._way, terms, moved_bytes)

    @property
    def _way(self) -> Way:
        if any(one.models for one in self.components):
            return Way.COMPONENTS_MULTI_MODEL
        if self.holds:
            return Way.COMPONENTS_HELD
        return Way.COMPONENTS_SCALED if self.scales else Way.COMPONENTS

    def altered(self, **changes: Any) -> "ComponentScenario":
        """The scenario with these fields changed. Raises BadScenario for a field that it has not."""
        if unknown := [name for name in changes if name not in self.__dict__]:
            raise BadScenario(f"{unknown[0]} is no field of a ComponentScenario: it has {', '.join(self.__dict__)}")
        return replace(self, **changes)


def shown(amount: ComputeAmount) -> str:
    """`1,024 MiB, 0.5 cores`."""
    parts = [f"{amount.memory_mib:,.6g} MiB"]
    if amount.cores:
        parts.append(f"{amount.cores:g} cores")
    if amount.accelerators:
        parts.append(f"{amount.accelerators:g} accelerators")
    return ", ".join(parts)


def counted_copies(copies: int, components: int) -> str:
    """`60`, or `60 with 75 copies`."""
    return f"{components:,}" if copies == components else f"{components:,} with {copies:,} copies"


# -- inside ------------------------------------------------------------------------------------------------------------
def _setups(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(one, ComponentSetup) for one in value)


def _adapters(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, AdapterSetup) for one in value)


def _may_be_none(one: ComponentSetup) -> bool:
    return not one.copies or (one.scaling is not None and one.scaling.copies_min == 0)
