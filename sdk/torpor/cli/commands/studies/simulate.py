"""`torpor simulate`: simulates scenarios over a trace, and shows them side by side. It needs no endpoint."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from torpor.cli.bill_table import bill_table, savings_lines
from torpor.cli.commands.studies import choices, component_results
from torpor.cli.commands.studies.asked_scenarios import ScenarioLists, sold_by_aws
from torpor.cli.commands.studies.json_outputs import simulate_output
from torpor.cli.commands.studies.model_groups.group_plan import refuse_others
from torpor.cli.commands.studies.model_groups.group_simulation import simulate_group
from torpor.cli.commands.studies.result_files import Log, draw, drawable, write
from torpor.cli.commands.studies.shadow_line import shadow_of
from torpor.cli.console import AsJson, console, fitted, print_json
from torpor.cli.progress_bar import bar
from torpor.extras import require
from torpor.prices.dollars import dollars
from torpor.time_units import DAY_S, HOUR_S, MINUTE_S
from torpor_endpoint.core.pages import plain_figures

if TYPE_CHECKING:
    from rich.console import Console

    from torpor.simulator.components.components_result import ComponentsResult
    from torpor.simulator.scenario import Scenario
    from torpor.simulator.shadow_variant import ShadowVariant
    from torpor.simulator.simulation_inputs import SimulationInputs
    from torpor.simulator.simulation_result import SimulationResult
    from torpor_endpoint.core.pricing.prices import Prices

    Result = SimulationResult | ComponentsResult

SPARE = ("loads", "p50", "wakes", "cold", "instance-h")
"""Columns that a narrow terminal omits, in this order. `--out` has them all."""
BILLS = 2
"""The most scenarios whose bills are shown."""
CHECKED = "checked: bytes, pins, loads and instances agree with the log of decisions and requests"


def simulate(
    trace: choices.Trace,
    profiles: choices.Profiles = None,
    instance_type: choices.InstanceType = None,
    instances: choices.Instances = None,
    policy: choices.Policy = None,
    sleep_after: choices.SleepOrOwn = None,
    serverless: choices.Serverless = None,
    max_concurrency: choices.MaxConcurrency = None,
    provisioned: choices.Provisioned = 0,
    aws_strict: choices.AwsStrict = False,
    wake: choices.Wake = None,
    memory_mib: choices.MemoryMib = None,
    own_mib: choices.OwnMib = None,
    device_mib: choices.DeviceMib = None,
    containers: choices.Containers = None,
    queued: choices.Async = False,
    shadow: choices.Shadow = None,
    components: choices.Components = None,
    group: choices.Group = None,
    slo_ms: choices.SloMs = None,
    lasts: choices.Lasts = None,
    seed: choices.Seed = 0,
    prices: choices.PricesFile = None,
    region: choices.Region = None,
    check: choices.Check = False,
    decisions: choices.Decisions = None,
    out: choices.Out = None,
    plot: choices.Plot = None,
    as_json: AsJson = False,
) -> None:
    """Simulate one or more scenarios over a trace, and show hit rate, p99 and cost of each."""
    require("torpor simulate", "simulator")
    choices.output_files(plot, out, decisions)
    slo_s = None if slo_ms is None else choices.slo_s(slo_ms)
    asked = ScenarioLists(
        instance_type, instances, policy, sleep_after, memory_mib, serverless, max_concurrency, provisioned
    )
    asked.check()
    priced = choices.prices_from(prices, region)
    others = beside_trace(profiles, queued, shadow, containers, decisions, check)
    changes = {**choices.wake_change(wake), **choices.memory_changes(own_mib, device_mib)}
    if group is not None:
        meant = {"--components": components, "--aws-strict": aws_strict, "--slo-ms": slo_ms, "--out": out}
        refuse_others({**others, **meant, "--plot": plot})
        simulate_group(trace, group, asked, changes, priced, seed=seed, lasts_s=choices.lasts_s(lasts), as_json=as_json)
        return
    if (found := component_results.recorded(trace, seed)) is not None:
        component_results.refuse_others(trace, {**others, **asked.given})
        again = component_results.replayed(found, components)
        told(found.inputs, [], again, priced, slo_s, as_json=as_json, out=out, plot=plot)
        return
    inputs = choices.inputs_of(trace, profiles, seed, lasts, containers, {**changes, **choices.async_change(queued)})
    scenarios = (sold_by_aws if aws_strict else list)(asked.around(inputs.scenario))
    beside = None if shadow is None else shadow_of(shadow, inputs)
    if plot is not None:
        drawable(scenarios, priced)
    results = simulated_in_turn(inputs, scenarios, decisions, check, beside)
    also = component_results.asked(inputs, components, aws_strict=aws_strict)
    told(inputs, results, also, priced, slo_s, as_json=as_json, out=out, plot=plot, check=check)


def beside_trace(
    profiles: Path | None,
    queued: bool,
    shadow: str | None,
    containers: Path | None,
    decisions: Path | None,
    check: bool,
) -> dict[str, object]:
    """The options that mean something for a trace of models alone, by name."""
    options = {"--profiles": profiles, "--async": queued, "--shadow": shadow, "--containers": containers}
    return {**options, "--decisions": decisions, "--check": check}


def told(
    inputs: "SimulationInputs",
    results: list["SimulationResult"],
    components: list["ComponentsResult"],
    prices: "Prices",
    slo_s: float | None,
    *,
    as_json: bool,
    out: Path | None,
    plot: Path | None,
    check: bool = False,
) -> None:
    """Print the results, and write their files."""
    if as_json:
        lines = notes(inputs, results, components, prices)
        print_json(simulate_output([*results, *components], lines, prices, slo_s))
    else:
        show(inputs, results, components, prices, slo_s, check)
    if out is not None:
        write([*results, *components], prices, out)
    if plot is not None:
        draw([*results, *components], prices, slo_s, plot)


def simulated_in_turn(
    inputs: "SimulationInputs",
    scenarios: Sequence["Scenario"],
    decisions: Path | None,
    check: bool,
    shadow: "ShadowVariant | None",
) -> list["SimulationResult"]:
    """The result of each scenario, with a progress bar. The decisions of all go into the file `decisions`."""
    from torpor.simulator.simulation_inputs import requests_of

    with Log(decisions) as log, bar("reading the trace") as shown:
        results = []
        shown.of(len(scenarios) * requests_of(inputs.trace))
        watched = replace(inputs, on_progress=shown.done)
        for number, scenario in enumerate(scenarios, 1):
            shown.says(f"simulating {number} of {len(scenarios)}: {scenario.name}")
            results.append(simulated(watched, scenario, log, check, shadow))
    return results


def simulated(
    inputs: "SimulationInputs", scenario: "Scenario", log: "Log", check: bool, shadow: "ShadowVariant | None" = None
) -> "SimulationResult":
    from torpor.simulator.simulation_run import recounted, run, run_with_shadow

    recorded = log.recorded(scenario.name)
    if shadow is not None:
        name = f"{scenario.name}, {shadow.name}"
        return run_with_shadow(inputs, scenario, shadow, recorded, log.recorded(name), checked=check)
    return (recounted if check else run)(inputs, scenario, recorded)


def show(
    inputs: "SimulationInputs",
    results: list["SimulationResult"],
    components: list["ComponentsResult"],
    prices: "Prices",
    slo_s: float | None,
    checked: bool,
) -> None:
    """Print a row for each scenario, in the order of the options, the bills, and the assumptions."""
    printer = console()
    every: list[Result] = [*results, *components]
    first = every[0]
    lasted = span(min(one.duration_s for one in every))
    printer.print(f"{first.trace} · {plain_figures.counted(first.requests, 'request')} in {lasted}", style="bold")
    shadows = [one.shadow.result for one in results if one.shadow is not None]
    rare = {name: any(getattr(one, name) for one in [*every, *shadows]) for name in ("failed", "entries")}
    rare |= dict.fromkeys(("wakes", "instance-h"), asleep([*every, *shadows]))
    rare[""] = not all(one.scenario.on_aws for one in [*every, *shadows])
    found = [row for one in results for row in both(one, prices, slo_s)]
    found += [cells(one, prices, slo_s) for one in components]
    rows = [{name: cell for name, cell in row.items() if rare.get(name, True)} for row in found]
    printer.print(fitted(rows, SPARE, printer.width))
    printer.print()
    if passed := [row for one in results for row in by_container(one)]:
        printer.print("the containers of the pipelines", style="bold")
        printer.print(fitted(passed, (), printer.width))
        printer.print()
    for components_result in components:
        printer.print(components_result.scenario.name, style="bold")
        printer.print(fitted(component_results.component_rows(components_result, prices), (), printer.width))
        printer.print()
    for one in billed(every, prices):
        show_bill(printer, one, prices)
    for line in (*notes(inputs, results, components, prices), *([CHECKED] if checked else [])):
        printer.print(line, style="dim")


def show_bill(printer: "Console", one: "SimulationResult | ComponentsResult", prices: "Prices") -> None:
    from torpor.simulator.costs.savings import with_savings
    from torpor.simulator.scenario import Scenario

    billed_usd = one.bill_per_month(prices)
    printer.print(bill_table(f"{one.scenario.name} · the bill", billed_usd.lines, "a month"))
    if isinstance(one.scenario, Scenario):
        for line in savings_lines(with_savings(one.scenario, billed_usd, prices)):
            printer.print(line)
    printer.print()


def billed(results: Sequence["Result"], prices: "Prices") -> Sequence["Result"]:
    """The results whose bills are shown: of many scenarios only the cheapest. `--json` has them all."""
    if len(results) <= BILLS:
        return results
    return [min(results, key=lambda one: (one.cost(prices).usd is None, one.usd_per_month(prices) or 0.0))]


def by_container(one: "SimulationResult") -> Iterator[dict[str, str]]:
    """A row for each container of a pipeline, and of its shadow variant's. The time includes the waits in it."""
    shadow = [] if one.shadow is None else [(f"  shadow: {one.shadow.result.scenario.name}", one.shadow.result)]
    for name, result in [(one.scenario.name, one), *shadow]:
        for profile, times in zip(result.scenario.containers, result.containers, strict=True):
            own_bytes = result.scenario.own_bytes if profile.models else profile.memory_bytes
            yield {
                "scenario": name,
                "container": profile.name,
                "own memory": plain_figures.size(own_bytes),
                "mean": plain_figures.milliseconds(times.latencies.mean_s),
                "p50": plain_figures.milliseconds(times.latencies.quantile(0.5)),
                "p99": plain_figures.milliseconds(times.latencies.quantile(0.99)),
            }


def both(one: "SimulationResult", prices: "Prices", slo_s: float | None) -> Iterator[dict[str, str]]:
    """The row of a scenario, and that of its shadow variant below it."""
    yield cells(one, prices, slo_s)
    if one.shadow is not None:
        row = cells(one.shadow.result, prices, slo_s)
        yield row | {"scenario": f"  shadow: {row['scenario']}"}


def cells(one: "Result", prices: "Prices", slo_s: float | None) -> dict[str, str]:
    """The cells of a row, by column. Without an answered request there is no latency."""
    answered = one.requests > one.failed
    late = {} if slo_s is None else {f"> {slo_s * 1000:g} ms": f"{one.slo_misses(slo_s):.2%}"}
    return {
        "scenario": one.scenario.name,
        "a month": dollars(one.usd_per_month(prices)),
        "hits": f"{one.hit_ratio:.2%}",
        "p50": plain_figures.milliseconds(one.p50_s) if answered else "-",
        "p99": plain_figures.milliseconds(one.p99_s) if answered else "-",
        **late,
        "cold": f"{one.cold:,}",
        "failed": f"{one.failed:,}",
        "loads": f"{one.loads:,}",
        "entries": f"{one.entries:,}",
        "wakes": f"{one.wakes:,}",
        "instance-h": f"{one.instance_s / HOUR_S:,.2f}",
        "": "" if one.scenario.on_aws else "not on AWS",
    }


def span(seconds: float) -> str:
    """`3 s`, `5 min`, `2.5 h`, `7 days`: at least two of the unit."""
    for unit, size_s in (("days", DAY_S), ("h", HOUR_S), ("min", MINUTE_S)):
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:,.3g} {unit}"
    return f"{seconds:.3g} s"


def asleep(results: Sequence["Result"]) -> bool:
    return any(one.scenario.sleeps for one in results)


def notes(
    inputs: "SimulationInputs",
    results: list["SimulationResult"],
    components: Sequence["ComponentsResult"],
    prices: "Prices",
) -> list[str]:
    """The assumptions behind the figures, a line for each."""
    from torpor.simulator.costs.ways_to_serve import MONTH_H
    from torpor.simulator.planning.priced_options import at_full_speed

    lines = [
        f"seed {inputs.seed} · US dollars at the prices of {prices.priced_on}, a month of {MONTH_H:.0f} h of the same",
        *(f"assumed: {one}" for one in inputs.notes),
        *([room(inputs, results)] if results else []),
    ]
    lines += [f"assumed: {one}" for one in at_full_speed(kind for one in components for kind in one.scenario.types)]
    lines += [*component_results.component_notes(components), *(of_variants(results, prices) if results else [])]
    return lines


def of_variants(results: list["SimulationResult"], prices: "Prices") -> list[str]:
    """What to know of the multi-model endpoints among them."""
    from torpor.simulator.planning.priced_options import at_full_speed

    lines = []
    held = [one.scenario for one in results if one.scenario.serverless is None]
    lines += [f"assumed: {one}" for one in at_full_speed(one.instance_type for one in held)]
    if any(one.sleeps for one in held):
        lines.append(
            "AWS has no multi-model endpoint that scales to zero: this is Torpor's, at AWS's price per hour,"
            f" and wakes in {results[0].scenario.wake_s:g} s (--wake)"
        )
    if any(one.scenario.serverless is not None and not one.scenario.on_aws for one in results):
        lines.append(
            "AWS has no serverless multi-model endpoint: this is Torpor's, at AWS's prices for serverless inference,"
            f" and wakes in {results[0].scenario.wake_s:g} s (--wake)"
        )
    lines += tests(results, prices)
    if throttled := max(one.throttled for one in results):
        refused = plain_figures.counted(throttled, "request")
        lines.append(
            f"throttled: up to {refused}, beyond the MaxConcurrency of a serverless variant (--max-concurrency)"
        )
    if failed := max(one.failed - one.throttled for one in results):
        lines.append(
            f"failed: up to {plain_figures.counted(failed, 'request')}, for a model that is larger than an instance's"
            " memory or disk"
        )
    return lines


def tests(results: list["SimulationResult"], prices: "Prices") -> Iterator[str]:
    """A note on the test of each scenario: how much was copied, and what share of the bill that is."""
    for one in results:
        if one.shadow is not None:
            share = one.shadow_share(prices)
            bill = "an unknown share" if share is None else f"{share:.1%}"
            lost = f", and {one.shadow.dropped:,} dropped beyond the most in flight" if one.shadow.dropped else ""
            copied = f"{one.shadow.result.requests:,} of {plain_figures.counted(one.requests, 'request')} copied{lost}"
            yield f"{one.scenario.name}: {copied}; the shadow variant is {bill} of the bill, and no caller waits for it"


def room(inputs: "SimulationInputs", results: list["SimulationResult"]) -> str:
    """A note on the memory that an instance takes beside its models, and where that figure is from."""
    from torpor.simulator.pipeline_containers import others_bytes
    from torpor.simulator.scenario import MIB, OWN_BYTES

    own_bytes, had = results[0].scenario.own_bytes, {one.scenario.instance_mib for one in results}
    source = "as given (--own-mib)"
    if own_bytes == inputs.scenario.own_bytes:
        source = "the default (--own-mib)" if own_bytes == OWN_BYTES else "from the ledger"
    own_mib, memory = own_bytes / MIB, f"{min(had):,.6g} MiB" if len(had) == 1 else "memory"
    others = others_bytes(results[0].scenario.containers)
    also = f", and {others / MIB:,.6g} MiB for its other containers" if others else ""
    return f"of its {memory}, an instance takes {own_mib:,.3g} MiB for itself, {source}{also}: models cannot use it"
