"""The demo's tables."""

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from torpor.demo.timed_calls import DemoCall, quantile
from torpor.pages.numbers import ROWS, MetricNumbers
from torpor_endpoint.core.pages.plain_figures import milliseconds, size
from torpor_endpoint.core.pages.state import InstanceState

AWS_COLD = "850 - 1375 ms"
AWS_WARM_P90 = "7 ms"
"""From AWS's blog on multi-model endpoints; not measured here."""

STEPS = ("download", "unpack", "load", "predict")
WAKING_STEPS = ("hold", "wake", *STEPS)


def _table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Text on the left, numbers on the right."""
    shown = Table(*columns, box=SIMPLE_HEAD, header_style="dim", pad_edge=True)
    for column in numbers:
        shown.add_column(column, justify="right")
    return shown


def _city(target: str) -> str:
    return target.removesuffix(".tar.gz")


def artifacts(folder: Path) -> Table:
    found = sorted(folder.iterdir())
    shown = _table("artifacts", numbers=("in all",))
    names = ", ".join(_city(path.name) for path in found)
    shown.add_row(names, size(sum(path.stat().st_size for path in found)))
    return shown


def calls(cold: Sequence[DemoCall], warm: Sequence[DemoCall]) -> Table:
    """The first and the second call of each model. Eighty columns have no room for units, so the title has them."""
    shown = _table("model", numbers=("price", "first\ncall", *STEPS, "second\ncall"))
    shown.title, shown.title_justify, shown.title_style = "milliseconds", "right", "dim"
    shown.padding = (0, 0, 0, 1)
    for first, second in zip(cold, warm, strict=True):
        taken_ms = (first.took_s * 1000, *(first.steps_ms.get(step, 0.0) for step in STEPS), second.took_s * 1000)
        shown.add_row(_city(first.target), f"${first.price:,.0f}", *(f"{took_ms:,.1f}" for took_ms in taken_ms))
    return shown


def residents(instances: Sequence[InstanceState]) -> Table:
    shown = _table("in memory now", numbers=("size",))
    for instance in instances:
        for model in sorted(instance.models, key=lambda model: model.idle_s):
            shown.add_row(_city(model.name), size(model.size_bytes))
        used = f"{size(instance.used_bytes)} of {size(instance.budget_bytes)}"
        shown.add_section()
        shown.add_row(f"the instance, {len(instance.models)} models", used)
    return shown


def waking(first: DemoCall) -> Table:
    """The steps of a call that found no instance."""
    shown = _table("", numbers=("took",))
    for step in WAKING_STEPS:
        if step in first.steps_ms:
            shown.add_row(step, milliseconds(first.steps_ms[step] / 1000))
    shown.add_section()
    shown.add_row("in all, for the caller", milliseconds(first.took_s))
    return shown


def metrics(numbers: MetricNumbers) -> Table:
    shown = _table("metric", numbers=("sum", "average"))
    for row in ROWS:
        if row.metric in ("Invocations", "ModelCacheHit", "LoadedModelCount"):
            shown.add_row(row.metric, row.shown(numbers, "Sum"), row.shown(numbers, "Average"))
    return shown


def comparison(cold: Sequence[DemoCall], warm: Sequence[DemoCall]) -> Table:
    shown = _table("", numbers=("AWS's blog, not measured here", "Torpor, this run"))
    spread = sorted(call.took_s for call in cold)
    shown.add_row("cold call", AWS_COLD, f"{spread[0] * 1000:.0f} - {spread[-1] * 1000:.0f} ms")
    shown.add_row("warm call, p90", AWS_WARM_P90, milliseconds(quantile(warm, 90)))
    return shown
