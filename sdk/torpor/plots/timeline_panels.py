"""Plots requests, cold requests, instances and models in memory over time, in panels."""

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from torpor.plots import checks, formatting, theme
from torpor.time_units import DAY_S, HOUR_S, MINUTE_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


class Panel(NamedTuple):
    head: str
    colour: str


COLUMNS = ("at_s", "requests", "cold", "instances", "models")
COUNTED = ("requests", "cold")
MEMORY = "memory_bytes"
PANELS = {
    "instances": Panel("Instances", theme.GREEN),
    "models": Panel("Models in memory", theme.BLUE),
    MEMORY: Panel("Memory of models", theme.PURPLE),
}
STRETCHES_MAX = 800
STEPS_S = (
    *(1, 2, 5, 10, 30),
    *(MINUTE_S * n for n in (1, 2, 5, 10, 30)),
    *(HOUR_S * n for n in (1, 2, 3, 6)),
    *(DAY_S * n for n in (1, 2, 7, 14, 28, 91, 182, 364)),
)
UNITS = ((DAY_S, "Days"), (HOUR_S, "Hours"), (MINUTE_S, "Minutes"), (1, "Seconds"))
STEPS_MAX = 12
PANEL_IN = 1.25


def over_time(timeline: "Mapping[str, ArrayLike]", note: str = "") -> "Figure":
    """`timeline` has columns of one length, with a row for each step of time: its beginning `at_s`, the counts
    `requests` and `cold`, and the values `instances`, `models` and, optionally, `memory_bytes`. The last step is as
    long as the one before, and a single one is a minute. If there are too many rows to see, several are drawn as one,
    and the footer says so. Raises ValueError, MissingExtra."""
    columns = _columns(timeline)
    many = ceil(len(columns["at_s"]) / STRETCHES_MAX)
    edges, columns = _together(_edges(columns["at_s"]), columns, many)
    panels = {name: panel for name, panel in PANELS.items() if name in columns}
    drawn = f"{many} rows are drawn as one: the mean of rates, and the maximum of the others." if many > 1 else ""
    title, height_in = "Requests, cold requests, instances and models over time", 1.3 + PANEL_IN * (1 + len(panels))
    figure = theme.sheet(title, theme.strip(note, drawn), height_in)
    first, *others = figure.subplots(1 + len(panels), 1, sharex=True)
    minutes = (edges[1:] - edges[:-1]) / MINUTE_S
    _panel(first, edges, {theme.SKY: columns["requests"] / minutes, theme.VERMILLION: columns["cold"] / minutes})
    _requests_head(first, float(columns["requests"].sum()), float(columns["cold"].sum()))
    for axes, (name, panel) in zip(others, panels.items(), strict=True):
        _panel(axes, edges, {panel.colour: columns[name]})
        _head(axes, panel.head)
        if name == MEMORY:
            theme.mark(axes.yaxis, formatting.binary, formatting.memory)
    _hours(figure.axes[-1], float(edges[0]), float(edges[-1]))
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _columns(timeline: "Mapping[str, ArrayLike]") -> "dict[str, checks.Column]":
    if missing := [name for name in COLUMNS if name not in timeline]:
        raise ValueError(f"timeline has no column {missing[0]!r}: it needs {', '.join(COLUMNS)}")
    shown = [*COLUMNS, *([MEMORY] if MEMORY in timeline else [])]
    columns = {name: checks.column(f"timeline[{name!r}]", timeline[name]) for name in shown}
    for name, values in columns.items():
        checks.same_length(len(columns["at_s"]), f"timeline[{name!r}]", values)
        checks.amount(f"timeline[{name!r}]: the least", values.min())
    if (columns["cold"] > columns["requests"]).any():
        raise ValueError("timeline['cold'] has more cold requests than requests")
    return columns


def _edges(at_s: "checks.Column") -> "checks.Column":
    import numpy as np

    if not (at_s[1:] > at_s[:-1]).all():
        raise ValueError("timeline['at_s'] needs strictly ascending times")
    last_s = at_s[-1] - at_s[-2] if len(at_s) > 1 else MINUTE_S
    return np.append(at_s, at_s[-1] + last_s)


def _together(
    edges: "checks.Column", columns: "Mapping[str, checks.Column]", many: int
) -> "tuple[checks.Column, dict[str, checks.Column]]":
    """The rows in groups of `many`: counts are summed, and of the others the maximum is taken."""
    import numpy as np

    starts = np.arange(0, len(edges) - 1, many)
    found = {
        name: (np.add if name in COUNTED else np.maximum).reduceat(values, starts) for name, values in columns.items()
    }
    return np.append(edges[starts], edges[-1]), found


def _panel(axes: "Axes", edges: "checks.Column", areas: "Mapping[str, checks.Column]") -> None:
    """Draw the areas by colour, each in front of the one before."""
    for colour, values in areas.items():
        axes.stairs(values, edges, fill=True, color=colour, linewidth=0)
    axes.set_ylim(0, max(values.max() for values in areas.values()) * 1.1 or 1)
    axes.set_xlim(edges[0], edges[-1])
    theme.dress(axes)
    axes.yaxis.set_major_formatter(lambda amount, _: formatting.plain(amount))
    axes.locator_params(axis="y", nbins=4, integer=True)


def _head(axes: "Axes", text: str) -> None:
    axes.set_title(text, loc="left", fontsize=theme.TEXT_PT, color=theme.INK, pad=4)


def _requests_head(axes: "Axes", requests: float, cold: float) -> None:
    """The panel's title, with the cold requests in their own colour."""
    _head(axes, "Requests per minute")
    share = f" ({formatting.percent(cold / requests)} of all)" if requests else ""
    axes.set_title(f"of them cold{share}", loc="right", fontsize=theme.TEXT_PT, color=theme.VERMILLION, pad=4)


def _hours(axes: "Axes", first_s: float, last_s: float) -> None:
    """Label the time axis with round times since the start, in their own unit."""
    length_s = last_s - first_s
    step_s = next((step for step in STEPS_S if length_s / step <= STEPS_MAX), STEPS_S[-1])
    unit_s, unit = next(each for each in UNITS if step_s >= each[0])
    steps = range(int(length_s / step_s + 1e-9) + 1)
    marks = [first_s + step_s * turn for turn in steps]
    axes.set_xticks(marks, labels=[formatting.plain((mark - first_s) / unit_s) for mark in marks])
    axes.set_xlabel(f"{unit} since the start")
