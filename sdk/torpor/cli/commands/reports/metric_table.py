"""`torpor metrics`: an endpoint's metrics, read through CloudWatch's API as from AWS."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.table import Table

from torpor.cli.asked_endpoint import EndpointName, Url, connected, known, only
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.cli.json_records import MetricEntry, MetricsOutput, VariantMetricsEntry
from torpor.pages.numbers import ROWS, MetricNumbers, VariantWindow
from torpor_endpoint.core.pages.plain_figures import counted

STATISTICS = ("Sum", "Average", "p50", "p99")


def metrics(
    endpoint: EndpointName = None,
    minutes: Annotated[int, typer.Option(help="How many minutes to look back.", min=1)] = 60,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Show invocations, hit rate, loaded models and latencies."""
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        described = connection.client("sagemaker").describe_endpoint(EndpointName=name)
    cloudwatch, now = connection.client("cloudwatch"), datetime.now(UTC)
    found = {
        variant["VariantName"]: MetricNumbers.read(
            cloudwatch, VariantWindow(name, variant["VariantName"], now - timedelta(minutes=minutes), now)
        )
        for variant in described.get("ProductionVariants", [])
    }
    if as_json:
        print_json(MetricsOutput(minutes, tuple(entry(name, variant, numbers) for variant, numbers in found.items())))
        return
    for variant, numbers in found.items():
        console().print(table(f"{name} · {variant} · the last {counted(minutes, 'minute')}", numbers))


def entry(endpoint: str, variant: str, numbers: MetricNumbers) -> VariantMetricsEntry:
    metrics = (
        MetricEntry(row.metric, row.unit, *(numbers.values.get((row.metric, statistic)) for statistic in STATISTICS))
        for row in ROWS
    )
    return VariantMetricsEntry(endpoint, variant, tuple(metrics))


def table(title: str, numbers: MetricNumbers) -> Table:
    shown = plain_table(title, "metric")
    for statistic in STATISTICS:
        shown.add_column(statistic.lower(), justify="right")
    for row in ROWS:
        shown.add_row(row.metric, *(row.shown(numbers, statistic) for statistic in STATISTICS))
    return shown
