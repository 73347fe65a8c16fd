"""Plots the hit rate by memory size, with the memory of instance types."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from torpor.plots import checks, formatting, labels, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from torpor.hit_rates.curves import Curve

NO_MARKS: Mapping[str, float] = MappingProxyType({})
ERRORS = 2.0
"""The half width of the band, in standard errors."""
MARK_PT = 12.0


def hit_rate_against_memory(
    curves: "Mapping[str, Curve]", marks: Mapping[str, float] = NO_MARKS, note: str = ""
) -> "Figure":
    """A curve for each name, with a band if it is an estimate. `marks` has memory sizes in bytes by name, such as
    instance types: each gets a dot on each curve, and with a single curve the hit rate too. Raises ValueError,
    MissingExtra."""
    checks.some("curves", curves)
    for name, curve in curves.items():
        checks.ascending(f"curves[{name!r}].capacities_bytes", curve.capacities_bytes)
        checks.column(f"curves[{name!r}].hit_ratio", curve.hit_ratio)
        checks.positive(f"curves[{name!r}]: its first capacity", curve.capacities_bytes[0])
    for name, size_bytes in marks.items():
        checks.positive(f"marks: the bytes of {name!r}", size_bytes)
    banded = any((curve.error > 0).any() for curve in curves.values())
    figure = theme.sheet(
        "Requests that find their model in memory, by memory size",
        theme.strip(note, f"Band: {ERRORS:g} standard errors of the sample to each side." if banded else ""),
    )
    axes = figure.add_subplot()
    axes.set_xscale("log", base=2)
    axes.set_xlim(theme.span(_ends(curves, marks), pad=1.1))
    axes.set_ylim(0, 1.02)
    axes.set(xlabel="Memory for models", ylabel="Share of requests that are hits")
    axes.yaxis.set_major_formatter(lambda share, _: formatting.percent(share))
    theme.mark(axes.xaxis, formatting.doublings, formatting.memory)
    theme.dress(axes)
    styles, ends = theme.styles(curves), []
    for name, curve in curves.items():
        _curve(axes, curve, styles[name])
        ends.append(labels.Label(name, curve.capacities_bytes[-1], curve.hit_ratio[-1], styles[name].colour))
    labels.at_ends(axes, ends)
    _marks(axes, curves, marks, styles)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _ends(curves: "Mapping[str, Curve]", marks: Mapping[str, float]) -> list[float]:
    ends = [float(curve.capacities_bytes[end]) for curve in curves.values() for end in (0, -1)]
    return [*ends, *marks.values()]


def _curve(axes: "Axes", curve: "Curve", style: theme.Style) -> None:
    hits = curve.hit_ratio
    axes.plot(curve.capacities_bytes, hits, color=style.colour, linestyle=style.dashes, linewidth=2, zorder=3)
    if (curve.error > 0).any():
        low, high = (hits - ERRORS * curve.error).clip(0, 1), (hits + ERRORS * curve.error).clip(0, 1)
        axes.fill_between(curve.capacities_bytes, low, high, color=style.colour, alpha=0.18, linewidth=0, zorder=2)


def _marks(
    axes: "Axes", curves: "Mapping[str, Curve]", marks: Mapping[str, float], styles: Mapping[str, theme.Style]
) -> None:
    """Draw vertical lines with their names at the bottom, and a dot on each curve."""
    for size_bytes in marks.values():
        axes.axvline(size_bytes, color=theme.FAINT, linewidth=1, zorder=1)
        reached = {each: hits for each, curve in curves.items() if (hits := _at(curve, size_bytes)) is not None}
        for each, hits in reached.items():
            axes.plot(size_bytes, hits, marker="o", markersize=6, color=styles[each].colour, zorder=4)
    _mark_names(axes, curves, marks)


def _mark_names(axes: "Axes", curves: "Mapping[str, Curve]", marks: Mapping[str, float]) -> None:
    """Write the names vertically on their lines; if lines are close, as near as is legible."""
    labels.settle(axes)
    lines_pt = [labels.spot_pt(axes, size_bytes, 0).x for size_bytes in marks.values()]
    places_pt = labels.spread(lines_pt, MARK_PT)
    for (name, size_bytes), line_pt, place_pt in zip(marks.items(), lines_pt, places_pt, strict=True):
        axes.annotate(
            _label(name, curves, size_bytes), (size_bytes, 0), xytext=(place_pt - line_pt, 5),
            textcoords="offset points", rotation=90, ha="center", va="bottom", fontsize=theme.SMALL_PT,
            color=theme.INK, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
        )  # fmt: skip


def _label(name: str, curves: "Mapping[str, Curve]", size_bytes: float) -> str:
    """The name, with the hit rate if there is a single curve."""
    hits = _at(next(iter(curves.values())), size_bytes) if len(curves) == 1 else None
    return name if hits is None else f"{name}: {formatting.percent(hits)}"


def _at(curve: "Curve", size_bytes: float) -> float | None:
    """The hit ratio at this size: of the largest capacity up to it. None outside the curve."""
    sizes = curve.capacities_bytes
    if not sizes[0] <= size_bytes <= sizes[-1]:
        return None
    return float(curve.hit_ratio[int(sizes.searchsorted(size_bytes, side="right")) - 1])
