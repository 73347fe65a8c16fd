"""The files that `torpor simulate` writes: its table, every decision, and the plot of dollars against p99."""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING

from torpor.cli.exit_codes import UsageRefused
from torpor.errors import TorporError
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pages.plain_figures import counted

if TYPE_CHECKING:
    from torpor.simulator.components.components_result import ComponentsResult
    from torpor.simulator.scenario import Scenario
    from torpor.simulator.simulation_result import SimulationResult
    from torpor_container.core.residency import Decision
    from torpor_endpoint.core.pricing.prices import Prices

    Result = SimulationResult | ComponentsResult

LOGGED = ("scenario", "slot", "at_s", "model", "action", "reason", "size_bytes", "took_s", "for_model")


def drawable(scenarios: Sequence["Scenario"], prices: "Prices") -> None:
    """Check before a long simulation that the plot will have a point. Raises UsageRefused."""
    from torpor.simulator.costs.ways_to_serve import CostTerms
    from torpor_container.core.eviction import OFFLINE

    deployable = [one for one in scenarios if one.policy.upper() not in OFFLINE]
    if not deployable:
        raise UsageRefused("--plot shows scenarios that can be deployed: add a --policy that does not know the trace")
    if not any(one.cost(HOUR_S, CostTerms(prices)).usd is not None for one in deployable):
        types = ",".join(dict.fromkeys(one.instance_type for one in deployable))
        raise UsageRefused(f"--plot: no price is known for {types}: give a price list that has it with --prices")


class Log:
    """The decisions of all scenarios in one CSV file, if there is to be one."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("w", encoding="utf-8", newline="")

    def __enter__(self) -> "Log":
        if self._file is not None:
            csv.writer(self._file, lineterminator="\n").writerow(LOGGED)
        return self

    def __exit__(self, *ended: object) -> None:
        if self._file is not None:
            self._file.close()

    def recorded(self, scenario: str) -> "Callable[[str, Decision], None] | None":
        """What writes the decisions of a scenario of this name."""
        if self._file is None:
            return None
        row = csv.writer(self._file, lineterminator="\n").writerow
        return lambda slot, decision: row((scenario, slot, *astuple(decision)))


def write(results: Sequence["Result"], prices: "Prices", path: Path) -> None:
    rows = [row for one in results for row in summaries(one, prices)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def summaries(one: "Result", prices: "Prices") -> Iterator[dict[str, object]]:
    """The row of a scenario, and that of its shadow variant."""
    yield one.summary(prices)
    if one.shadow is not None:
        yield one.shadow.result.summary(prices) | {
            "scenario": f"shadow of {one.scenario.name}: {one.shadow.result.scenario.name}"
        }


def draw(results: Sequence["Result"], prices: "Prices", slo_s: float | None, path: Path) -> None:
    """Write the plot. Raises MissingExtra; TorporError if there is no point to plot."""
    from torpor.plots import CostPoint, dollars_against_p99
    from torpor.simulator.costs.ways_to_serve import MONTH_H
    from torpor_container.core.eviction import OFFLINE

    deployable = [(kind, one) for one in results if (kind := _kind(one)) not in OFFLINE]
    points = [
        CostPoint(one.scenario.name, one.usd_per_month(prices), one.p99_s or None, kind, one.cost().sold_by_aws)
        for kind, one in deployable
    ]
    if all(point.usd is None or point.p99_s is None for point in points):
        raise TorporError("--plot: no scenario with a price answered a request, so there is no p99 to plot")
    terms = f"prices of {prices.priced_on}; a month of {MONTH_H:.0f} h"
    note = f"{terms}; seed {results[0].seed}; {counted(results[0].requests, 'request')}"
    dollars_against_p99(points, slo_s, note).savefig(path, dpi=150)


def _kind(one: "Result") -> str:
    """What the points of a plot are grouped by: the eviction policy, or that they are components."""
    from torpor.simulator.scenario import Scenario

    return one.scenario.policy.upper() if isinstance(one.scenario, Scenario) else "components"
