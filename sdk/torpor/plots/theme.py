"""The common style of all plots: dark text on white, colours for every kind of colour blindness, and a footer with the
terms. It does not change matplotlib's global state."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, NamedTuple

from torpor.extras import require
from torpor.plots.formatting import Format, Marks

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
"""The colours of Okabe and Ito, which people with any kind of colour blindness can distinguish."""
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
    """An empty figure with its title and its footer. Raises MissingExtra without matplotlib."""
    require("a plot", "plots")
    from torpor.plots.figure import Sheet

    figure = Sheet(WIDTH_IN, height_in)
    start = {"x": 0.01, "ha": "left"}
    figure.suptitle("\n".join(wrap(title, TITLE_LETTERS)), **start, fontsize=TITLE_PT, fontweight="bold", color=INK)
    if note:
        figure.supxlabel("\n".join(wrap(note, STRIP_LETTERS)), **start, fontsize=STRIP_PT, color=QUIET)
    return figure


def strip(note: str, *more: str) -> str:
    """The text of the footer: the caller's note, followed by the plot's own sentences."""
    sentences = " ".join(filter(None, more))
    if not (note and sentences):
        return note or sentences
    return f"{note} {sentences}" if note.endswith((".", "!", "?")) else f"{note}. {sentences}"


def styles(names: Iterable[str]) -> Mapping[str, Style]:
    """A colour and a line style for each name, in their order."""
    pairs = map(Style, cycle(PALETTE), cycle(DASHES))
    return dict(zip(dict.fromkeys(names), pairs, strict=False))


def dress(axes: "Axes", grid: Grid = "both") -> None:
    """Format the axes: no box, a faint grid, and text of one size and colour."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(which="both", labelsize=SMALL_PT, colors=FAINT, labelcolor=INK, length=3)
    axes.xaxis.label.set(color=INK, fontsize=TEXT_PT)
    axes.yaxis.label.set(color=INK, fontsize=TEXT_PT)
    if grid != "neither":
        axes.grid(axis=grid, color=GRID, linewidth=0.8)


def mark(axis: "Axis", marks: Marks, text: Format) -> None:
    """Put ticks at the round amounts within the axis' limits, which stay as they are."""
    least, most = sorted(axis.get_view_interval())
    chosen = marks(least, most)
    axis.set_ticks(chosen, labels=[text(each) for each in chosen])
    axis.set_ticks([], minor=True)


def span(amounts: Iterable[float], pad: float = 1.35) -> tuple[float, float]:
    """Limits of a logarithmic axis around amounts above 0, with a margin, and at least a factor of four apart."""
    known = list(amounts)
    least, most = min(known) / pad, max(known) * pad
    wider = max(1.0, 2 / (most / least) ** 0.5)
    return least / wider, most * wider


def from_zero_or_by_factors(
    axes: "Axes", which: Literal["x", "y"], amounts: Iterable[float], marks: Marks, text: Format
) -> None:
    """Scale an axis: logarithmic if the amounts differ by a factor of ten or more and none is 0, otherwise from 0."""
    known = list(amounts)
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    if min(known) > 0 and max(known) / min(known) >= FACTORS_FROM:
        axes.set(**{f"{which}scale": "log", f"{which}lim": span(known, pad=1.6)})
        mark(axis, marks, text)
    else:
        axes.set(**{f"{which}lim": (0, max(known) * 1.15 or 1)})
        axis.set_major_formatter(lambda amount, _: text(amount))


def limit(axes: "Axes", at: float, text: str) -> None:
    """Draw a limit to keep: a dashed line at `at` on the x axis, with its text at the top."""
    axes.axvline(at, color=INK, linewidth=1, linestyle=DASHED, zorder=1.5)
    axes.annotate(
        text, (at, 1), xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points",
        ha="left", va="top", fontsize=SMALL_PT, color=INK,
    )  # fmt: skip


def legend(axes: "Axes", columns: int) -> None:
    """Draw the legend in rows above the axes."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0, borderpad=0, ncols=columns, frameon=False,
        fontsize=SMALL_PT, labelcolor=INK, handlelength=2.2, columnspacing=1.6,
    )  # fmt: skip
