"""The result of `torpor.plan`: the plan, what was tried for it, what it costs, and how sure it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps
from textwrap import indent
from typing import TYPE_CHECKING, Any

from torpor.pages.data_frames import pandas
from torpor.plots import CostPoint, dollars_against_p99
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.deploying_calls import deploying_calls
from torpor.simulator.costs.savings import with_savings
from torpor.simulator.costs.single_models import WAKE_S, Apart
from torpor.simulator.costs.ways_to_serve import MONTH_H
from torpor.simulator.engine.latency_histogram import Latencies
from torpor.simulator.planning.plan_space import Goal
from torpor.simulator.planning.plan_verdict import PlanVerdict, doubts, wilson
from torpor.simulator.planning.priced_options import Priced, at_full_speed, cheapest, left_out, of_apart, of_candidate
from torpor.simulator.planning.search import PlanCandidate
from torpor.simulator.planning.seed_spread import SeedSpread, spreads_of
from torpor.simulator.scenario import Scenario
from torpor.simulator.shadow_variant import ShadowVariant
from torpor.simulator.simulation_inputs import SimulationInputs
from torpor.simulator.simulation_result import ShadowOutcome, SimulationResult
from torpor.workloads import Peak
from torpor_container.core.eviction import POLICIES
from torpor_endpoint.core.emulation import AWS
from torpor_endpoint.core.pricing.bills import NOTHING, Bill
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.core.pricing.savings_plans import PlannedCost

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P99 = 0.99
"""The quantile of a plan's plot."""
NOT_ON_AWS = "AWS rejects MinInstanceCount 0 for a multi-model endpoint: this is for a Torpor endpoint"

NOT_SERVERLESS_ON_AWS = "AWS rejects ServerlessConfig for a multi-model endpoint: this is for a Torpor endpoint"
STRICTLY_LEFT_OUT = "multi-model endpoints that sleep, are serverless or asynchronous: AWS has none (--aws-strict)"

NO_PIPELINES = (
    "serverless inference: AWS's has no pipelines",
    "inference components: those of several containers are not simulated",
)

NOT_ASYNC_ON_AWS = "AWS has no asynchronous multi-model endpoint: this is for a Torpor endpoint"


@dataclass(frozen=True, eq=False)
class PlanResult:
    """The plan and what was tried for it. `best` is None if nothing in the space meets the goal."""

    goal: Goal
    inputs: SimulationInputs = field(repr=False)
    prices: Prices = field(repr=False)
    requests: int  # how many of the trace were simulated, from its beginning
    peak: Peak  # the busiest stretch, which is simulated before the rest; a short trace as a whole
    best: PlanCandidate | None
    candidates: Sequence[PlanCandidate] = field(repr=False)  # in the order of trial
    policies: Sequence[SimulationResult] = field(repr=False)  # one scenario, each policy; the last is Belady's, offline
    # The same traffic without a multi-model endpoint, by the name of the way.
    apart: Mapping[str, Apart] = field(repr=False)
    floor: Latencies  # of predictions alone: every model in memory, and no queue
    first: int = 0  # models whose first request is late, since it waits for the load
    too_large: str = ""  # in words, which model no instance of the space has room for
    # With each seed, where that matters.
    apart_seeds: Mapping[str, Sequence[Apart]] = field(default_factory=dict, repr=False)
    types_named: bool = False  # whether the caller named the instance types
    aws_strict: bool = False  # whether only what AWS has too was tried
    shadow: ShadowVariant | None = field(default=None, repr=False)  # that was to run beside the plan
    copied: ShadowOutcome | None = field(default=None, repr=False)  # what became of its copies, beside the plan

    @property
    def seeds(self) -> Sequence[SimulationResult]:
        """The plan's results, one for each seed; none without a plan."""
        return () if self.best is None else self.best.results

    @property
    def spread(self) -> Sequence[SeedSpread]:
        """How far the plan's figures lie apart from seed to seed; nothing for a single seed."""
        return tuple(spreads_of(self.seeds, self.goal, self.prices))

    @property
    def bill(self) -> Bill:
        """The plan's bill for a month, with the search's own seed; empty without a plan."""
        return self.seeds[0].bill_per_month(self.prices) if self.seeds else NOTHING

    @property
    def savings(self) -> Sequence[tuple[PlannedCost, float]]:
        """The savings plans that are cheaper for the plan, each with the whole bill of a month."""
        return () if self.best is None else with_savings(self.best.scenario, self.bill, self.prices)

    @property
    def whole(self) -> bool:
        """Whether the whole trace was simulated."""
        return self.requests == self.peak.of

    @property
    def enough(self) -> int:
        """The number of requests that make the goal's quantile known."""
        return self.goal.enough

    @property
    def conclusive(self) -> bool:
        """Whether the requests of all seeds together are enough for the goal's quantile."""
        return sum(result.requests for result in self.seeds) >= self.enough

    @property
    def late(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share of late requests, over all seeds of the plan (Wilson's interval).
        It assumes that each request is late independently; late requests come together, so the true interval is wider.
        From 0 to 1 without a plan."""
        return wilson(sum(map(self.goal.late, self.seeds)), sum(result.requests for result in self.seeds))

    @property
    def doubts(self) -> Sequence[str]:
        """Why the plan's verdict is undecided, in words; nothing where it is sure, or where there is no plan."""
        return tuple(doubts(self.goal, self.seeds)) if self.seeds else ()

    @property
    def verdict(self) -> PlanVerdict:
        """Whether the plan meets the goal, or is too near its bound for a forecast to tell."""
        if self.best is None:
            return PlanVerdict.NONE
        return PlanVerdict.UNDECIDED if self.doubts else PlanVerdict.MEETS

    @property
    def sure(self) -> float:
        """The share of the seeds that meet the goal; 0 if the requests are too few."""
        return sum(map(self.goal.met, self.seeds)) / len(self.seeds) if self.conclusive else 0.0

    @property
    def ways(self) -> Sequence[Priced]:
        """All options that were simulated to their end, with and without a multi-model endpoint. Those that meet the
        goal come first, then the cheapest, then the one with fewer late requests."""
        priced = [of_candidate(one, self.goal, self.prices) for one in self.candidates]
        others = [of_apart(name, self.apart_seeds.get(name, [one]), self.goal) for name, one in self.apart.items()]
        return sorted((one for one in [*priced, *others] if one), key=lambda one: (not one.meets, one.rank))

    @property
    def cheapest(self) -> Priced | None:
        """The cheapest of all options that meet the goal. Of the multi-model endpoints only the plan counts, since only
        the plan was simulated with other seeds."""
        own = None if self.best is None else of_candidate(self.best, self.goal, self.prices)
        return cheapest([*(one for one in self.ways if not one.candidate), *([own] if own else [])])

    @property
    def usd_with_shadow(self) -> tuple[float | None, float | None] | None:
        """A month of the plan and its shadow variant together, and of the shadow variant alone. None without a shadow
        variant or a plan."""
        if self.copied is None or not self.seeds:
            return None
        own, shadow = self.seeds[0].usd_per_month(self.prices), self.copied.result.usd_per_month(self.prices)
        return None if own is None or shadow is None else own + shadow, shadow

    @property
    def left_out(self) -> Sequence[str]:
        """The options that were not priced, and why, in words."""
        piped = [*NO_PIPELINES] if self.inputs.scenario.containers else []
        strict = [STRICTLY_LEFT_OUT] if self.aws_strict else []
        return [*left_out(self.prices, self.types_named), *piped, *strict]

    @property
    def at_full_speed(self) -> Sequence[str]:
        """A note on each burstable type among those that were simulated."""
        apart = [name.rpartition(" x ")[2] for name in self.apart]
        return at_full_speed({*(one.scenario.instance_type for one in self.candidates if one.result), *apart})

    @property
    def assumed(self) -> Sequence[str]:
        """What was not known, and what is used instead, in words."""
        serverless, instance = AWS["serverless"], AWS["instance"]
        spans = (f"{serverless.low_s:g} to {serverless.high_s:g} s", f"{instance.low_s:g} to {instance.high_s:g} s")
        notes = [f"AWS's serverless inference wakes in {WAKE_S:.2g} s; {spans[0]} are observed"]
        if self.inputs.scenario.containers:
            notes.clear()  # it has no pipelines
        own = [one.scenario for one in self.apart.values() if one.scenario is not None]
        if asleep := [one for one in [*(each.scenario for each in self.candidates), *own] if one.sleeps]:
            notes.append(
                f"a variant that sleeps is Torpor's, and wakes in {asleep[0].wake_s:g} s; AWS's instances take"
                f" {spans[1]}"
            )
        return (*self.inputs.notes, *notes)

    @property
    def best_policy(self) -> str:
        """The best eviction policy for this trace. Empty if all are equal, or were not simulated."""
        live = [result for result in self.policies if result.scenario.policy in POLICIES]
        if len({result.cold for result in live}) <= 1:
            return ""
        return min(live, key=lambda result: (result.slo_misses(self.goal.slo_s), result.cold)).scenario.policy

    def members(self, scenario: Scenario | None = None) -> dict[str, Any]:
        """The plan, or another scenario, as the members of CreateEndpointConfig. Raises LookupError if there is no
        plan."""
        scenario = scenario or self._planned
        members = config_members("planned", scenario)
        if self.shadow is not None:
            variant = scenario.variant()
            shadow = self.shadow.scenario.variant("Shadow", "SHADOW_MODEL")
            members["ProductionVariants"] = [variant | {"InitialVariantWeight": self.shadow.production_weight}]
            members["ShadowProductionVariants"] = [shadow | {"InitialVariantWeight": self.shadow.weight}]
        return members

    @property
    def _planned(self) -> Scenario:
        if self.best is None:
            raise LookupError(f"no plan in this space meets {self.goal}")
        return self.best.scenario

    def components_call(self, components: ComponentScenario) -> str:
        """Components as calls of boto3."""
        return deploying_calls(components)

    def call(self, scenario: Scenario | None = None) -> str:
        """The plan, or another scenario, as a call of boto3's `create_endpoint_config`. Raises LookupError if there is
        no plan."""
        scenario = scenario or self._planned
        shadow = None if self.shadow is None else self.shadow.scenario
        return config_call(self.members(scenario), scenario, shadow)

    def plot(self) -> "Figure":
        """Dollars a month against p99, of all options that were simulated to their end. Raises MissingExtra."""
        points = [
            CostPoint(
                one.scenario.name,
                usd,
                self.goal.worst(one.results).p99_s,
                "multi-model",
                one.result.cost(self.prices).sold_by_aws,
            )
            for one in self.candidates
            if one.result is not None and (usd := one.result.usd_per_month(self.prices)) is not None
        ]
        for way, one in self.apart.items():
            if (usd := one.usd_per_month(MONTH_H)) is not None:
                points.append(CostPoint(way, usd, one.p99_s, "apart"))
        terms = f"prices of {self.prices.priced_on}; a month of {MONTH_H:.0f} h"
        slo_s = self.goal.slo_s if self.goal.quantile == P99 else None  # the axis has no other one
        return dollars_against_p99(points, slo_s, f"{self.goal}; {terms}; {self.requests:,} requests")

    def frame(self) -> Any:
        """A data frame with a row for each candidate that was simulated to its end, with its worst seed. Raises
        MissingExtra."""
        ended = [(one, self.goal.worst(one.results)) for one in self.candidates if one.results]
        return pandas().DataFrame(
            [{**worst.summary(self.prices), "meets": one.meets, "why_not": one.why_not} for one, worst in ended]
        )


def config_members(name: str, scenario: Scenario) -> dict[str, Any]:
    """The members of CreateEndpointConfig that deploy the scenario."""
    members: dict[str, Any] = {"EndpointConfigName": name, "ProductionVariants": [scenario.variant()]}
    if scenario.asynchronous:
        members["AsyncInferenceConfig"] = {
            "OutputConfig": {"S3OutputPath": "s3://BUCKET/PREFIX"},
            "ClientConfig": {"MaxConcurrentInvocationsPerInstance": scenario.concurrency},
        }
    return members


def config_call(members: Mapping[str, Any], scenario: Scenario, shadow: Scenario | None = None) -> str:
    """Members as a call of boto3's `create_endpoint_config`, with the Environment that belongs to them."""
    sleeps = scenario.instances_min == 0 or (shadow is not None and shadow.instances_min == 0)
    lines = [
        *([f"# {NOT_ON_AWS}"] if sleeps else []),
        *([f"# {NOT_SERVERLESS_ON_AWS}"] if scenario.serverless is not None else []),
        *([f"# {NOT_ASYNC_ON_AWS}"] if scenario.asynchronous else []),
        'boto3.client("sagemaker").create_endpoint_config(',
        *(f"    {name}={indent(dumps(one, indent=4), '    ').lstrip()}," for name, one in members.items()),
        ")",
        *_container_notes(_with_models(scenario), scenario),
        *([] if shadow is None else _container_notes("the shadow model's container", shadow)),
    ]
    return "\n".join(lines)


# -- inside ------------------------------------------------------------------------------------------------------------
def _with_models(scenario: Scenario) -> str:
    """The container with the models, in words."""
    found = next((one.name for one in scenario.containers if one.models), None)
    return "the model's container" if found is None else f"the container {found} of the model's pipeline"


def _container_notes(where: str, scenario: Scenario) -> list[str]:
    """The members of a container that deploy the scenario, as comments."""
    container: dict[str, object] = {"Environment": dict(scenario.environment())}
    if not scenario.model_cache:
        container["MultiModelConfig"] = {"ModelCacheSetting": "Disabled"}
    notes = [f"#     {name}={dumps(value)}," for name, value in container.items() if value]
    return [f"# and in {where}:", *notes] if notes else []
