"""`torpor ls`: lists the endpoints, their instances, and the models in the memory of each instance."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table

from torpor.cli.asked_endpoint import NO_ENDPOINT, Url, connected
from torpor.cli.console import AsJson, console, plain_table, print_json
from torpor.pages import state
from torpor_endpoint.core.pages.plain_figures import size
from torpor_endpoint.core.pages.state import (
    MODELS_LISTED,
    ContainerState,
    EndpointState,
    InstanceState,
    VariantState,
    standing,
)

if TYPE_CHECKING:
    from torpor.cli.json_records import EndpointEntry


LISTED = 100


def ls(
    models: Annotated[
        int, typer.Option(min=0, help="So many models of each container, the latest called first.", metavar="N")
    ] = MODELS_LISTED,
    limit: Annotated[int, typer.Option(min=1, help="So many endpoints, by name.", metavar="N")] = LISTED,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """List endpoints, instances and the models in memory."""
    connection = connected(url)
    found = state.statuses(connection, limit + 1)
    more, found = found[limit:], found[:limit]
    serving = {endpoint.name: endpoint for endpoint in state.endpoints(connection, models, limit)}
    if as_json:
        from torpor.cli.json_records import LsOutput

        print_json(LsOutput(tuple(entry(status, serving.get(status.name)) for status in found), bool(more)))
        return
    if not found:
        console().print(NO_ENDPOINT)
    for status in found:
        endpoint = serving.get(status.name)
        trouble = endpoint.trouble if endpoint else ""
        console().print(headline(status, trouble), style="bold", soft_wrap=True)
        if endpoint and endpoint.variants:
            console().print(table(endpoint))
    if more:
        console().print(f"and more, from {more[0].name} on: --limit", style="dim")


def entry(status: state.Status, endpoint: EndpointState | None) -> "EndpointEntry":
    from torpor.cli.json_records import EndpointEntry

    trouble, variants = (endpoint.trouble, endpoint.variants) if endpoint else ("", ())
    return EndpointEntry(status.name, status.status, status.failure_reason, trouble, variants)


def headline(status: state.Status, trouble: str = "") -> str:
    """The endpoint's line. One in trouble is InService for SageMaker's API, but serves no request."""
    standing = f"{status.status}, but not served" if trouble else status.status
    reason = trouble or status.failure_reason
    return f"{status.name}  {standing}{f': {reason}' if reason else ''}"


def table(endpoint: EndpointState) -> Table:
    """The instances, as `torpor logs` names them, and below each one its models, the latest called first.

    Of an instance of several containers, each has a line of its own above its models. Groups of models stand above the
    instances.
    """
    shown = plain_table("", "variant/instance, models", "format")
    for column in ("memory", "hits", "idle"):
        shown.add_column(column, justify="right", no_wrap=True)
    for variant in endpoint.variants:
        if not variant.instances:
            shown.add_row(f"{variant.name}{_kind(variant)}: {standing(variant)}", *[""] * 4)
        for group in variant.groups:
            shown.add_row(Padding(str(group), (0, 0, 0, 2)), *[""] * 4, style="italic")
        for instance in variant.instances:
            _add_instance(shown, variant, instance)
    return shown


def _kind(variant: VariantState) -> str:
    return " (shadow)" if variant.shadow else ""


def _add_instance(shown: Table, variant: VariantState, instance: InstanceState) -> None:
    shown.add_section()
    on = f" on {instance.place}" if instance.place else ""
    name = f"{variant.name}/{instance.id}{on}{_kind(variant)}"
    shown.add_row(name, "", _memory(instance), "", "", style="bold")
    if len(instance.containers) == 1:
        _add_models(shown, instance.containers[0], indent=2)
        return
    for container in instance.containers:
        shown.add_row(Padding(container.name, (0, 0, 0, 2)), "", _memory(container), "", "", style="italic")
        _add_models(shown, container, indent=4)


def _add_models(shown: Table, container: ContainerState, indent: int) -> None:
    for model in sorted(container.models, key=lambda model: model.idle_s):
        idle, name = f"{model.idle_s:.1f} s", Padding(model.name, (0, 0, 0, indent))
        shown.add_row(name, model.format, size(model.size_bytes), f"{model.hits:,}", idle)
    if more := container.model_count - len(container.models):
        shown.add_row(Padding(f"and {more:,} more: --models", (0, 0, 0, indent)), *[""] * 4, style="dim")


def _memory(holder: InstanceState | ContainerState) -> str:
    """Empty for one that has not answered, and for an instance that inference components are placed on."""
    if not holder.budget_bytes:
        return ""
    return f"{size(holder.used_bytes)} of {size(holder.budget_bytes)}"
