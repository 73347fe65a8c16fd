"""`torpor top`: a live table of all variants, their memory, models and traffic, from one page each second."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from torpor.calling.connection import EndpointConnection
from torpor.cli import json_records
from torpor.cli.asked_endpoint import NO_ENDPOINT, OneOrAll, Url, connected, not_in_service, unknown
from torpor.cli.console import AsJson, console, fitted, print_json
from torpor.cli.json_records import TopOutput, TopRow
from torpor.errors import EndpointUnreachable
from torpor.pages import state
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds, moment, size
from torpor_endpoint.core.pages.state import EndpointState, VariantState

EVERY_S = 1.0
SPARE = ("failed", "in flight", "p50", "wanted", "held")
"""Columns that a narrow terminal omits, in this order."""


class SortKey(StrEnum):
    """What the rows are sorted by: the name from a to z, any other from the largest down."""

    NAME = "name"
    REQUESTS = "requests"
    MEMORY = "memory"
    MODELS = "models"
    HELD = "held"
    P99 = "p99"
    COLD = "cold"


BY: Mapping[SortKey, Callable[[TopRow], float]] = {
    SortKey.REQUESTS: lambda row: row.requests_per_s,
    SortKey.MEMORY: lambda row: row.used_bytes,
    SortKey.MODELS: lambda row: row.models,
    SortKey.HELD: lambda row: row.held,
    SortKey.P99: lambda row: row.p99_s or 0.0,
    SortKey.COLD: lambda row: row.cold,
}


@dataclass(frozen=True)
class TopView:
    """What `torpor top` shows, of which endpoint or of all, in which order, and where."""

    connection: EndpointConnection
    endpoint: str | None
    sort: SortKey
    printer: Console
    pause: Callable[[float], None] = time.sleep


def top(
    endpoint: OneOrAll = None,
    sort: Annotated[SortKey, typer.Option(help="Sort by this column; all but the name from the largest down.")] = (
        SortKey.NAME
    ),
    once: Annotated[bool, typer.Option("--once", help="Print the table once, and end.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Watch the variants of all endpoints each second: instances, memory, models, requests, latencies. Ctrl-C ends.

    Hits, p50 and p99 (of ModelLatency) are of the present minute and the one before, and so are the requests per second
    of the first table; later ones count from table to table. Cold starts and failed requests are counted since the
    endpoint started. Without a terminal it prints a table each second, with --json a line each.
    """
    connection = connected(url)
    if endpoint is not None and endpoint not in {one.name for one in state.endpoints(connection, 0)}:
        raise unknown(connection, endpoint) or not_in_service(endpoint)
    view = TopView(connection, endpoint, sort, console())
    if once:
        [found] = samples(view, 1)
        print_json(found) if as_json else view.printer.print(table(found, view.printer.width))
        return
    with suppress(KeyboardInterrupt):  # the usual end
        watch(view, as_json)


def watch(view: TopView, as_json: bool) -> None:
    """Show the samples for ever: as JSON, on a screen of their own, or one below the other where there is no terminal.
    Raises EndpointUnreachable, except on a screen, which waits for the endpoint."""
    if as_json:
        for found in samples(view):
            typer.echo(json_records.text(found, indent=None))
    elif view.printer.is_terminal:
        _live(view)
    else:
        for found in samples(view):
            view.printer.print(Group(headline(found), table(found, view.printer.width), ""))


def samples(view: TopView, most: int | None = None) -> Iterator[TopOutput]:
    """A reading of the endpoint's page each EVERY_S seconds, for ever or `most` times. Raises EndpointUnreachable."""
    before: tuple[float, list[EndpointState]] | None = None
    number = 0
    while most is None or number < most:
        began_s, number = time.monotonic(), number + 1
        present = [one for one in state.endpoints(view.connection, 0) if view.endpoint in (None, one.name)]
        yield TopOutput(time.time(), tuple(ordered(rows(present, began_s, before), view.sort)))
        before = (began_s, present)
        if number != most:
            view.pause(max(0.0, EVERY_S - (time.monotonic() - began_s)))


def _live(view: TopView) -> None:
    """Show the samples on a screen of their own, so that the terminal is afterwards as it was."""
    latest = TopOutput(time.time(), ())
    with Live(console=view.printer, screen=True, auto_refresh=False) as live:
        while True:
            try:
                for latest in samples(view):
                    live.update(Group(headline(latest), table(latest, view.printer.width)), refresh=True)
            except EndpointUnreachable as error:
                shown = Group(headline(latest), table(latest, view.printer.width), Text(str(error), "red"))
                live.update(shown, refresh=True)
                view.pause(EVERY_S)


# -- from pages to rows --------------------------------------------------------------------------------------------
def rows(
    present: Sequence[EndpointState], now_s: float, before: tuple[float, Sequence[EndpointState]] | None = None
) -> list[TopRow]:
    """A row for each variant. `before` is an earlier moment and state: requests per second are counted from there."""
    earlier_s, earlier = before or (now_s, ())
    counted_then = {(one.name, variant.name): variant for one in earlier for variant in one.variants}
    lasted_s = now_s - earlier_s
    return [
        _row(endpoint.name, variant, counted_then.get((endpoint.name, variant.name)), lasted_s)
        for endpoint in present
        for variant in endpoint.variants
    ]


def _row(endpoint: str, variant: VariantState, then: VariantState | None, lasted_s: float) -> TopRow:
    traffic, instances = variant.traffic, variant.instances
    if then is not None and lasted_s > 0:
        per_s = max(0, traffic.requests - then.traffic.requests) / lasted_s
    else:
        per_s = traffic.recent_requests / traffic.recent_s if traffic.recent_s else 0.0
    return TopRow(
        endpoint,
        variant.name,
        variant.shadow,
        len(instances),
        variant.wanted,
        used_bytes=sum(one.used_bytes for one in instances),
        budget_bytes=sum(one.budget_bytes for one in instances),
        models=sum(one.model_count for one in instances),
        in_flight=sum(one.in_flight for one in instances),
        held=variant.held,
        requests=traffic.requests,
        requests_per_s=per_s,
        hit_ratio=traffic.hit_ratio,
        p50_s=traffic.p50_s,
        p99_s=traffic.p99_s,
        cold=traffic.cold,
        failed=traffic.failed,
        gpu_used_bytes=sum(one.gpu_used_bytes for one in instances),
        gpu_budget_bytes=sum(one.gpu_budget_bytes for one in instances),
    )


def ordered(found: Iterable[TopRow], sort: SortKey) -> list[TopRow]:
    """The rows by this key; equal ones by their names."""
    named = sorted(found, key=lambda row: (row.endpoint, row.variant))
    return named if sort is SortKey.NAME else sorted(named, key=BY[sort], reverse=True)


# -- from rows to a table ------------------------------------------------------------------------------------------
def headline(found: TopOutput) -> Text:
    """`12:30:01 · 2 variants · 3 instances · 41.2 requests/s`"""
    of = found.variants
    parts = (
        moment(found.at_s, found.at_s, "%H:%M:%S"),
        counted(len(of), "variant"),
        counted(sum(row.instances for row in of), "instance"),
        f"{sum(row.requests_per_s for row in of):,.1f} requests/s",
    )
    return Text(" · ".join(parts), "bold")


def table(found: TopOutput, width: int) -> Table | Text:
    """The rows as a table that fits the width; a line where there is none."""
    on_gpu = any(row.gpu_budget_bytes for row in found.variants)
    return fitted([cells(row, on_gpu) for row in found.variants], SPARE, width) if found.variants else Text(NO_ENDPOINT)


def cells(row: TopRow, on_gpu: bool = False) -> dict[str, str]:
    """The cells of a row, by column. There is one for GPUs where a variant predicts `on_gpu`."""
    gpu = {"gpu memory": _memory(row.gpu_used_bytes, row.gpu_budget_bytes)} if on_gpu else {}
    return {
        "endpoint/variant": f"{row.endpoint}/{row.variant}{' (shadow)' if row.shadow else ''}",
        "up": f"{row.instances:,}",
        "wanted": f"{row.wanted:,}",
        "memory": _memory(row.used_bytes, row.budget_bytes),
        **gpu,
        "models": f"{row.models:,}",
        "in flight": f"{row.in_flight:,}",
        "held": f"{row.held:,}",
        "req/s": f"{row.requests_per_s:,.1f}",
        "hits": "-" if row.hit_ratio is None else f"{row.hit_ratio:.1%}",
        "p50": "-" if row.p50_s is None else milliseconds(row.p50_s),
        "p99": "-" if row.p99_s is None else milliseconds(row.p99_s),
        "cold": f"{row.cold:,}",
        "failed": f"{row.failed:,}",
    }


def _memory(used_bytes: int, budget_bytes: int) -> str:
    return f"{size(used_bytes)} {used_bytes / budget_bytes:.0%}" if budget_bytes else "-"
