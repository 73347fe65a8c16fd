"""`torpor cold-starts`: the requests that waited for an instance or a model, and what each of them waited for."""

import time
from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli import completion
from torpor.cli.arguments import ago_s
from torpor.cli.asked_endpoint import OneOrAll, Url, connected, known
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.json_records import ColdStartsOutput
from torpor.pages.data_frames import STEPS
from torpor.pages.ledger import Which, counted_cold_starts
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.plain_figures import counted, moment, size
from torpor_endpoint.core.pages.story import SHOWN_S, why_cold

WIDEST = 1000
PERCENTS = (50, 99)


def cold_starts(
    endpoint: OneOrAll = None,
    model: Annotated[
        str | None, typer.Option(help="Only this model.", metavar="MODEL", autocompletion=completion.models)
    ] = None,
    since: Annotated[str, typer.Option(help="How far to look back, such as 90s, 30m, 1h or 7d.")] = "1h",
    limit: Annotated[int, typer.Option(help="How many to show, the latest ones.", min=1)] = 100,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show what each cold request waited for, step by step, and how long it was in each container of a pipeline."""
    connection = connected(url)
    with known(connection, endpoint):
        page = counted_cold_starts(connection, Which(endpoint, ago_s(since)), model, limit)
    found = page.rows
    if as_json:
        print_json(ColdStartsOutput(found, sum(page.of.values())))
        return
    if not found:
        console().print(f"no cold start in the last {since}")
    printer = console()
    for name in sorted({one.endpoint for one in found}):
        own = [one for one in found if one.endpoint == name]
        wide = table(name, own, page.of[name])
        fits = printer.measure(wide, options=printer.options.update_width(WIDEST)).maximum <= printer.width
        printer.print(wide if fits else narrow_table(name, own, page.of[name]))


def table(endpoint: str, cold: Sequence[ColdStart], of: int) -> Table:
    """A row for each cold start, a column for each step and each container of a pipeline, and their percentiles. `of`
    is how many cold starts there are."""
    steps = [step for step in STEPS if any(_noticed(one.steps, step) for one in cold)]
    containers = _containers(cold)
    shown = _titled(endpoint, len(cold), of)
    shown.add_column("time", no_wrap=True)
    shown.add_column("model", overflow="fold")
    for name in ("total", *steps, *(f"in {container}" for container in containers), "memory"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("why, and which models left", no_wrap=True)
    for one in cold:
        times = (one.total_s, *(one.steps.get(step, 0.0) for step in steps), *_spent(one, containers))
        shown.add_row(_at(one), one.model or "-", *map(_milliseconds, times), _memory(one), why_cold(one))
    shown.add_section()
    for percent in PERCENTS:
        total_s, parts_s = _percentiles(cold, percent)
        spent_s = [percentile(each, percent) for each in zip(*(_spent(one, containers) for one in cold), strict=True)]
        times = (total_s, *(parts_s[step] for step in steps), *spent_s)
        shown.add_row(f"p{percent}", "", *map(_milliseconds, times), style="bold")
    return shown


def narrow_table(endpoint: str, cold: Sequence[ColdStart], of: int) -> Table:
    """The table for a narrow terminal: model, reason and steps below each other."""
    shown = _titled(endpoint, len(cold), of)
    shown.add_column("time", no_wrap=True)
    shown.add_column("total", justify="right", no_wrap=True)
    shown.add_column("model, why, which models left, and what the request waited for", overflow="fold")
    for one in cold:
        named = ", ".join(part for part in (one.model or "-", _memory(one)) if part)
        lines = "\n".join(line for line in (named, why_cold(one), _steps(one.steps), _passed(one)) if line)
        shown.add_row(_at(one), _milliseconds(one.total_s), lines)
    shown.add_section()
    for percent in PERCENTS:
        total_s, parts_s = _percentiles(cold, percent)
        shown.add_row(f"p{percent}", _milliseconds(total_s), _steps(parts_s), style="bold")
    return shown


def percentile(values_s: Sequence[float], percent: int) -> float:
    """A percentile, interpolated between the two nearest values as numpy does."""
    return quantiles(values_s, n=100, method="inclusive")[percent - 1] if len(values_s) > 1 else values_s[0]


def _percentiles(cold: Sequence[ColdStart], percent: int) -> tuple[float, dict[str, float]]:
    """A percentile of the totals, and of each step."""
    parts_s = {step: percentile([one.steps.get(step, 0.0) for one in cold], percent) for step in STEPS}
    return percentile([one.total_s for one in cold], percent), parts_s


def _titled(endpoint: str, shown: int, of: int) -> Table:
    """`houses · the latest 100 of 740 cold starts · milliseconds`"""
    part = f"the latest {shown:,} of " if shown < of else ""
    return plain_table(f"{endpoint} · {part}{counted(of, 'cold start')} · milliseconds")


def _noticed(steps_s: Mapping[str, float], step: str) -> bool:
    return steps_s.get(step, 0.0) > SHOWN_S


def _steps(steps_s: Mapping[str, float]) -> str:
    """`download 1.0, load 9.4`"""
    return ", ".join(f"{step} {_milliseconds(steps_s[step])}" for step in STEPS if _noticed(steps_s, step))


def _containers(cold: Sequence[ColdStart]) -> list[str]:
    """The containers of the pipelines among them, in the order in which a request passes them."""
    return list(dict.fromkeys(name for one in cold for name in one.container_s))


def _spent(one: ColdStart, containers: Sequence[str]) -> list[float]:
    return [one.container_s.get(name, 0.0) for name in containers]


def _passed(one: ColdStart) -> str:
    """`in clean 1.0, in houses 12.4`"""
    return ", ".join(f"in {name} {_milliseconds(spent_s)}" for name, spent_s in one.container_s.items())


def _at(one: ColdStart) -> str:
    return moment(one.at_s, time.time(), "%H:%M:%S")


def _memory(one: ColdStart) -> str:
    return size(one.loaded_bytes) if one.loaded_bytes else ""


def _milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if seconds > SHOWN_S else "·"
