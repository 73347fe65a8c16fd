"""`torpor plan`: the cheapest way to serve a trace within an SLO, and the call that makes it."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table

from torpor.cli import choices
from torpor.cli.edge import console, plain_table
from torpor.extras import require
from torpor.money import dollars
from torpor.story import counted, milliseconds

if TYPE_CHECKING:
    from torpor.simulator.outcome import Result
    from torpor.simulator.planning import Planned

SHOWN = 8
NOTHING = 3
"""The exit code where nothing meets the SLO."""
NOTES = {"BELADY": "offline reference: it knows the trace"}


def plan(
    trace: choices.Trace,
    slo_ms: Annotated[float, typer.Option(help="Requests are to be answered within so long.")],
    quantile: Annotated[float, typer.Option(help="Such a share of them.")] = 0.99,
    profiles: choices.Profiles = None,
    instance_type: choices.InstanceTypes = None,
    instances_max: Annotated[int, typer.Option(help="At most so many.", min=1)] = 8,
    policy: choices.Policies = None,
    sleep_after: choices.SleepAfter = "5m,20m,1h",
    seeds: Annotated[int, typer.Option(help="So many draws have to agree.", min=1)] = 3,
    seed: choices.Seed = 0,
    requests: Annotated[int, typer.Option(help="Of a longer trace, simulate the first so many.", min=1)] = 200_000,
    prices: choices.PricesFile = None,
) -> None:
    """Search instance type and number, keep-alive and policy by simulation: the cheapest that meets the SLO."""
    require("torpor plan", "simulator", packages=choices.SIMULATOR)
    from torpor.simulator.planning import plan as search
    from torpor.simulator.running import load
    from torpor.simulator.searching import SEARCHED, Space

    given = load(trace, profiles, seed=seed)
    space = Space(
        None if instance_type is None else choices.several(instance_type),
        instances_max,
        SEARCHED if policy is None else choices.several(policy),
        choices.naps_s(sleep_after),
        given.scenario,
    )
    with Status("reading the trace", console=Console(stderr=True)) as status:
        found = search(
            given,
            slo_s=slo_ms / 1000,
            quantile=quantile,
            space=space,
            seeds=seeds,
            requests_max=requests,
            prices=choices.priced_by(prices),
            says=status.update,
        )
    show(found)
    for one in given.assumed:
        console().print(f"assumed: {one}", style="dim", markup=False)
    if found.best is None:
        raise typer.Exit(NOTHING)


def show(found: "Planned") -> None:
    printer = console()
    part = "" if found.whole else ", the first of a longer trace"
    printer.print(f"{found.goal} · {counted(found.requests, 'request')}{part}\n", style="bold", markup=False)
    printer.print(candidates(found))
    printer.print(f"\n{answer(found)}\n", markup=False, soft_wrap=True)
    if found.best is not None:
        printer.print(f"{found.call()}\n", markup=False, soft_wrap=True)
    if found.policies:
        printer.print(policies(found))
    printer.print(others(found))
    printer.print(f"\nUS dollars at the prices of {found.prices.priced_on}: {found.prices.source}.", style="dim")


def candidates(found: "Planned") -> Table:
    """What was simulated to its end, the cheapest first."""
    shown = plain_table("", "tried")
    for name in ("a month", "hits", "p99", "late"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("")
    ended = [(one, one.result) for one in found.candidates if one.result is not None]
    ended.sort(key=lambda pair: pair[1].usd_per_month(found.prices) or 0.0)
    for one, result in ended[:SHOWN]:
        late = f"{result.slo_misses(found.goal.slo_s):.2%}"
        verdict = "the plan" if one is found.best else "meets it" if one.meets else "too slow"
        cells = (
            dollars(result.usd_per_month(found.prices)),
            f"{result.hit_ratio:.2%}",
            milliseconds(result.p99_s),
            late,
        )
        shown.add_row(one.scenario.name, *cells, verdict, style="bold" if one is found.best else "")
    rest = len(found.candidates) - min(len(ended), SHOWN)
    if rest:
        shown.add_row(f"and {rest:,} more, dearer or hopeless", style="dim")
    return shown


def measured(found: "Planned", result: "Result") -> tuple[str, str, str]:
    late = f"{result.slo_misses(found.goal.slo_s):.2%}"
    return f"{result.hit_ratio:.2%}", milliseconds(result.p99_s), late


def answer(found: "Planned") -> str:
    if found.best is None:
        return nothing(found)
    agree = sum(map(found.goal.met, found.seeds))
    p99s = sorted(result.p99_s for result in found.seeds)
    spread = f"p99 {milliseconds(p99s[0])} to {milliseconds(p99s[-1])}"
    usd = dollars(found.seeds[0].usd_per_month(found.prices))
    return f"{found.best.scenario.name}: {usd} a month. {agree} of {len(found.seeds)} seeds meet the SLO, {spread}."


def nothing(found: "Planned") -> str:
    """Why, as far as it can be told."""
    late, p99 = 1 - found.floor.share_within(found.goal.slo_s), milliseconds(found.floor.quantile(0.99))
    if late > 1 - found.goal.quantile:
        return (
            f"Nothing meets that: with every model in memory and nobody waiting, {late:.2%} of the requests still take"
            f" longer. Predicting itself is too slow; p99 is {p99}."
        )
    reasons = {one.why_not for one in found.candidates if one.result is None and "bytes" in one.why_not}
    why = f" {sorted(reasons)[-1]}." if reasons else ""
    return (
        f"Nothing in this space meets that.{why} With every model in memory and nobody waiting it would be met, with a"
        f" p99 of {p99}: allow more instances (--instances-max) or larger types"
        " (--instance-type)."
    )


def policies(found: "Planned") -> Table:
    """For this trace, on the cheapest instances that were simulated and had to evict."""
    first = found.policies[0].scenario
    best = found.best_policy
    shown = plain_table(f"who leaves first · {first.altered(policy='LRU').name.replace(', LRU', '')}", "policy")
    for name in ("hits", "p99", "late"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("")
    for result in sorted(found.policies, key=lambda result: result.cold):
        name = result.scenario.policy
        note = (
            "the best for this trace"
            if name == best
            else "offline reference: it knows the trace"
            if name == "BELADY"
            else ""
        )
        late = f"{result.slo_misses(found.goal.slo_s):.2%}"
        shown.add_row(name, f"{result.hit_ratio:.2%}", milliseconds(result.p99_s), late, note)
    return shown


def others(found: "Planned") -> Table:
    """The same traffic as AWS sells it without a multi-model endpoint."""
    from torpor.simulator.ways import MONTH_H

    shown = plain_table("the same traffic otherwise", "served as")
    for name in ("a month", "cold", "p99"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("assuming", overflow="fold")
    for way, one in found.apart.items():
        cells = (dollars(one.usd_per_month(MONTH_H)), f"{one.cold / one.requests:.2%}", milliseconds(one.p99_s))
        shown.add_row(way, *cells, one.cost.assumes if one.cost.usd is None else "")
    return shown
