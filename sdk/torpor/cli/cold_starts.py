"""`torpor cold-starts`: the requests that had to wait, and what each of them waited for."""

from collections.abc import Sequence
from datetime import datetime
from statistics import quantiles
from typing import Annotated

import typer
from rich.table import Table

from torpor.accounts import ColdStart, Which
from torpor.accounts import cold_starts as read
from torpor.cli.edge import Url, connected, console, plain_table
from torpor.cli.since import ago_s
from torpor.frames import STEPS
from torpor.story import counted, size

Endpoint = Annotated[str | None, typer.Argument(help="Of this endpoint only.", metavar="ENDPOINT")]

NOTICED_S = 0.0001
"""A step that no request waited longer for has no column."""
WIDEST = 1000


def cold_starts(
    endpoint: Endpoint = None,
    model: Annotated[str | None, typer.Option(help="Of this model only.")] = None,
    since: Annotated[str, typer.Option(help="How far to look back, such as 90s, 30m, 1h or 7d.")] = "1h",
    limit: Annotated[int, typer.Option(help="The latest so many.", min=1)] = 100,
    url: Url = None,
) -> None:
    """Show what each cold request waited for, step by step."""
    found = read(connected(url), Which(endpoint, ago_s(since)), model, limit)
    if not found:
        console().print(f"no cold start in the last {since}", markup=False)
    printer = console()
    for name in sorted({one.endpoint for one in found}):
        own = [one for one in found if one.endpoint == name]
        wide = table(name, own)
        fits = printer.measure(wide, options=printer.options.update_width(WIDEST)).maximum <= printer.width
        printer.print(wide if fits else table(name, own, reasons_below=True))


def table(endpoint: str, cold: Sequence[ColdStart], *, reasons_below: bool = False) -> Table:
    """A line per cold start, and the percentiles of these. In a narrow terminal its reason stands below its model."""
    steps = [step for step in STEPS if any(one.steps.get(step, 0.0) > NOTICED_S for one in cold)]
    shown = plain_table(f"{endpoint} · {counted(len(cold), 'cold start')} · milliseconds")
    shown.add_column("time", no_wrap=True)
    shown.add_column("model", overflow="fold")
    for name in ("total", *steps, "memory"):
        shown.add_column(name, justify="right", no_wrap=True)
    if not reasons_below:
        shown.add_column("why, and who left", no_wrap=True)
    for one in cold:
        shown.add_row(*_cells(one, steps, reasons_below))
    shown.add_section()
    for percent in (50, 99):
        parts = (percentile([one.steps.get(step, 0.0) for one in cold], percent) for step in steps)
        total_s = percentile([one.total_s for one in cold], percent)
        shown.add_row(f"p{percent}", "", *map(_milliseconds, (total_s, *parts)), style="bold")
    return shown


def percentile(values_s: Sequence[float], percent: int) -> float:
    """Between the two nearest, as numpy has it."""
    return quantiles(values_s, n=100, method="inclusive")[percent - 1] if len(values_s) > 1 else values_s[0]


def _cells(one: ColdStart, steps: Sequence[str], reasons_below: bool) -> list[str]:
    at = datetime.fromtimestamp(one.at_s).strftime("%H:%M:%S")
    times = [_milliseconds(took_s) for took_s in (one.total_s, *(one.steps.get(step, 0.0) for step in steps))]
    memory, model, why = size(one.loaded_bytes) if one.loaded_bytes else "", one.model or "-", _why(one)
    if reasons_below:
        return [at, f"{model}\n  {why}" if why else model, *times, memory]
    return [at, model, *times, memory, why]


def _why(one: ColdStart) -> str:
    failed = f"HTTP {one.status}" if one.status >= 400 else ""
    left = f"{', '.join(one.victims)} left" if one.victims else ""
    return "; ".join(part for part in (failed, one.reason, left) if part)


def _milliseconds(seconds: float) -> str:
    value = seconds * 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if seconds > NOTICED_S else "·"
