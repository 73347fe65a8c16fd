"""Plots of costs: dollars against p99 latency, and a saving step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from torpor.plots import checks, formatting, labels, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOM = 0.3
"""The room for labels beside the bars, as a share of the length of all bars."""
NAME_LETTERS, TENFOLDS = 30, 6
NO_COLD: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class CostPoint:
    """One way to serve the same requests: its dollars a month, and its p99 in seconds; None if not known. Points of one
    `kind` have one colour."""

    label: str
    usd: float | None
    p99_s: float | None
    kind: str = ""
    sold_by_aws: bool = True


def pareto(points: Sequence[CostPoint]) -> list[CostPoint]:
    """The Pareto-optimal points, the fastest first: no other point is better in one of price and p99, and as good in
    the other. Points with an unknown value are left out."""
    found: list[CostPoint] = []
    least_usd, at_s = inf, inf
    for usd, p99_s, point in sorted(_known(points), key=lambda known: (known[1], known[0])):
        if usd < least_usd or (usd == least_usd and p99_s == at_s):
            found.append(point)
            least_usd, at_s = usd, p99_s
    return found


def dollars_against_p99(points: Sequence[CostPoint], slo_s: float | None = None, note: str = "") -> "Figure":
    """All ways as points, and the line of the Pareto-optimal ones. The footer names the points that are left out, since
    a value is not known. Raises ValueError if none is left, or a p99 is not above 0; MissingExtra."""
    checks.some("points", points)
    known = _known(points)
    if not known:
        raise ValueError("points has no point whose usd and p99_s are both known")
    for usd, p99_s, point in known:
        checks.amount(f"usd of {point.label!r}", usd)
        checks.positive(f"p99_s of {point.label!r}", p99_s)
    limits = [] if slo_s is None else [checks.positive("slo_s", slo_s)]
    unknown = [point.label for point in points if not checks.known(point.usd, point.p99_s)]
    left_out = checks.listing("Not drawn, as not known", unknown)
    figure = theme.sheet("Dollars a month against p99 latency", theme.strip(note, left_out))
    axes = figure.add_subplot()
    axes.set_ylabel("Dollars a month")
    theme.from_zero_or_by_factors(axes, "y", [usd for usd, _, _ in known], formatting.decades, formatting.dollars)
    if axes.get_yscale() == "log":
        axes.set_ylim(bottom=axes.get_ylim()[0] / 2)  # the labels are below their points
    axes.set_xscale("log")
    axes.set_xlim(theme.span([*(p99_s for _, p99_s, _ in known), *limits], pad=2))
    axes.set_xlabel("p99 latency")
    theme.mark(axes.xaxis, formatting.times, formatting.seconds)
    theme.dress(axes)
    for limit_s in limits:
        theme.limit(axes, limit_s, f"SLO {formatting.seconds(limit_s)}")
    _points(axes, known, pareto(points))
    return figure


def waterfall(steps: Sequence[tuple[str, float]], note: str = "", cold: Mapping[str, float] = NO_COLD) -> "Figure":
    """Dollars a month, from one step to the next, on a logarithmic scale: the length of a bar is the factor that its
    step saves. `cold` has the share of cold requests of some steps. Raises ValueError, also for amounts that are not
    above $0; MissingExtra."""
    checks.some("steps", steps)
    usd = [checks.positive(f"steps: the amount of {label!r}", amount) for label, amount in steps]
    names = [label for label, _ in steps]
    if unknown := [label for label in cold if label not in names]:
        raise ValueError(f"cold has a share of {unknown[0]!r}, which is not one of the steps")
    for label, share in cold.items():
        checks.share(f"cold of {label!r}", share)
    title = "Dollars a month, step by step: the length of a bar is the factor it saves"
    figure = theme.sheet(title, note, height_in=1.7 + 0.62 * len(steps))
    axes = figure.add_subplot()
    axes.set_xscale("log")
    room = max(max(usd) / min(usd), 4.0) ** ROOM
    axes.set_xlim(min(usd) / room, max(usd) * room)
    axes.set_ylim(len(steps) - 0.5, -0.5)
    for row, (before, after) in enumerate(zip([usd[0], *usd], usd, strict=False)):
        _step(axes, row, before, after)
    if cold:
        _cold_column(axes, [cold.get(label) for label in names])
    wrapped = ["\n".join(wrap(name, NAME_LETTERS, break_on_hyphens=False)) for name in names]
    axes.set_yticks(range(len(steps)), labels=wrapped)
    axes.set_xlabel("Dollars a month, logarithmic scale")
    theme.mark(axes.xaxis, _tenfold, formatting.dollars)
    theme.dress(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelsize=theme.TEXT_PT)
    axes.spines["left"].set_visible(False)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _known(points: Sequence[CostPoint]) -> list[tuple[float, float, CostPoint]]:
    return [
        (point.usd, point.p99_s, point)
        for point in points
        if point.usd is not None and point.p99_s is not None and checks.known(point.usd, point.p99_s)
    ]


def _named(best: Sequence[CostPoint]) -> list[tuple[str, float, float]]:
    """A label for each position, with its dollars and seconds. Points at the same position share one label: the
    shortest name, and the number of the others."""
    places: dict[tuple[str, str], list[tuple[float, float, CostPoint]]] = {}
    for usd, p99_s, point in _known(best):
        places.setdefault((formatting.dollars(usd), formatting.seconds(p99_s)), []).append((usd, p99_s, point))
    found = []
    for same in places.values():
        usd, p99_s, first = min(same, key=lambda one: (not one[2].sold_by_aws, len(one[2].label)))
        others = f"\nand {len(same) - 1} more alike" if len(same) > 1 else ""
        found.append((f"{first.label}{others}", usd, p99_s))
    return found


def _points(axes: "Axes", known: Sequence[tuple[float, float, CostPoint]], best: Sequence[CostPoint]) -> None:
    kinds = theme.styles(point.kind for _, _, point in known)
    chosen = {id(point) for point in best}
    line = _staircase([(p99_s, usd) for usd, p99_s, _ in _known(best)], axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot(*zip(*line, strict=True), color=theme.FAINT, linewidth=1.4, zorder=2)
    for usd, p99_s, point in known:
        colour, best_one = kinds[point.kind].colour, id(point) in chosen
        axes.plot(
            p99_s, usd, linestyle="", marker="o" if point.sold_by_aws else "D", markersize=8 if best_one else 6,
            markeredgecolor=colour, markerfacecolor=colour if point.sold_by_aws else "white", markeredgewidth=1.8,
            alpha=1 if best_one else 0.4, zorder=3, clip_on=False,
        )  # fmt: skip
    _legend(axes, known, kinds)
    named = [labels.Label(f"{text}\n{formatting.dollars(usd)}", p99_s, usd) for text, usd, p99_s in _named(best)]
    everybody = [(p99_s, usd) for usd, p99_s, _ in known]
    labels.beside(axes, named, everybody, [line], labels.BELOW_LEFT)


def _staircase(corners: labels.Line, most_x: float, most_y: float) -> labels.Line:
    """The corners of the Pareto line: from the top, right and then down at each point, and on to the right."""
    found = [(corners[0][0], most_y)]
    for x, y in corners:
        found += [(x, found[-1][1]), (x, y)]
    return [*found, (most_x, corners[-1][1])]


def _legend(axes: "Axes", known: Sequence[tuple[float, float, CostPoint]], kinds: Mapping[str, theme.Style]) -> None:
    """The legend: the kinds, if there are several, the shape, and the line."""
    for kind, style in kinds.items() if len(kinds) > 1 else ():
        axes.plot([], [], linestyle="", marker="o", color=style.colour, label=kind or "other")
    if not all(point.sold_by_aws for _, _, point in known):
        axes.plot(
            [],
            [],
            linestyle="",
            marker="D",
            markeredgecolor=theme.INK,
            markerfacecolor="white",
            label="not sold by AWS",
        )
    axes.plot([], [], color=theme.FAINT, linewidth=1.4, label="nothing is cheaper and faster")
    theme.legend(axes, columns=3)


def _step(axes: "Axes", row: int, before: float, after: float) -> None:
    """A bar from the amount before to the amount after; the first row has only its amount. The dollars are at the bar's
    end, and the factor is at its beginning."""
    saved = after <= before
    colour = theme.BLUE if saved else theme.VERMILLION
    if row:
        axes.plot([before, before], [row - 0.7, row + 0.3], color=theme.FAINT, linewidth=0.8, zorder=1)
        axes.barh(row, abs(before - after), left=min(before, after), height=0.6, color=colour, alpha=0.3, zorder=2)
    axes.plot([after, after], [row - 0.3, row + 0.3], color=colour, linewidth=3, solid_capstyle="butt", zorder=3)
    _aside(
        axes, row, after, formatting.dollars(after), left=saved and row > 0, fontsize=theme.TEXT_PT, fontweight="bold"
    )
    if row and after < before:
        _aside(axes, row, before, f"÷ {formatting.plain(before / after)}", left=False, color=theme.QUIET)
    elif row and after > before:
        _aside(axes, row, before, f"x {formatting.plain(after / before)}", left=True, color=theme.QUIET)


def _aside(axes: "Axes", row: int, usd: float, text: str, left: bool, **more: Any) -> None:
    style = {"fontsize": theme.SMALL_PT, "color": theme.INK, "va": "center", "ha": "right" if left else "left", **more}
    axes.annotate(text, (usd, row), xytext=(-6 if left else 6, 0), textcoords="offset points", **style)


def _cold_column(axes: "Axes", shares: Sequence[float | None]) -> None:
    across = axes.get_yaxis_transform()
    texts = ["not known" if share is None else formatting.percent(share) for share in shares]
    for row, text in enumerate(["cold requests", *texts], start=-1):
        axes.text(
            1.02, max(row, -0.75), text, transform=across, ha="left", va="center", fontsize=theme.SMALL_PT,
            color=theme.QUIET if row < 0 else theme.INK,
        )  # fmt: skip


def _tenfold(least: float, most: float) -> Sequence[float]:
    """Powers of ten, or finer steps if there is at most one."""
    powers = [power for power in (10.0**exponent for exponent in range(-6, 13)) if least <= power <= most]
    return powers[:: ceil(len(powers) / TENFOLDS)] if len(powers) > 1 else formatting.decades(least, most)
