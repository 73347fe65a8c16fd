"""Plots of keep-alives and eviction policies: the cold requests they leave, and the hours or loads they cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torpor.plots import checks, formatting, labels, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TTL = "ttl"
"""The kind of keep-alives with a fixed time after the last request, which are drawn as one sweep."""
OFFLINE = "offline reference"
APART_PT = 28.0


@dataclass(frozen=True)
class KeepAlivePoint:
    """One keep-alive: the share of requests that were cold, and the model-hours (or instance-hours) kept warm."""

    label: str
    kind: str
    cold_share: float
    warm_hours: float


@dataclass(frozen=True)
class PolicyRow:
    """One eviction policy. `load_s` is the sum of all loading times. An `offline` policy knows the trace in advance."""

    policy: str
    hit_ratio: float
    load_s: float
    offline: bool = False


def keep_alive_frontier(points: Sequence[KeepAlivePoint], note: str = "") -> "Figure":
    """Cold requests against the hours kept warm. Points of the kind "ttl" are joined as one sweep; another point below
    that line is better than a fixed time. Raises ValueError, MissingExtra."""
    checks.some("points", points)
    for point in points:
        checks.share(f"cold_share of {point.label!r}", point.cold_share)
        checks.amount(f"warm_hours of {point.label!r}", point.warm_hours)
    figure = theme.sheet("Cold requests against hours kept warm", note)
    axes = figure.add_subplot()
    axes.set(xlabel="Hours kept warm", ylabel="Share of requests that are cold")
    theme.from_zero_or_by_factors(
        axes, "x", [point.warm_hours for point in points], formatting.decades, formatting.plain
    )
    axes.set_ylim(0, max(point.cold_share for point in points) * 1.15 or 1)
    axes.yaxis.set_major_formatter(lambda share, _: formatting.percent(share))
    theme.dress(axes)
    sweep = sorted((point.warm_hours, point.cold_share) for point in points if point.kind == TTL)
    if sweep:
        axes.plot(*zip(*sweep, strict=True), color=theme.styles([TTL])[TTL].colour, linewidth=2, alpha=0.5, zorder=2)
    styles = theme.styles([TTL, *(point.kind for point in points)])
    for each in points:
        axes.plot(
            each.warm_hours, each.cold_share, marker="o" if each.kind == TTL else "D", markersize=7,
            color=styles[each.kind].colour, zorder=3, clip_on=False,
        )  # fmt: skip
    named = [labels.Label(each.label, each.warm_hours, each.cold_share, styles[each.kind].colour) for each in points]
    alone = [label for label, each in zip(named, points, strict=True) if each.kind != TTL]
    swept = [label for label, each in zip(named, points, strict=True) if each.kind == TTL]
    labels.beside(axes, [*alone, *_not_crowded(axes, swept)], points=sweep, lines=[sweep])
    return figure


def policies(rows: Sequence[PolicyRow], note: str = "") -> "Figure":
    """Bars of cold requests and loading time for each policy, the best first; offline policies are hatched. Raises
    ValueError, MissingExtra."""
    checks.some("rows", rows)
    for row in rows:
        checks.share(f"hit_ratio of {row.policy!r}", row.hit_ratio)
        checks.amount(f"load_s of {row.policy!r}", row.load_s)
    best = sorted(rows, key=lambda row: (-row.hit_ratio, row.load_s))
    title = "Cold requests and loading time, by eviction policy"
    figure = theme.sheet(title, note, height_in=1.7 + 0.4 * len(best))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _bars(left, best, [1 - row.hit_ratio for row in best], formatting.percent)
    _bars(right, best, [row.load_s for row in best], formatting.seconds)
    names = [f"{row.policy} ({OFFLINE})" if row.offline else row.policy for row in best]
    left.set_yticks(range(len(best)), labels=names)
    left.set_ylim(len(best) - 0.4, -0.6)
    left.set_xlabel("Share of requests that are cold")
    right.set_xlabel("Total loading time")
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _not_crowded(axes: "Axes", sweep: Sequence[labels.Label]) -> list[labels.Label]:
    """The labels of a sweep that are far enough from the one before."""
    labels.settle(axes)
    found: list[labels.Label] = []
    for label in sorted(sweep, key=lambda each: (each.x, -each.y)):
        spot = labels.spot_pt(axes, label.x, label.y)
        if not found or spot.around(0).distance(labels.spot_pt(axes, found[-1].x, found[-1].y)) >= APART_PT:
            found.append(label)
    return found


def _bars(axes: "Axes", rows: Sequence[PolicyRow], lengths: Sequence[float], text: formatting.Format) -> None:
    """Draw bars with their amounts beside them, so that the axis needs no ticks."""
    bars = axes.barh(range(len(rows)), lengths, height=0.66)
    for row, bar in zip(rows, bars, strict=True):
        if row.offline:
            bar.set(facecolor="white", edgecolor=theme.FAINT, hatch="////", linewidth=1)
        else:
            bar.set_facecolor(theme.BLUE)
    axes.bar_label(bars, [text(length) for length in lengths], padding=4, fontsize=theme.SMALL_PT, color=theme.INK)
    axes.set_xlim(0, max(lengths) * 1.22 or 1)
    theme.dress(axes, grid="neither")
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelsize=theme.TEXT_PT)
    axes.spines["bottom"].set_visible(False)
