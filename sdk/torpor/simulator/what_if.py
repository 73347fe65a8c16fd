"""Answers the dashboard's "what if": simulates a variant's last day as it is now and in other ways, side by side.

`python -m torpor.simulator.what_if` reads a `WhatIfQuestion` as JSON from its input, and writes a `WhatIfAnswer`; with
the argument `recommend`, a `RecommendationQuestion` and a `RecommendationAnswer`. The endpoint runs it as a process of
its own. A fault ends it with a line on its error output, and code 1.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torpor.errors import TorporError
from torpor.simulator.costs.single_models import on_serverless
from torpor.simulator.costs.ways_to_serve import MONTH_H
from torpor.simulator.ledger_scenario import set_up
from torpor.simulator.recommending.model_benchmarks import recommended
from torpor.simulator.scenario import BadScenario, Scenario
from torpor.simulator.simulation_inputs import SimulationInputs, load
from torpor.simulator.simulation_result import SimulationResult
from torpor.simulator.simulation_run import run
from torpor.time_units import DAY_S, HOUR_S
from torpor.workloads import First, LedgerFile
from torpor.workloads.trace import Extent
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages.what_if import WhatIfAnswer, WhatIfQuestion, WhatIfRow
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.core.recommendations.benchmark_records import RECOMMEND, RecommendationQuestion
from torpor_endpoint.kept_prices import KeptPricesUnusable, current_prices

REQUESTS_MAX = 200_000
"""The most requests that each way is simulated with, so that an answer takes seconds."""
SLEEP_AFTER_S = 300.0
DAY_H = DAY_S / HOUR_S
POLITENESS = 10
"""The endpoint and its instances come first."""


@dataclass(frozen=True)
class OtherWay:
    """One change of a scenario, with its name for the page."""

    way: str
    change: Callable[[Scenario], Scenario]


def main() -> None:
    os.nice(POLITENESS)
    asked = json.load(sys.stdin)
    try:
        if sys.argv[1:] == [RECOMMEND]:
            answer: Any = recommended(read(RecommendationQuestion, asked), current_prices())
        else:
            answer = answered(read(WhatIfQuestion, asked))
    except (TorporError, KeptPricesUnusable) as error:
        sys.exit(str(error))
    json.dump(written(answer), sys.stdout)


def answered(question: WhatIfQuestion) -> WhatIfAnswer:
    """Simulate every way. Raises BadTrace for a ledger without requests that can be simulated."""
    inputs, notes = _inputs(question)
    now = set_up(inputs.scenario, question.setup)
    rows = [_row(OtherWay("as it is now", lambda scenario: scenario), inputs, now)]
    rows += [_row(way, inputs, now) for way in other_ways(now)]
    rows.append(_serverless_row(inputs, now))
    return WhatIfAnswer(Extent.of(inputs.trace).requests, tuple(rows), (*notes, *inputs.notes))


def other_ways(now: Scenario) -> tuple[OtherWay, ...]:
    """The changes that the page offers. A variant that sleeps is also shown awake, and the other way round."""
    nap = (
        OtherWay("always awake", _awake)
        if now.sleeps
        else OtherWay("asleep after 5 minutes without a request", _asleep)
    )
    return (
        OtherWay("half the memory", lambda scenario: _with_memory(scenario, 0.5)),
        OtherWay("twice the memory", lambda scenario: _with_memory(scenario, 2.0)),
        nap,
    )


# -- inside ------------------------------------------------------------------------------------------------------------
def _inputs(question: WhatIfQuestion) -> tuple[SimulationInputs, tuple[str, ...]]:
    ledger = LedgerFile.so_far(Path(question.ledger), question.endpoint, question.variant, question.last_s)
    inputs = load(ledger)
    first = First(inputs.trace, REQUESTS_MAX)
    for _ in first.chunks():
        pass
    if not first.cut:
        return inputs, ()
    return replace(inputs, trace=first), (f"only the first {REQUESTS_MAX:,} requests of the day",)


def _row(other: OtherWay, inputs: SimulationInputs, now: Scenario) -> WhatIfRow:
    try:
        scenario = other.change(now)
        result = run(inputs, scenario)
    except BadScenario as error:
        return WhatIfRow(other.way, trouble=str(error))
    return WhatIfRow(
        other.way,
        result.hit_ratio,
        result.p99_s if result.requests > result.failed else None,
        result.usd_per_month(current_prices(), hours=DAY_H),
        result.wakes,
        f"{scenario.name}, {scenario.instance_mib:,.6g} MiB",
        _trouble(result),
    )


def _trouble(result: SimulationResult) -> str:
    if result.throttled:
        return f"{result.throttled:,} requests are throttled"
    return f"{result.failed:,} requests fail: their model is larger than the memory" if result.failed else ""


def _serverless_row(inputs: SimulationInputs, now: Scenario) -> WhatIfRow:
    found = on_serverless(
        inputs,
        current_prices(),
        overhead_s=now.overhead_s,
        beside_load_s=now.beside_load_s,
        first_predict_s=now.first_predict_s,
    )
    per_month = found.usd_per_month()
    return WhatIfRow(
        "AWS's serverless inference, an endpoint per model",
        1 - found.cold / found.requests,
        found.p99_s,
        None if per_month is None else per_month * DAY_H / MONTH_H,
        found.cold,
        found.cost.assumes,
    )


def _with_memory(scenario: Scenario, share: float) -> Scenario:
    """The scenario with this share of its memory.

    If an instance has the memory of its type, it becomes one of the cheapest type that has as much. If its memory is a
    setting, the setting changes, and the type only where it is too small.
    """
    memory_mib = scenario.instance_mib * share
    if scenario.serverless is not None:
        return scenario.altered(serverless=replace(scenario.serverless, memory_mib=int(memory_mib)))
    if scenario.memory_mib is not None and memory_mib <= CATALOGUE[scenario.instance_type].memory_mib:
        return scenario.altered(memory_mib=memory_mib)
    return scenario.altered(instance_type=_cheapest(memory_mib, current_prices()).name, memory_mib=memory_mib)


def _cheapest(memory_mib: float, prices: Prices) -> InstanceType:
    """The cheapest type with this memory. Raises BadScenario."""
    fit = (one for one in prices.types.values() if one.name in prices.quotes and not one.gpus)
    enough = (one for one in fit if one.memory_mib >= memory_mib)
    found = min(enough, key=lambda one: (prices.quotes[one.name].usd, one.name), default=None)
    if found is None:
        raise BadScenario(f"no instance type of a known price has {memory_mib:,.6g} MiB")
    return found


def _asleep(scenario: Scenario) -> Scenario:
    most = scenario.instances_max or max(scenario.instances, scenario.instances_min or 1)
    return scenario.altered(instances_min=0, instances_max=most, idle_s=SLEEP_AFTER_S)


def _awake(scenario: Scenario) -> Scenario:
    if scenario.serverless is not None:
        memory_mib = scenario.instance_mib
        return scenario.altered(
            instance_type=_cheapest(memory_mib, current_prices()).name, instances=1, memory_mib=memory_mib
        )
    return scenario.altered(instances_min=1, instances_max=max(1, scenario.instances_max or 1))


if __name__ == "__main__":
    main()
