"""Compares the simulation with the live endpoint, figure by figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torpor.plots import checks, formatting, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 0.05
ROW_IN = 0.34
FIGURES = 4
COLUMNS_PT = (55.0, 115.0)

Row = tuple[str, float | None, float | None]
"""A figure's name, live, and simulated."""


class Difference(NamedTuple):
    name: str
    live: float
    simulated: float
    share: float


def live_against_simulated(rows: Sequence[Row], band: float = BAND, note: str = "") -> "Figure":
    """A row for each figure: the difference of the simulated value from the live one, as a share of the live one. If
    the live value is 0 and the simulated one is not, there is no such share: it counts as outside the band, and the
    footer names it. The footer also names unknown figures, which do not count. Raises ValueError, MissingExtra."""
    checks.some("rows", rows)
    checks.positive("band", band)
    drawn = _differences(rows)
    if not drawn:
        raise ValueError("rows has no row with two known figures and a live one that is not 0")
    unknown = [name for name, live, simulated in rows if not checks.known(live, simulated)]
    without = [name for name, live, simulated in rows if checks.known(live, simulated) and not live and simulated]
    within = sum(abs(each.share) <= band for each in drawn)
    figure = theme.sheet(
        f"Simulated against live: {within} of {len(drawn) + len(without)} figures within ±{formatting.percent(band)}",
        theme.strip(
            note,
            checks.listing("Outside, not drawn, as live is 0", without),
            checks.listing("Not drawn, as not known", unknown),
        ),
        height_in=1.6 + ROW_IN * len(drawn),
    )
    axes = figure.add_subplot()
    widest = max(band * 1.5, *(abs(each.share) * 1.15 for each in drawn))
    axes.set(xlim=(-widest, widest), ylim=(len(drawn) - 0.4, -0.6))
    axes.axvspan(-band, band, color=theme.GREEN, alpha=0.12, linewidth=0, zorder=0)
    axes.axvline(0, color=theme.FAINT, linewidth=1, zorder=1)
    for row, each in enumerate(drawn):
        _dumbbell(axes, row, each.share, abs(each.share) <= band)
        _columns(axes, row, (formatting.plain(each.live, FIGURES), formatting.plain(each.simulated, FIGURES)))
    _columns(axes, -0.75, ("live", "simulated"), theme.QUIET)
    axes.set_yticks(range(len(drawn)), labels=[each.name for each in drawn])
    axes.set_xlabel(f"Simulated, above or below live. Shaded: ±{formatting.percent(band)}")
    axes.xaxis.set_major_formatter(lambda share, _: f"{'+' if share > 0 else ''}{formatting.percent(round(share, 9))}")
    theme.dress(axes, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _differences(rows: Sequence[Row]) -> list[Difference]:
    """The differences of the rows that have one."""
    return [
        Difference(name, live, simulated, (simulated - live) / abs(live) if live else 0.0)
        for name, live, simulated in rows
        if live is not None and simulated is not None and checks.known(live, simulated) and (live or not simulated)
    ]


def _dumbbell(axes: "Axes", row: int, share: float, within: bool) -> None:
    colour = theme.GREEN if within else theme.VERMILLION
    axes.plot([0, share], [row, row], color=colour, linewidth=2, alpha=0.6, zorder=2)
    axes.plot(share, row, linestyle="", marker="o" if within else "D", markersize=7, color=colour, zorder=3)


def _columns(axes: "Axes", row: float, texts: Sequence[str], colour: str = theme.INK) -> None:
    """Write the texts to the right of the plot."""
    for text, across_pt in zip(texts, COLUMNS_PT, strict=True):
        axes.annotate(
            text, (1, row), xycoords=axes.get_yaxis_transform(), xytext=(across_pt, 0), textcoords="offset points",
            ha="right", va="center", fontsize=theme.SMALL_PT, color=colour,
        )  # fmt: skip
