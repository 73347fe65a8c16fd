"""`torpor ls`: what runs: endpoints, their instances, and the models in each one's memory."""

from rich.table import Table

from torpor import seen
from torpor.cli.edge import Url, connected, console
from torpor.story import size


def ls(url: Url = None) -> None:
    """List endpoints, instances and the models in memory."""
    found = seen.endpoints(connected(url))
    if not found:
        console().print("no endpoint is in service")
    for endpoint in found:
        console().print(table(endpoint))


def table(endpoint: seen.Endpoint) -> Table:
    shown = Table(title=endpoint.name, title_justify="left", title_style="bold", header_style="dim")
    for column in ("variant", "instance", "model", "format"):
        shown.add_column(column)
    for column in ("memory", "hits", "idle"):
        shown.add_column(column, justify="right")
    for variant in endpoint.variants:
        if not variant.instances:
            shown.add_row(variant.name, f"none of {variant.wanted} is ready", *[""] * 5)
        for instance in variant.instances:
            _add_instance(shown, variant, instance)
    return shown


def _add_instance(shown: Table, variant: seen.Variant, instance: seen.Instance) -> None:
    memory = f"{size(instance.used_bytes)} of {size(instance.budget_bytes)}"
    shown.add_section()
    shown.add_row(variant.name, instance.id, f"{len(instance.models)} in memory", "", memory, "", "", style="bold")
    for model in sorted(instance.models, key=lambda model: model.idle_s):
        idle = f"{model.idle_s:.1f} s"
        shown.add_row("", "", model.name, model.format, size(model.size_bytes), str(model.hits), idle)
