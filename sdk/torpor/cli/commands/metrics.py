"""`torpor metrics`: an endpoint's metrics, read through CloudWatch's API as from AWS."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli.endpoints import EndpointName, Url, connected, known, only
from torpor.cli.output import console
from torpor.pages.numbers import ROWS, MetricNumbers, VariantWindow


def metrics(
    endpoint: EndpointName = None,
    minutes: Annotated[int, typer.Option(help="How many minutes to look back.", min=1)] = 60,
    url: Url = None,
) -> None:
    """Show invocations, hit rate, loaded models and latencies."""
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        described = connection.client("sagemaker").describe_endpoint(EndpointName=name)
    variants = [variant["VariantName"] for variant in described.get("ProductionVariants", [])]
    cloudwatch = connection.client("cloudwatch")
    now = datetime.now(UTC)
    for variant in variants:
        numbers = MetricNumbers.read(cloudwatch, VariantWindow(name, variant, now - timedelta(minutes=minutes), now))
        console().print(table(f"{name} · {variant} · the last {minutes} minutes", numbers))


def table(title: str, numbers: MetricNumbers) -> Table:
    shown = Table("metric", title=title, title_justify="left", title_style="bold", header_style="dim")
    for statistic in ("sum", "average", "p50", "p99"):
        shown.add_column(statistic, justify="right")
    for row in ROWS:
        shown.add_row(row.metric, *(row.shown(numbers, statistic) for statistic in ("Sum", "Average", "p50", "p99")))
    return shown
