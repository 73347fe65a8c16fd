"""How every plot looks: dark text on white, colours that the colour-blind tell apart, and a strip that says on what
terms. Nothing of it is kept in matplotlib's global state."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, NamedTuple

from torpor.extras import require
from torpor.plots.amounts import Marks, Told

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, QUIET, FAINT, GRID = "#1b1b1b", "#5c5c5c", "#9a9a9a", "#e6e6e6"
BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#e69f00",
    "#cc79a7",
    "#56b4e9",
    "#333333",
)
PALETTE = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
"""Okabe and Ito's, which hold for every kind of colour blindness."""
SOLID, DASHED = "-", (0.0, (5.0, 2.0))
DASHES: Sequence["Dash"] = (SOLID, DASHED, (0.0, (1.0, 1.5)), (0.0, (6.0, 2.0, 1.0, 2.0)))

WIDTH_IN, HEIGHT_IN = 8.0, 5.0
TITLE_PT, TEXT_PT, SMALL_PT, STRIP_PT = 13.0, 10.0, 9.0, 8.0
FACTORS_FROM = 10.0
STRIP_LETTERS = 128
TITLE_LETTERS = 72

Grid = Literal["x", "y", "both", "neither"]
Dash = str | tuple[float, tuple[float, ...]]


class Style(NamedTuple):
    colour: str
    dashes: Dash


def sheet(title: str, note: str, height_in: float = HEIGHT_IN) -> "Figure":
    """An empty figure with its title and its strip. Raises MissingExtra without matplotlib."""
    require("a plot", "plots")
    from torpor.plots.canvas import Sheet

    figure = Sheet(WIDTH_IN, height_in)
    start = {"x": 0.01, "ha": "left"}
    figure.suptitle("\n".join(wrap(title, TITLE_LETTERS)), **start, fontsize=TITLE_PT, fontweight="bold", color=INK)
    if note:
        figure.supxlabel("\n".join(wrap(note, STRIP_LETTERS)), **start, fontsize=STRIP_PT, color=QUIET)
    return figure


def strip(note: str, *more: str) -> str:
    """The caller's note as it is, and what the plot has to say after it, as sentences."""
    said = " ".join(filter(None, more))
    if not (note and said):
        return note or said
    return f"{note} {said}" if note.endswith((".", "!", "?")) else f"{note}. {said}"


def styles(names: Iterable[str]) -> Mapping[str, Style]:
    """A colour and a dash for each name, in their order."""
    looks = map(Style, cycle(PALETTE), cycle(DASHES))
    return dict(zip(dict.fromkeys(names), looks, strict=False))


def dress(axes: "Axes", grid: Grid = "both") -> None:
    """No box, a faint grid, and text of one size and ink."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(which="both", labelsize=SMALL_PT, colors=FAINT, labelcolor=INK, length=3)
    axes.xaxis.label.set(color=INK, fontsize=TEXT_PT)
    axes.yaxis.label.set(color=INK, fontsize=TEXT_PT)
    if grid != "neither":
        axes.grid(axis=grid, color=GRID, linewidth=0.8)


def mark(axis: "Axis", marks: Marks, told: Told) -> None:
    """The round amounts within the axis' limits, which stay as they are."""
    least, most = sorted(axis.get_view_interval())
    chosen = marks(least, most)
    axis.set_ticks(chosen, labels=[told(each) for each in chosen])
    axis.set_ticks([], minor=True)


def span(amounts: Iterable[float], pad: float = 1.35) -> tuple[float, float]:
    """Limits of a logarithmic axis around amounts above 0, with room on both sides, and never less than a fourfold."""
    known = list(amounts)
    least, most = min(known) / pad, max(known) * pad
    wider = max(1.0, 2 / (most / least) ** 0.5)
    return least / wider, most * wider


def from_zero_or_by_factors(
    axes: "Axes", which: Literal["x", "y"], amounts: Iterable[float], marks: Marks, told: Told
) -> None:
    """Amounts that differ by a factor of ten or more, none of them 0, on a scale of factors; others from 0 on."""
    known = list(amounts)
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    if min(known) > 0 and max(known) / min(known) >= FACTORS_FROM:
        axes.set(**{f"{which}scale": "log", f"{which}lim": span(known, pad=1.6)})
        mark(axis, marks, told)
    else:
        axes.set(**{f"{which}lim": (0, max(known) * 1.15 or 1)})
        axis.set_major_formatter(lambda amount, _: told(amount))


def limit(axes: "Axes", at: float, text: str) -> None:
    """A limit that one has to keep: a dashed line at `at` of the x axis, with its text beside its head."""
    axes.axvline(at, color=INK, linewidth=1, linestyle=DASHED, zorder=1.5)
    axes.annotate(
        text, (at, 1), xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points",
        ha="left", va="top", fontsize=SMALL_PT, color=INK,
    )  # fmt: skip


def legend(axes: "Axes", columns: int) -> None:
    """Of what has a label, in rows above the axes, where nothing is drawn."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, borderpad=0, ncols=columns, frameon=False,
        fontsize=SMALL_PT, labelcolor=INK, handlelength=2.2, columnspacing=1.6,
    )  # fmt: skip
