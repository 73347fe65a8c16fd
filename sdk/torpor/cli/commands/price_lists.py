"""`torpor prices`: shows the price list that every bill is made with, and makes one from AWS's own file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli.arguments import existing_file
from torpor.cli.bill_table import rate
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.json_records import PricesOutput, UnpricedTypes
from torpor.prices import PriceList, current, reset, update
from torpor_endpoint.core.pages.plain_figures import counted
from torpor_endpoint.core.pricing.catalogue import CATALOGUE
from torpor_endpoint.core.pricing.quotes import HOUR, UNITS, transform_item
from torpor_endpoint.kept_prices import kept_path

app = typer.Typer(help="Show the price list that every bill is made with, or make one from AWS's file.")
FILE = "AWS's price list file of SageMaker (AmazonSageMaker), or of S3 (AmazonS3), as JSON or CSV."
Region = Annotated[str | None, typer.Option(help="The region, as eu-west-1: of a file that has several.")]
SHOWN = 8


@app.callback(invoke_without_command=True)
def prices(context: typer.Context, region: Region = None, as_json: AsJson = False) -> None:
    """Show the price list that every bill is made with: each figure with its date and source."""
    if context.invoked_subcommand is None:
        show(current(region), as_json)


@app.command("update")
def updated(
    file: Annotated[Path, typer.Argument(help=FILE, metavar="FILE")], region: Region = None, as_json: AsJson = False
) -> None:
    """Keep the prices of AWS's file, so that every bill is made with them. A file that cannot be used changes
    nothing."""
    existing_file("FILE", file)
    show(update(file, region), as_json)


@app.command("reset")
def forgotten() -> None:
    """Forget the kept list, and go back to the one that ships."""
    console().print("the list that ships is used again" if reset() else "no list was kept")


def show(found: PriceList, as_json: bool) -> None:
    if as_json:
        print_json(output(found))
        return
    printer = console()
    printer.print(f"{found.region} · {found.dated} · {found.source}", style="bold")
    printer.print(instances(found))
    printer.print(others(found))
    lacking = output(found).without_a_price
    few = f"{', '.join(lacking.types[:SHOWN])}{', …' if len(lacking.types) > SHOWN else ''}"
    printer.print()
    if lacking.types:
        printer.print(f"without a price: {counted(len(lacking.types), 'type')} that Torpor hosts: {few}", style="dim")
    if lacking.items:
        printer.print(f"without a price: {'; '.join(lacking.items)}", style="dim")
    where = f"kept in {kept_path()}" if kept_path().exists() and found == current() else "as it ships"
    printer.print(f"{where}; `torpor prices update FILE` takes AWS's own file", style="dim")


def instances(found: PriceList) -> Table:
    """A row for each instance type with a price: its size, and its hour as an endpoint's and as a job's."""
    usd, types = {quote.item: quote.usd for quote in found.quotes}, found.prices.types
    shown = plain_table("", "instance type")
    for name in ("vCPU", "GiB", "GPU", "an hour", "of a job"):
        shown.add_column(name, justify="right", no_wrap=True)
    for quote in found.quotes:
        if quote.unit == HOUR and quote.item.startswith("ml."):
            size = types.get(quote.item)
            of = ("", "", "") if size is None else (size.vcpus, f"{size.memory_mib / 1024:g}", size.gpus or "")
            job = usd.get(transform_item(quote.item))
            shown.add_row(quote.item, *map(str, of), rate(quote.usd), "" if job is None else rate(job))
    return shown


def others(found: PriceList) -> Table:
    """A row for each other item, with its date and source."""
    shown = plain_table("", "item")
    for name in ("price", "for a"):
        shown.add_column(name, justify="right" if name == "price" else "left", no_wrap=True)
    shown.add_column("dated", no_wrap=True)
    shown.add_column("source", overflow="fold")
    for quote in found.quotes:
        if quote.unit != HOUR:
            shown.add_row(quote.item, rate(quote.usd), quote.unit, quote.dated, quote.source)
    return shown


def output(found: PriceList) -> PricesOutput:
    priced = {quote.item for quote in found.quotes}
    types = tuple(name for name in CATALOGUE if name not in priced)
    items = tuple(item for item in UNITS if item not in priced)
    return PricesOutput(found.region, found.dated, found.source, found.quotes, UnpricedTypes(types, items))
