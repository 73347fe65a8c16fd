"""Compares the predictions of two versions of models, prediction by prediction."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torpor.plots import checks, formatting, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

ROW_IN = 0.5
HEIGHT = 0.5
"""Of a row that is 1 high: the dots of one model are spread over so much."""
GOLDEN = 0.6180339887498949
"""The fractions of its multiples are spread evenly, in no visible order."""
COLUMNS_PT = (60.0, 120.0)


def version_differences(
    predictions: "Mapping[str, tuple[ArrayLike, ArrayLike]]", tolerance: float, note: str = ""
) -> "Figure":
    """A row of dots for each model: how much each prediction of the new version is above or below the old one, as a
    share of the old one. `predictions` has, by model, the old version's and the new one's for the same requests, in
    the same order, and none of the old ones is 0. `tolerance` is a share too. Raises ValueError, MissingExtra."""
    checks.some("predictions", predictions)
    checks.positive("tolerance", tolerance)
    shares = {name: _shares(name, *both) for name, both in predictions.items()}
    count = sum(len(each) for each in shares.values())
    agreed = sum(int((abs(each) <= tolerance).sum()) for each in shares.values())
    band = f"±{formatting.percent(tolerance)}"
    figure = theme.sheet(
        f"New version against old: {formatting.percent(agreed / count)} of {count:,} predictions within {band}",
        note,
        height_in=1.6 + ROW_IN * len(shares),
    )
    axes = figure.add_subplot()
    widest = max(tolerance * 1.5, *(float(abs(each).max()) * 1.1 for each in shares.values()))
    axes.set(xlim=(-widest, widest), ylim=(len(shares) - 0.4, -0.7))
    axes.axvspan(-tolerance, tolerance, color=theme.GREEN, alpha=0.12, linewidth=0, zorder=0)
    axes.axvline(0, color=theme.FAINT, linewidth=1, zorder=1)
    _columns(axes, -0.8, ("within", "median"), theme.QUIET)
    for row, each in enumerate(shares.values()):
        _dots(axes, row, each, tolerance)
    axes.set_yticks(range(len(shares)), labels=list(shares))
    axes.set_xlabel(f"New prediction, above or below the old one. Shaded: {band}")
    axes.xaxis.set_major_formatter(lambda share, _: _signed(share))
    theme.dress(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _shares(name: str, old: "ArrayLike", new: "ArrayLike") -> "checks.Column":
    before = checks.column(f"predictions[{name!r}]: the old ones", old)
    after = checks.column(f"predictions[{name!r}]: the new ones", new)
    checks.same_length(len(before), f"predictions[{name!r}]: the new ones", after)
    if not before.all():
        raise ValueError(f"predictions[{name!r}]: an old one is 0, and a difference from it has no share")
    shares: checks.Column = (after - before) / abs(before)
    return shares


def _dots(axes: "Axes", row: int, shares: "checks.Column", tolerance: float) -> None:
    import numpy as np

    within = abs(shares) <= tolerance
    heights = row + HEIGHT * (np.arange(len(shares)) * GOLDEN % 1 - 0.5)
    for chosen, marker, size_pt, colour in ((within, "o", 3.5, theme.GREEN), (~within, "D", 4.5, theme.VERMILLION)):
        axes.plot(
            shares[chosen], heights[chosen], linestyle="", marker=marker, markersize=size_pt, markeredgewidth=0,
            color=colour, alpha=0.7, zorder=3,
        )  # fmt: skip
    median = float(np.median(shares))
    axes.plot([median, median], [row - 0.33, row + 0.33], color=theme.INK, linewidth=2, zorder=4)
    _columns(axes, row, (formatting.percent(float(within.mean())), _signed(median)))


def _columns(axes: "Axes", row: float, texts: tuple[str, str], colour: str = theme.INK) -> None:
    """Write the texts to the right of the plot."""
    for text, across_pt in zip(texts, COLUMNS_PT, strict=True):
        axes.annotate(
            text, (1, row), xycoords=axes.get_yaxis_transform(), xytext=(across_pt, 0), textcoords="offset points",
            ha="right", va="center", fontsize=theme.SMALL_PT, color=colour,
        )  # fmt: skip


def _signed(share: float) -> str:
    return f"{'+' if share > 0 else ''}{formatting.percent(round(share, 9))}"
