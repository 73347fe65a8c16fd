"""`torpor costs`: the cost of the past traffic at AWS's prices, by model, and the cost of other ways to serve it."""

from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli.arguments import ago_s
from torpor.cli.asked_endpoint import OneOrAll, Url, connected, known
from torpor.cli.bill_table import beside, bill_table
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.pages.ledger import ALL, Which
from torpor.pages.ledger import costs as read
from torpor.prices.dollars import dollars
from torpor.time_units import HOUR_S
from torpor_endpoint.core.pages.costs import Costs, FaceUse, OtherModels, ShadowShare, SizeCostsRow, VariantCostsRow
from torpor_endpoint.core.pages.plain_figures import counted, milliseconds, size
from torpor_endpoint.core.pricing.component_shares import UNRESERVED
from torpor_endpoint.core.pricing.costs import ModelCosts

MODELS = 20


def costs(
    endpoint: OneOrAll = None,
    since: Annotated[str, typer.Option(help="How far to look back, such as 90s, 30m, 1h or 7d.")] = "24h",
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show the cost at AWS's prices, by model, and what other ways to serve the same traffic would have cost.

    Shadow variants have rows of their own, and the containers of a pipeline have their time and memory.
    """
    connection = connected(url)
    with known(connection, endpoint):
        found = read(connection, Which(endpoint, ago_s(since)), ALL if as_json else MODELS)
    if as_json:
        print_json(found)
        return
    printer = console()
    if not found.variants:
        printer.print(f"no instance ran and no request came in the last {since}")
        return
    printer.print(variants(found))
    for share in found.shadows:
        printer.print(tested(share))
    for variant in found.variants:
        if variant.lines:
            printer.print(bill_table(f"{variant.endpoint} · {_named(variant)} · the bill", variant.lines))
        if variant.components:
            printer.print(components(variant))
        if variant.requests:
            printer.print(models(variant))
            if variant.containers:
                printer.print(containers(variant))
            if variant.faces:
                printer.print(faces(variant))
            printer.print(on_aws(variant))
    printer.print(f"\nUS dollars at the prices of {found.priced_on}: {found.price_source}.", style="dim")
    printer.print(f"Not included in any figure: {found.left_out}.", style="dim")


def variants(found: Costs) -> Table:
    """A row for each variant and type of instance."""
    since, until = (datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M") for at_s in (found.since_s, found.until_s))
    shown = plain_table(f"from {since} to {until}", "endpoint", "variant", "instances")
    for name in ("hours", "GB-s", "requests", "cold", "cost"):
        shown.add_column(name, justify="right", no_wrap=True)
    for variant in found.variants:
        first, *more = [one for one in variant.sizes if one.size] or variant.sizes
        counts = (f"{variant.requests:,}", f"{variant.cold:,}")
        shown.add_row(variant.endpoint, _named(variant), *_ran(first), *counts, dollars(first.usd))
        for one in more:
            shown.add_row("", "", *_ran(one), "", "", dollars(one.usd))
    return shown


def models(variant: VariantCostsRow) -> Table:
    """A row for each model, the dearest first, and one for idle time: together they are the variant's cost."""
    shown = plain_table(f"{variant.endpoint} · {_named(variant)} · by model", "model")
    for name in ("requests", "cold", "errors", "busy s", "cost"):
        shown.add_column(name, justify="right", no_wrap=True)
    for one in variant.models:
        shown.add_row(one.model or "-", *_counts(one))
    if variant.others.models:
        shown.add_row(counted(variant.others.models, "other"), *_counts(variant.others), style="dim")
    shown.add_row("idle", "", "", "", "", dollars(variant.idle_usd), style="dim")
    shown.add_section()
    shown.add_row("all", *_counts(variant), style="bold")
    return shown


def containers(variant: VariantCostsRow) -> Table:
    """A row for each container of a pipeline: all of them share the cost of its instances."""
    shown = plain_table(f"{variant.endpoint} · {_named(variant)} · by container", "container")
    for name in ("requests", "in it, s", "each", "own memory"):
        shown.add_column(name, justify="right", no_wrap=True)
    for one in variant.containers:
        each = milliseconds(one.total_s / one.requests) if one.requests else ""
        memory = "-" if one.own_bytes is None else size(one.own_bytes)
        shown.add_row(one.container, f"{one.requests:,}", f"{one.total_s:,.3f}", each, memory)
    return shown


def faces(variant: VariantCostsRow) -> Table:
    """A row for each protocol by which requests came."""
    shown = plain_table(f"{variant.endpoint} · {_named(variant)} · by protocol", "protocol")
    for name in ("requests", "cold", "errors", "busy s", "cost", "each took"):
        shown.add_column(name, justify="right", no_wrap=True)
    for one in variant.faces:
        each = milliseconds(one.total_s / one.requests) if one.requests else ""
        shown.add_row(one.face, *_counts(one), each)
    return shown


def components(variant: VariantCostsRow) -> Table:
    """A row for each inference component on the instances, and one for what no copy has reserved: together they are the
    variant's cost, without data."""
    shown = plain_table(f"{variant.endpoint} · {_named(variant)} · by inference component", "component")
    for name in ("copy hours", "reserved", "cost"):
        shown.add_column(name, justify="right", no_wrap=True)
    for one in variant.components:
        hours = f"{one.copy_s / HOUR_S:,.3f}" if one.copy_s else ""
        style = "dim" if one.component == UNRESERVED else ""
        shown.add_row(one.component, hours, f"{one.share:.1%}", dollars(one.usd), style=style)
    return shown


def tested(share: ShadowShare) -> str:
    """`houses: the test with its shadow variant is 33 % of the bill, $0.12 of $0.35`"""
    if share.share is None:
        return f"{share.endpoint}: what share of the bill its shadow variant is, is not known: a price is missing"
    paid = f"{dollars(share.usd)} of {dollars(share.of_usd)}"
    return f"{share.endpoint}: its shadow variant is {share.share:.1%} of the bill, {paid}"


def on_aws(variant: VariantCostsRow) -> Table:
    """A row for each other way to serve the traffic, with what its figure assumes."""
    shown = plain_table(f"{variant.endpoint} · {_named(variant)} · the same traffic on AWS", "served as")
    shown.add_column("cost", justify="right", no_wrap=True)
    shown.add_column("assuming", overflow="fold")
    shown.add_row("as here", dollars(variant.usd), _basis(variant), style="bold")
    for one in variant.on_aws:
        shown.add_row(one.way, dollars(one.usd), f"{one.assumes}{beside(one.unpriced)}")
    return shown


def _named(variant: VariantCostsRow) -> str:
    return f"{variant.variant}{' (shadow)' if variant.shadow else ''}"


def _counts(one: ModelCosts | OtherModels | VariantCostsRow | FaceUse) -> list[str]:
    return [f"{one.requests:,}", f"{one.cold:,}", f"{one.errors:,}", f"{one.busy_s:,.3f}", dollars(one.usd)]


def _ran(one: SizeCostsRow) -> tuple[str, str, str]:
    hours = f"{one.instance_s / HOUR_S:,.3f}"
    return one.size or "no instance", hours, f"{one.gb_s:,.3f}" if one.gb_s else ""


def _basis(variant: VariantCostsRow) -> str:
    if any(one.size.startswith("serverless-") for one in variant.sizes):
        return "each millisecond of predicting, and the data moved; nothing while idle"
    return "each second that an instance runs, its volume, and the data moved"
