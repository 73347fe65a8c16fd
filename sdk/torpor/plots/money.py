"""What serving costs against what it is worth: dollars against the slow requests, and a saving step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from torpor.plots import amounts, given, labels, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOM = 0.3
"""What a label beside a bar needs, against the length of all bars."""
NAME_LETTERS, TENFOLDS = 30, 6
NO_COLD: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class CostPoint:
    """One way to serve the same requests: dollars a month, and the seconds within which 99 of 100 were answered. None
    where it is not known. `kind` is what it has in common with others, which gives the colour."""

    label: str
    usd: float | None
    p99_s: float | None
    kind: str = ""
    sold_by_aws: bool = True


def pareto(points: Sequence[CostPoint]) -> list[CostPoint]:
    """Those than which no other is both cheaper and faster, or as good in one and better in the other; the fastest
    first. A point of which something is not known is none of them."""
    found: list[CostPoint] = []
    least_usd, at_s = inf, inf
    for usd, p99_s, point in sorted(_known(points), key=lambda known: (known[1], known[0])):
        if usd < least_usd or (usd == least_usd and p99_s == at_s):
            found.append(point)
            least_usd, at_s = usd, p99_s
    return found


def dollars_against_p99(points: Sequence[CostPoint], slo_s: float | None = None, note: str = "") -> "Figure":
    """Every way as a point, and the line of those worth choosing from. Points of which something is not known are left
    out, and named in the strip. Raises ValueError if none is left, or a p99 is not above 0."""
    given.some("points", points)
    known = _known(points)
    if not known:
        raise ValueError("points has none of which both usd and p99_s are known")
    for usd, p99_s, point in known:
        given.amount(f"usd of {point.label!r}", usd)
        given.positive(f"p99_s of {point.label!r}", p99_s)
    limits = [] if slo_s is None else [given.positive("slo_s", slo_s)]
    unknown = [point.label for point in points if not given.known(point.usd, point.p99_s)]
    left_out = given.told("Not drawn, as not known", unknown)
    figure = look.sheet("Dollars a month against the slowest 1% of requests", look.strip(note, left_out))
    axes = figure.add_subplot()
    axes.set_ylabel("Dollars a month")
    look.from_zero_or_by_factors(axes, "y", [usd for usd, _, _ in known], amounts.decades, amounts.dollars)
    if axes.get_yscale() == "log":
        axes.set_ylim(bottom=axes.get_ylim()[0] / 2)  # the labels are below their points
    axes.set_xscale("log")
    axes.set_xlim(look.span([*(p99_s for _, p99_s, _ in known), *limits], pad=2))
    axes.set_xlabel("p99 latency: 99 of 100 requests are answered within")
    look.mark(axes.xaxis, amounts.times, amounts.seconds)
    look.dress(axes)
    for limit_s in limits:
        look.limit(axes, limit_s, f"SLO {amounts.seconds(limit_s)}")
    _points(axes, known, pareto(points))
    return figure


def waterfall(steps: Sequence[tuple[str, float]], note: str = "", cold: Mapping[str, float] = NO_COLD) -> "Figure":
    """Dollars a month, from one step to the next, on a scale of factors: a bar is as long as the factor that its step
    saves. `cold` has the share of cold requests of some steps. Raises ValueError for what is not above $0: it has no
    place on such a scale."""
    given.some("steps", steps)
    usd = [given.positive(f"steps: the amount of {label!r}", amount) for label, amount in steps]
    names = [label for label, _ in steps]
    if unknown := [label for label in cold if label not in names]:
        raise ValueError(f"cold has a share of {unknown[0]!r}, which is none of the steps")
    for label, share in cold.items():
        given.share(f"cold of {label!r}", share)
    title = "Dollars a month, step by step: a bar is as long as the factor it saves"
    figure = look.sheet(title, note, height_in=1.7 + 0.62 * len(steps))
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
    axes.set_xlabel("Dollars a month, on a scale of factors")
    look.mark(axes.xaxis, _tenfold, amounts.dollars)
    look.dress(axes, grid="x")
    axes.tick_params(axis="y", length=0, labelsize=look.TEXT_PT)
    axes.spines["left"].set_visible(False)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _known(points: Sequence[CostPoint]) -> list[tuple[float, float, CostPoint]]:
    return [
        (point.usd, point.p99_s, point)
        for point in points
        if point.usd is not None and point.p99_s is not None and given.known(point.usd, point.p99_s)
    ]


def _named(best: Sequence[CostPoint]) -> list[tuple[str, float, float]]:
    """A label for each place, with its dollars and seconds: those that lie on one another share one, with the name that
    is the shortest, and the number of the others."""
    places: dict[tuple[str, str], list[tuple[float, float, CostPoint]]] = {}
    for usd, p99_s, point in _known(best):
        places.setdefault((amounts.dollars(usd), amounts.seconds(p99_s)), []).append((usd, p99_s, point))
    found = []
    for same in places.values():
        usd, p99_s, first = min(same, key=lambda one: (not one[2].sold_by_aws, len(one[2].label)))
        others = f"\nand {len(same) - 1} more that do the same" if len(same) > 1 else ""
        found.append((f"{first.label}{others}", usd, p99_s))
    return found


def _points(axes: "Axes", known: Sequence[tuple[float, float, CostPoint]], best: Sequence[CostPoint]) -> None:
    kinds = look.styles(point.kind for _, _, point in known)
    chosen = {id(point) for point in best}
    line = _staircase([(p99_s, usd) for usd, p99_s, _ in _known(best)], axes.get_xlim()[1], axes.get_ylim()[1])
    axes.plot(*zip(*line, strict=True), color=look.FAINT, linewidth=1.4, zorder=2)
    for usd, p99_s, point in known:
        colour, best_one = kinds[point.kind].colour, id(point) in chosen
        axes.plot(
            p99_s, usd, linestyle="", marker="o" if point.sold_by_aws else "D", markersize=8 if best_one else 6,
            markeredgecolor=colour, markerfacecolor=colour if point.sold_by_aws else "white", markeredgewidth=1.8,
            alpha=1 if best_one else 0.4, zorder=3, clip_on=False,
        )  # fmt: skip
    _legend(axes, known, kinds)
    named = [labels.Label(f"{told}\n{amounts.dollars(usd)}", p99_s, usd) for told, usd, p99_s in _named(best)]
    everybody = [(p99_s, usd) for usd, p99_s, _ in known]
    labels.beside(axes, named, everybody, [line], labels.BELOW_LEFT)


def _staircase(corners: labels.Line, most_x: float, most_y: float) -> labels.Line:
    """From the top down to the first corner, from corner to corner, across before down, and on to the right."""
    found = [(corners[0][0], most_y)]
    for x, y in corners:
        found += [(x, found[-1][1]), (x, y)]
    return [*found, (most_x, corners[-1][1])]


def _legend(axes: "Axes", known: Sequence[tuple[float, float, CostPoint]], kinds: Mapping[str, look.Style]) -> None:
    """Of the kinds, where there are several; and of what the shape and the line mean."""
    for kind, style in kinds.items() if len(kinds) > 1 else ():
        axes.plot([], [], linestyle="", marker="o", color=style.colour, label=kind or "other")
    if not all(point.sold_by_aws for _, _, point in known):
        axes.plot(
            [], [], linestyle="", marker="D", markeredgecolor=look.INK, markerfacecolor="white", label="not sold by AWS"
        )
    axes.plot([], [], color=look.FAINT, linewidth=1.4, label="nothing is cheaper and faster")
    look.legend(axes, columns=3)


def _step(axes: "Axes", row: int, before: float, after: float) -> None:
    """A bar from the amount before to the one after; the first row has only its amount. The dollars are beyond the
    bar's end, the factor is behind its beginning."""
    saved = after <= before
    colour = look.BLUE if saved else look.VERMILLION
    if row:
        axes.plot([before, before], [row - 0.7, row + 0.3], color=look.FAINT, linewidth=0.8, zorder=1)
        axes.barh(row, abs(before - after), left=min(before, after), height=0.6, color=colour, alpha=0.3, zorder=2)
    axes.plot([after, after], [row - 0.3, row + 0.3], color=colour, linewidth=3, solid_capstyle="butt", zorder=3)
    _aside(axes, row, after, amounts.dollars(after), left=saved and row > 0, fontsize=look.TEXT_PT, fontweight="bold")
    if row and after < before:
        _aside(axes, row, before, f"÷ {amounts.plain(before / after)}", left=False, color=look.QUIET)
    elif row and after > before:
        _aside(axes, row, before, f"x {amounts.plain(after / before)}", left=True, color=look.QUIET)


def _aside(axes: "Axes", row: int, usd: float, text: str, left: bool, **more: Any) -> None:
    style = {"fontsize": look.SMALL_PT, "color": look.INK, "va": "center", "ha": "right" if left else "left", **more}
    axes.annotate(text, (usd, row), xytext=(-6 if left else 6, 0), textcoords="offset points", **style)


def _cold_column(axes: "Axes", shares: Sequence[float | None]) -> None:
    across = axes.get_yaxis_transform()
    said = ["not known" if share is None else amounts.percent(share) for share in shares]
    for row, text in enumerate(["cold requests", *said], start=-1):
        axes.text(
            1.02, max(row, -0.75), text, transform=across, ha="left", va="center", fontsize=look.SMALL_PT,
            color=look.QUIET if row < 0 else look.INK,
        )  # fmt: skip


def _tenfold(least: float, most: float) -> Sequence[float]:
    """Powers of ten, or finer where there is not more than one."""
    powers = [power for power in (10.0**exponent for exponent in range(-6, 13)) if least <= power <= most]
    return powers[:: ceil(len(powers) / TENFOLDS)] if len(powers) > 1 else amounts.decades(least, most)
