"""`torpor profile`: measures the models of a group with a sample, and writes the group's file."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError
from rich.table import Table

from torpor.calling.connection import EndpointConnection
from torpor.cli.arguments import existing_file
from torpor.cli.asked_endpoint import EndpointName, Url, connected, known, only
from torpor.cli.console import console, plain_table
from torpor.errors import TorporError
from torpor.group_profiles.answered_accuracy import AccuracyMeasure, measure_for
from torpor.group_profiles.group_files import GroupPlace
from torpor.group_profiles.measured_group import MeasuredModel, measured_file, new_group_file, read_group_file
from torpor.group_profiles.model_measuring import EndpointCalls, MeasuringPlan, ledgers_wake_ms, measured
from torpor.group_profiles.sample_rows import SampleRows, read_sample
from torpor.pages import state
from torpor_endpoint.core.pages.plain_figures import counted, size
from torpor_endpoint.kept_prices import current_prices

ROWS = "1,8,32"


def profile(
    group: Annotated[str, typer.Argument(help="The group's name.", show_default=False)],
    data: Annotated[Path, typer.Option(help="Rows to measure with, as CSV.", metavar="FILE")],
    endpoint: EndpointName = None,
    label: Annotated[
        str | None, typer.Option(help="The column with labels: its name, or its number from 1.", metavar="COLUMN")
    ] = None,
    measure: Annotated[
        AccuracyMeasure | None,
        typer.Option(help="The accuracy: the share of right classes, or R². Without it, as the labels look."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A model of a new group; give it once for each.", metavar="MODEL")
    ] = None,
    rows: Annotated[str, typer.Option(help="The numbers of rows whose latency is measured.")] = ROWS,
    calls: Annotated[int, typer.Option(min=1, help="How often each is measured; the median counts.")] = 5,
    usd_per_hour: Annotated[
        float | None, typer.Option(min=0, help="The price of the processing. Without it, the instance type's.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the group's file here, and not below the prefix.", metavar="FILE")
    ] = None,
    url: Url = None,
) -> None:
    """Measure the models of a group: accuracy, latency by rows, loads and size. Write the group's file."""
    sizes = _row_counts(rows)
    existing_file("--data", data)
    sample = read_sample(data.read_text(encoding="utf-8-sig"), label)
    connection = connected(url)
    name = only(connection, endpoint)
    with known(connection, name):
        place = _place(connection, name, group)
        before = _before(group, place.text(), model)
        price = _price(connection, name) if usd_per_hour is None else usd_per_hour
        plan = MeasuringPlan(sizes, calls, _measure(sample, measure))
        found = _measured(connection, name, list(before["models"]), sample, plan)
    note: dict[str, Any] = {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "rows": len(sample.rows), "calls": calls}
    if plan.measure is not None:
        note["accuracy"] = plan.measure.value
    text = measured_file(group, before, found, price, note)
    console().print(table(found, sizes))
    if out is None:
        place.put(text)
    else:
        out.write_bytes(text)
    typer.echo(f"wrote {place.url if out is None else out}")


def table(found: list[MeasuredModel], sizes: tuple[int, ...]) -> Table:
    """A row for each model."""
    tiers = [tier for tier in ("disk", "s3", "asleep") if any(tier in one.load_ms for one in found)]
    shown = plain_table("", "model", "accuracy", "size")
    for title in (*(counted(rows, "row") for rows in sizes), *(f"load from {tier}" for tier in tiers)):
        shown.add_column(f"{title} (ms)", justify="right", no_wrap=True)
    for one in found:
        figures = [*(one.latency_ms[rows] for rows in sizes), *(one.load_ms.get(tier) for tier in tiers)]
        right = "" if one.accuracy is None else f"{one.accuracy:.4g}"
        held = "" if one.size_bytes is None else size(one.size_bytes)
        shown.add_row(one.model, right, held, *("" if took is None else f"{took:.4g}" for took in figures))
    return shown


def _row_counts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < int(part) <= 10_000 for part in parts):
        raise typer.BadParameter(
            f"{text!r} must be numbers from 1 to 10000 with commas between them", param_hint="--rows"
        )
    return tuple(sorted({int(part) for part in parts}))


def _measure(sample: SampleRows, asked: AccuracyMeasure | None) -> AccuracyMeasure | None:
    if sample.labels is None:
        if asked is not None:
            raise typer.BadParameter("an accuracy needs labels: name their column with --label", param_hint="--measure")
        return None
    return asked or measure_for(sample.labels)


def _place(connection: EndpointConnection, endpoint: str, group: str) -> GroupPlace:
    found = [one for one in state.endpoints(connection) if one.name == endpoint]
    prefixes = {variant.model_data_url for one in found for variant in one.variants if variant.model_data_url}
    if len(prefixes) != 1:
        what = "several prefixes" if prefixes else "no prefix of many models"
        raise TorporError(f"endpoint {endpoint} has {what}: a group is of the models below one")
    return GroupPlace.below(connection, prefixes.pop(), group)


def _before(group: str, text: bytes | None, models: list[str] | None) -> dict[str, Any]:
    if text is not None:
        if models:
            raise typer.BadParameter(f"group {group} has a file, which says its models", param_hint="--model")
        return read_group_file(group, text)
    if not models:
        raise TorporError(f"there is no group {group}: name its models with --model, once for each")
    return new_group_file(models)


def _price(connection: EndpointConnection, endpoint: str) -> float | None:
    """The hourly price of the endpoint's instance type; None for a serverless endpoint, and for several types."""
    try:
        config = connection.sagemaker("DescribeEndpoint", EndpointName=endpoint)["EndpointConfigName"]
        variants = connection.sagemaker("DescribeEndpointConfig", EndpointConfigName=config)["ProductionVariants"]
    except ClientError:  # the caller may lack the right to
        return None
    types = {one.get("InstanceType") for one in variants}
    only_type = types.pop() if len(types) == 1 else None
    return None if only_type is None else current_prices().usd_per_hour(only_type)


def _measured(
    connection: EndpointConnection, endpoint: str, models: list[str], sample: SampleRows, plan: MeasuringPlan
) -> list[MeasuredModel]:
    wake_ms, found = ledgers_wake_ms(connection, endpoint), []
    for model in models:
        calls = EndpointCalls(connection, endpoint, model)
        try:
            found.append(measured(model, calls, sample, plan, wake_ms))
        finally:
            calls.close()
    return found
