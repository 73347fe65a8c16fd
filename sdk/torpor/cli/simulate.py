"""`torpor simulate`: what some ways to serve a trace would do, side by side. It asks no endpoint."""

import csv
from collections.abc import Callable
from dataclasses import astuple
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from torpor.cli import choices
from torpor.cli.edge import console, plain_table
from torpor.cli.since import span_s
from torpor.errors import TorporError
from torpor.extras import require
from torpor.money import dollars
from torpor.story import milliseconds

if TYPE_CHECKING:
    from torpor.simulator.outcome import Result
    from torpor.simulator.running import Given
    from torpor.simulator.scenario import Scenario
    from torpor_container.core.residency import Decision
    from torpor_endpoint.core.prices import Prices

LOGGED = ("scenario", "slot", "at_s", "model", "action", "reason", "size_bytes", "took_s", "for_model")
MIB = 1024 * 1024


def simulate(
    trace: choices.Trace,
    profiles: choices.Profiles = None,
    instance_type: choices.InstanceType = "ml.m5.large",
    instances: choices.Instances = "1",
    policy: choices.Policy = "LRU",
    sleep_after: choices.SleepAfter = choices.NEVER,
    memory_mib: choices.MemoryMib = None,
    slo_ms: choices.SloMs = None,
    seed: choices.Seed = 0,
    prices: choices.PricesFile = None,
    check: choices.Check = False,
    decisions: choices.Decisions = None,
    out: choices.Out = None,
    plot: choices.Plot = None,
) -> None:
    """Play a trace through one or more ways to serve it, and show hit rate, p99 and bill of each."""
    require("torpor simulate", "simulator", packages=choices.SIMULATOR)
    from torpor.simulator.running import load

    given, priced = load(trace, profiles, seed=seed), choices.priced_by(prices)
    room_bytes = None if memory_mib is None else memory_mib * MIB
    asked = product(*map(choices.several, (instance_type, instances, policy, sleep_after)))
    scenarios = [
        given.scenario.altered(instance_type=size, policy=rule, memory_bytes=room_bytes, **counted(count, nap))
        for size, count, rule, nap in asked
    ]
    with Log(decisions) as log:
        results = [played(given, scenario, log, check) for scenario in scenarios]
    printer = console()
    printer.print(table(results, priced, slo_ms))
    for line in notes(given, results, priced):
        printer.print(line, style="dim", markup=False)
    if check:
        printer.print("recounted: bytes, pins and instances are as the decisions and calls have them", style="dim")
    if out is not None:
        write(results, priced, out)
    if plot is not None:
        draw(results, priced, slo_ms, plot)


def counted(count: str, nap: str) -> dict[str, float | int | None]:
    """How many instances, and whether they sleep. Raises TorporError, BadParameter."""
    if not count.isdigit() or int(count) < 1:
        raise TorporError(f"--instances has numbers of 1 or more, as 1,2,4, not {count!r}")
    if nap == choices.NEVER:
        return {"instances": int(count)}
    return {"instances_min": 0, "instances_max": int(count), "idle_s": span_s(nap)}


def played(given: "Given", scenario: "Scenario", log: "Log", check: bool) -> "Result":
    from torpor.simulator.running import recounted, run

    return (recounted if check else run)(given, scenario, log.recorded(scenario))


def table(results: list["Result"], prices: "Prices", slo_ms: float | None) -> Table:
    """A line per scenario, in the order that was asked for."""
    first = results[0]
    hours = first.duration_s / 3600
    shown = plain_table(f"{first.trace} · {first.requests:,} requests in {hours:,.1f} h", "scenario")
    columns = ["hits", "cold", "loads", "wakes", "p50", "p99", "failed", "instance-h", "a month"]
    for name in [*columns, *([] if slo_ms is None else [f"over {slo_ms:g} ms"])]:
        shown.add_column(name, justify="right", no_wrap=True)
    for one in results:
        late = [] if slo_ms is None else [f"{one.slo_misses(slo_ms / 1000):.2%}"]
        shown.add_row(
            one.scenario.name,
            f"{one.hit_ratio:.2%}", f"{one.cold:,}", f"{one.loads:,}", f"{one.wakes:,}",
            milliseconds(one.p50_s), milliseconds(one.p99_s), f"{one.failed:,}",
            f"{one.instance_s / 3600:,.1f}", dollars(one.usd_per_month(prices)), *late,
        )  # fmt: skip
    return shown


def notes(given: "Given", results: list["Result"], prices: "Prices") -> list[str]:
    """What the figures rest on."""
    from torpor.simulator.ways import MONTH_H

    told = [
        f"\nseed {given.seed} · US dollars at the prices of {prices.priced_on}, a month of {MONTH_H:.0f} h of the same",
        *(f"assumed: {one}" for one in given.assumed),
    ]
    if any(one.scenario.instances_min == 0 for one in results):
        told.append(
            "AWS sells no multi-model endpoint that scales to zero: that is Torpor's, at AWS's price for the hour"
        )
    if failed := max(one.failed for one in results):
        told.append(f"failed: up to {failed:,} requests were for a model that is larger than the instance's memory")
    return told


class Log:
    """The decisions of all scenarios in one CSV file, if it is wanted."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("w", encoding="utf-8", newline="")

    def __enter__(self) -> "Log":
        if self._file is not None:
            csv.writer(self._file, lineterminator="\n").writerow(LOGGED)
        return self

    def __exit__(self, *ended: object) -> None:
        if self._file is not None:
            self._file.close()

    def recorded(self, scenario: "Scenario") -> "Callable[[str, Decision], None] | None":
        if self._file is None:
            return None
        row = csv.writer(self._file, lineterminator="\n").writerow
        return lambda slot, decision: row((scenario.name, slot, *astuple(decision)))


def write(results: list["Result"], prices: "Prices", path: Path) -> None:
    rows = [one.summary(prices) for one in results]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw(results: list["Result"], prices: "Prices", slo_ms: float | None, path: Path) -> None:
    """Raises MissingExtra."""
    from torpor.plots import Point, dollars_against_p99

    points = [
        Point(one.scenario.name, usd, one.p99_s, one.scenario.policy, one.scenario.instances_min != 0)
        for one in results
        if (usd := one.usd_per_month(prices)) is not None
    ]
    note = f"prices of {prices.priced_on}; a month of 730 h; seed {results[0].seed}; {results[0].requests:,} requests"
    dollars_against_p99(points, None if slo_ms is None else slo_ms / 1000, note).savefig(path, dpi=150)
