"""Answers a recommendations job: how many invocations a measured model serves on each instance, and what each costs.

Users call in a closed loop, as in AWS's load tests. Times are those that the ledger measured: an instance type differs
by its vCPUs, its memory and its price, and not by the speed of one vCPU. The models are in memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from pathlib import Path
from random import Random

from torpor.simulator.costs.ways_to_serve import Calls, CostTerms
from torpor.simulator.ledger_scenario import set_up
from torpor.simulator.planning.plan_space import PlanSpace
from torpor.simulator.recommending.closed_loop import SteadyLoad, closed_loop
from torpor.simulator.scenario import ENVIRONMENT, BadScenario, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load, names_of
from torpor.time_units import HOUR_S, MINUTE_S
from torpor.workloads import LedgerFile
from torpor.workloads.profile import ModelProfile
from torpor_container.settings import BY_VARIABLE
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.core.recommendations.benchmark_records import (
    Benchmark,
    BenchmarkSetup,
    RecommendationAnswer,
    RecommendationQuestion,
)

REQUESTS = 2_000
"""The requests of each number of users."""
FLAT = 1.05
"""Twice the users that get less than this many times the answers get no more of them."""
USERS_MAX = 4_096
NOTES = (
    "a vCPU is as fast on each instance type as where the ledger was measured",
    "all models that were called are in memory",
)


@dataclass(frozen=True)
class Measured:
    """What the ledger knows of a variant: its models, how often each is called, and its scenario."""

    models: Sequence[ModelProfile]
    calls: Sequence[int]
    scenario: Scenario
    inputs: SimulationInputs

    @property
    def memory_bytes(self) -> int:
        return sum(one.memory_bytes for one in self.models)

    @property
    def into_memory_s(self) -> float:
        """The longest way of a model from the store into memory."""
        return max(one.pull_s + one.into_memory_s for one in self.models)

    def service(self) -> Callable[[], float]:
        """Draws the time that a thread takes for a request: of a model, as often as each is called."""
        dice, spread = Random(self.inputs.seed), self.inputs.spread().predict
        times = [one.predict_s + one.predict_delay_s for one in self.models]
        drawn = (dice.choices(times, self.calls)[0] * spread() for _ in count())
        return drawn.__next__


def recommended(question: RecommendationQuestion, prices: Prices) -> RecommendationAnswer:
    """Benchmark every setup. Raises BadTrace for a variant of which the ledger has no requests."""
    measured = _measured(question)
    setups = question.setups or tuple(_all_types(measured.scenario, prices))
    found = [benchmark(one, measured, question, prices) for one in setups]
    found.sort(key=lambda one: (bool(one.trouble), one.usd_per_invocation or 0.0))
    return RecommendationAnswer(tuple(found[: question.tests_max]), (*NOTES, *measured.inputs.notes))


def benchmark(setup: BenchmarkSetup, measured: Measured, question: RecommendationQuestion, prices: Prices) -> Benchmark:
    """What one setup can do, with the most users whose latency is allowed."""
    try:
        scenario = _scenario(setup, measured.scenario)
    except BadScenario as error:
        return Benchmark(setup, trouble=str(error))
    needs, has = measured.memory_bytes, scenario.models_bytes
    if needs > has:
        return Benchmark(setup, trouble=f"the models need {needs:,} bytes of memory, and an instance has {has:,}")
    steps = list(_steps(scenario, measured, question))
    good = [one for one in steps if _allowed(one, question)]
    if not good:
        least_ms = steps[0].latency_s(question.percentile / 100) * 1000
        allowed = f"and {question.latency_ms:g} ms are allowed"
        return Benchmark(
            setup, trouble=f"p{question.percentile:g} is {least_ms:,.3g} ms with its fewest users, {allowed}"
        )
    best = max(good, key=lambda one: one.per_s)
    per_minute = int(best.per_s * MINUTE_S)
    if question.invocations_max is not None:
        per_minute = min(per_minute, question.invocations_max)
    if not per_minute:
        return Benchmark(setup, trouble="it answers less than one request a minute")
    usd = _usd_per_hour(scenario, per_minute * 60, measured, prices)
    return Benchmark(
        setup,
        per_minute,
        best.latency_s(question.percentile / 100) * 1000,
        usd,
        None if usd is None else usd / (per_minute * 60),
        100 * best.busy_share,
        100 * needs / max(1, has),
        ceil(1000 * (scenario.wake_s + measured.into_memory_s)) if setup.serverless is not None else None,
        "" if usd is not None else f"no price is known for {setup.instance_type or 'serverless inference'}",
    )


# -- inside ------------------------------------------------------------------------------------------------------------
def _measured(question: RecommendationQuestion) -> Measured:
    inputs = load(LedgerFile.so_far(Path(question.ledger), question.endpoint, question.variant))
    calls: dict[int, int] = {}
    for chunk in inputs.trace.chunks():
        for model in chunk.models.tolist():
            calls[model] = calls.get(model, 0) + 1
    names = names_of(inputs.trace)
    models = [inputs.profile(names[number]) for number in calls]
    return Measured(models, list(calls.values()), set_up(inputs.scenario, question.setup), inputs)


def _all_types(like: Scenario, prices: Prices) -> Iterator[BenchmarkSetup]:
    for one in PlanSpace(instances_max=1, like=like.altered(memory_bytes=None)).always_on(prices):
        yield BenchmarkSetup(one.instance_type)


def _scenario(setup: BenchmarkSetup, like: Scenario) -> Scenario:
    """The variant of a setup: one instance, or a serverless one. Raises BadScenario."""
    fields = {variable: field for field, variable in ENVIRONMENT.items()}
    given = {fields[name]: BY_VARIABLE[name].read(value) for name, value in setup.environment.items() if name in fields}
    changes = {**given, "memory_bytes": None}
    if setup.serverless is not None:
        return like.altered(**changes).altered(serverless=setup.serverless)
    if setup.instance_type is None:  # as it is
        return replace(like, **changes)
    if setup.instance_type not in CATALOGUE:
        raise BadScenario(f"{setup.instance_type} is not in Torpor's catalogue")
    return like.altered(**changes).altered(instance_type=setup.instance_type, instances=1)


def _steps(scenario: Scenario, measured: Measured, question: RecommendationQuestion) -> Iterator[SteadyLoad]:
    """What each number of users gets, until a condition stops the test."""
    threads = scenario.threads or scenario.vcpus
    if scenario.serverless is not None:
        threads *= scenario.serverless.max_concurrency
    elif scenario.scaled is None:
        threads *= scenario.instances
    doubled = (2**number for number in count())
    before = 0.0
    for users in question.users or doubled:
        if users > USERS_MAX:
            return
        step = closed_loop(users, threads, measured.service(), scenario.overhead_s, max(REQUESTS, 4 * users))
        yield step
        enough = question.invocations_max is not None and step.per_s * MINUTE_S >= question.invocations_max
        flat = (question.stop_flat or not question.users) and step.per_s < FLAT * before
        if enough or flat or not _allowed(step, question):
            return
        before = step.per_s


def _allowed(step: SteadyLoad, question: RecommendationQuestion) -> bool:
    limit_ms = question.latency_ms
    return limit_ms is None or step.latency_s(question.percentile / 100) * 1000 <= limit_ms


def _usd_per_hour(scenario: Scenario, invocations: int, measured: Measured, prices: Prices) -> float | None:
    """The price of an hour with so many invocations; None if it is not known."""
    terms = CostTerms(prices, 1.0)
    mean_s = sum(one.predict_s * calls for one, calls in zip(measured.models, measured.calls, strict=True))
    each_ms = ceil(1000 * mean_s / sum(measured.calls))
    calls = Calls(invocations, each_ms * invocations)
    lived_s = HOUR_S * (scenario.instances if scenario.scaled is None else 1)
    return scenario.cost(lived_s, terms, calls).usd
