"""The settings that a tuning may choose together, and the scenario that each choice makes. It simulates nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

from torpor.simulator.planning.plan_space import IDLE_S, KEEP_ALIVES, SEARCHED, PlanSpace
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.serverless_terms import CONCURRENCY_MOST, SIZES_MIB, Serverless
from torpor.value_rules import AMOUNT, COUNT, MORE, SWITCH, Kind, a, check, one_of, optional, several
from torpor_endpoint.core.pricing.prices import Prices

ALWAYS, SCALED, SLEEPS, SERVERLESS = "always on", "scaled", "sleeps", "serverless"
WAYS: Final = (ALWAYS, SCALED, SLEEPS, SERVERLESS)
"""The ways to run a variant: a fixed number of instances, 1 to so many, 0 to so many, or serverless."""

Chosen = Mapping[str, Any]
"""One value of each knob, by its name."""

EACH: Mapping[str, Kind] = {
    "ways": one_of(WAYS),
    "instances": COUNT,
    "concurrency": COUNT,
    "threads": optional(COUNT),
    "loads_max": COUNT,
    "batch_sizes": optional(COUNT),
    "batch_delays_s": AMOUNT,
    "memory_mib": optional(MORE),
    "serverless_mib": COUNT,
}
"""The rules for each value of a field."""
FIELDS: Mapping[str, Kind] = {
    **dict.fromkeys(EACH, several("[1, 2, 4]")),
    "like": a(Scenario, "is a torpor.Scenario"),
    "aws_strict": SWITCH,
}


@dataclass(frozen=True)
class Knob:
    """One setting, and the values that are tried. `ordered`: neighbours in the list are alike."""

    name: str
    values: tuple[Any, ...]
    ordered: bool = True


@dataclass(frozen=True)
class TuneSpace:
    """What a tuning may choose from. Raises BadScenario for values that are not possible, or cannot be deployed.

    None among `threads` stands for the type's vCPUs, among `batch_sizes` for no batches, and among `memory_mib` for the
    type's memory.
    """

    instance_types: Sequence[str] | None = None  # None: all of the catalogue that have a price and no GPU
    instances: Sequence[int] = (1, 2, 3, 4, 6, 8)
    ways: Sequence[str] = WAYS
    policies: Sequence[str] = SEARCHED
    idle_s: Sequence[float] = IDLE_S
    keep_alives: Sequence[str] = KEEP_ALIVES
    concurrency: Sequence[int] = (2, 4, 8, 16, 32)
    threads: Sequence[int | None] = (None, 1, 2, 4, 8, 16)
    loads_max: Sequence[int] = (1, 2, 4, 8)
    batch_sizes: Sequence[int | None] = (None, 4, 8, 16, 32)
    batch_delays_s: Sequence[float] = (0.0, 0.001, 0.002, 0.005, 0.01)
    memory_mib: Sequence[float | None] = (None,)
    serverless_mib: Sequence[int] = SIZES_MIB
    like: Scenario = field(default_factory=Scenario)  # the fields that are not tuned
    aws_strict: bool = False  # whether only what AWS has too is tried

    def __post_init__(self) -> None:
        check(BadScenario, FIELDS, self.__dict__)
        for name, kind in EACH.items():
            values = getattr(self, name)
            if not len(values):
                raise BadScenario(f"{name}: there is none to try")
            for value in values:
                check(BadScenario, {name: kind}, {name: value})
        for mib in self.serverless_mib:
            if mib not in SIZES_MIB:
                raise BadScenario(
                    f"serverless_mib: serverless inference has {', '.join(map(str, SIZES_MIB))}, not {mib}"
                )
        if not len(self.idle_s) and SLEEPS in self.ways:
            raise BadScenario("idle_s: there is none to try; leave 'sleeps' out of ways")
        self.planned()

    def planned(self) -> PlanSpace:
        """The part of it that a plan has too, whose rules hold here as well."""
        most = max(self.instances)
        return PlanSpace(
            self.instance_types, most, self.policies, self.idle_s, self.like, self.keep_alives, self.aws_strict
        )

    def knobs(self, prices: Prices, batches: bool = True, trees: Iterable[str] = ()) -> tuple[Knob, ...]:
        """All settings, those first that change the price most, with the instance types from cheap to dear. Without
        `batches`, requests share no prediction. `trees` are further values of TORPOR_TREES. Raises BadScenario for a
        type without a price."""
        types = dict.fromkeys(one.instance_type for one in self.planned().always_on(prices) if one.instances == 1)
        own = {SLEEPS, SERVERLESS} if self.aws_strict else set()
        if self.like.asynchronous or self.like.containers:
            own.add(SERVERLESS)
        ways = tuple(way for way in self.ways if way not in own)
        if not ways:
            raise BadScenario(f"ways: AWS has no multi-model endpoint that is {' or '.join(self.ways)}")
        sleeps, serverless = SLEEPS in ways, SERVERLESS in ways
        return (
            Knob("way", ways, ordered=False),
            Knob("instance_type", tuple(types)),
            Knob("instances", tuple(sorted(set(self.instances)))),
            Knob("serverless_mib", tuple(sorted(set(self.serverless_mib)))[: None if serverless else 1]),
            Knob("idle_s", tuple(sorted(self.idle_s)) if sleeps else (self.like.idle_s,)),
            Knob("keep_alive", tuple(self.keep_alives) if sleeps else (self.like.keep_alive,), ordered=False),
            Knob("concurrency", tuple(sorted(set(self.concurrency)))),
            Knob("policy", tuple(self.policies), ordered=False),
            Knob("threads", _none_first(self.threads)),
            Knob("loads_max", tuple(sorted(set(self.loads_max)))),
            Knob("batch_size", _none_first(self.batch_sizes) if batches else (None,)),
            Knob("batch_delay_s", tuple(sorted(set(self.batch_delays_s))) if batches else (0.0,)),
            Knob("memory_mib", _none_first(self.memory_mib)),
            Knob("trees", (self.like.trees, *trees), ordered=False),
        )

    def scenario(self, chosen: Chosen) -> Scenario:
        """The scenario of a choice. A setting without effect there is as in `like`, so that two choices which are the
        same variant give the same scenario. Raises BadScenario."""
        way = chosen["way"]
        made = self.like.altered(
            policy=chosen["policy"],
            loads_max=chosen["loads_max"],
            trees=chosen["trees"],
            batch_size=chosen["batch_size"],
            batch_delay_s=chosen["batch_delay_s"] if (chosen["batch_size"] or 1) > 1 else 0.0,
        )
        if way == SERVERLESS:
            made = made.altered(serverless=Serverless(chosen["serverless_mib"], CONCURRENCY_MOST))
        else:
            made = made.altered(instance_type=chosen["instance_type"], **self._memory(chosen))
            made = made.altered(**_sizes(way, chosen["instances"]))
        if made.scaled is not None or made.asynchronous:
            made = made.altered(concurrency=chosen["concurrency"])
        if way == SLEEPS:
            made = made.altered(idle_s=chosen["idle_s"], keep_alive=chosen["keep_alive"])
        threads = chosen["threads"]
        return made.altered(threads=None if threads == made.vcpus else threads)

    def _memory(self, chosen: Chosen) -> dict[str, Any]:
        """A new type comes with its own memory, unless one is chosen."""
        mib = chosen["memory_mib"]
        return {"memory_mib": mib} if mib is not None else {}


def sizes_of(knobs: Sequence[Knob]) -> int:
    """How many choices there are, with those that make the same scenario."""
    return prod(len(knob.values) for knob in knobs)


# -- inside ------------------------------------------------------------------------------------------------------------
def _sizes(way: str, instances: int) -> dict[str, Any]:
    """How many instances a variant has. One that scales from 1 to 1 is always on."""
    if way == SLEEPS:
        return {"instances": 1, "instances_min": 0, "instances_max": instances}
    if way == SCALED and instances > 1:
        return {"instances": 1, "instances_min": 1, "instances_max": instances}
    return {"instances": instances, "instances_min": None, "instances_max": None}


def _none_first(values: Sequence[Any]) -> tuple[Any, ...]:
    """In their order of size, None first."""
    return tuple(sorted(set(values), key=lambda value: (value is not None, value or 0)))
