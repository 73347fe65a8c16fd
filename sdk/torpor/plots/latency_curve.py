"""Plots the distribution of latencies, up to the slowest requests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torpor.plots import checks, formatting, theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

SHARES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
LAST = 0.9999
MARKED = {"p50": 0.5, "p99": 0.99}


def latency_cdf(
    latencies: "Mapping[str, tuple[ArrayLike, ArrayLike]]", slo_s: float | None = None, note: str = ""
) -> "Figure":
    """For each name, `latencies` has ascending seconds, and the share of requests answered within each. The axis of
    shares gives each further nine the same room, up to 99.99%, since cold starts are among the slowest requests. Raises
    ValueError, MissingExtra."""
    checks.some("latencies", latencies)
    curves = {name: _curve(name, *both) for name, both in latencies.items()}
    limits = [] if slo_s is None else [checks.positive("slo_s", slo_s)]
    figure = theme.sheet("Share of requests answered in time", note)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(theme.span([curve[0][end] for curve in curves.values() for end in (0, -1)] + limits))
    axes.set_yscale("function", functions=(_nines, _share))
    axes.set_ylim(0, LAST)
    axes.set_yticks(SHARES, labels=[formatting.percent(share) for share in SHARES])
    axes.set_yticks([], minor=True)
    axes.set(xlabel="Latency", ylabel="Share of requests answered within it")
    theme.mark(axes.xaxis, formatting.times, formatting.seconds)
    theme.dress(axes)
    for limit_s in limits:
        theme.limit(axes, limit_s, f"SLO {formatting.seconds(limit_s)}")
    styles = theme.styles(curves)
    for name, (seconds, shares) in curves.items():
        _draw(axes, name, seconds, shares, styles[name])
    theme.legend(axes, columns=1)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _curve(name: str, seconds: "ArrayLike", shares: "ArrayLike") -> "tuple[checks.Column, checks.Column]":
    found = checks.ascending(f"latencies[{name!r}]: the seconds", seconds)
    checks.positive(f"latencies[{name!r}]: the first of the seconds", found[0])
    reached = checks.ascending(f"latencies[{name!r}]: the shares", shares)
    checks.same_length(len(found), f"latencies[{name!r}]: the shares", reached)
    for end in (0, -1):
        checks.share(f"latencies[{name!r}]: a share", reached[end])
    return found, reached


def _draw(axes: "Axes", name: str, seconds: "checks.Column", shares: "checks.Column", style: theme.Style) -> None:
    """Draw the curve in steps, with a dot at each marked share."""
    reached = {
        p: float(seconds[place]) for p, share in MARKED.items() if (place := shares.searchsorted(share)) < len(shares)
    }
    marked = ", ".join(f"{p} {formatting.seconds(at_s)}" for p, at_s in reached.items())
    axes.step(
        [seconds[0], *seconds], [0, *shares], where="post", color=style.colour, linestyle=style.dashes, linewidth=2,
        zorder=3, label=f"{name}: {marked}" if marked else name,
    )  # fmt: skip
    for p, at_s in reached.items():
        axes.plot(at_s, MARKED[p], marker="o", markersize=6, color=style.colour, zorder=4, clip_on=False)


def _nines(share: "checks.Column") -> "checks.Column":
    """0 for none, 1 for 90%, 2 for 99%. Shares beyond the axis count as a little more than its end."""
    import numpy as np

    return -np.log10(1 - np.clip(share, 0, 1 - (1 - LAST) / 10))


def _share(nines: "checks.Column") -> "checks.Column":
    found: checks.Column = 1 - 10.0**-nines
    return found
