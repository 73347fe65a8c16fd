"""How long requests take, down to the slowest."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torpor.plots import amounts, given, look

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
    """For each name the seconds, ascending, and the share of requests that were answered within them. The share's axis
    gives every further nine the same room, up to 99.99%, since it is in the slowest that cold starts show."""
    given.some("latencies", latencies)
    curves = {name: _curve(name, *both) for name, both in latencies.items()}
    limits = [] if slo_s is None else [given.positive("slo_s", slo_s)]
    figure = look.sheet("Share of requests answered in time", note)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(look.span([curve[0][end] for curve in curves.values() for end in (0, -1)] + limits))
    axes.set_yscale("function", functions=(_nines, _share))
    axes.set_ylim(0, LAST)
    axes.set_yticks(SHARES, labels=[amounts.percent(share) for share in SHARES])
    axes.set_yticks([], minor=True)
    axes.set(xlabel="Latency", ylabel="Share of requests answered within it")
    look.mark(axes.xaxis, amounts.times, amounts.seconds)
    look.dress(axes)
    for limit_s in limits:
        look.limit(axes, limit_s, f"SLO {amounts.seconds(limit_s)}")
    styles = look.styles(curves)
    for name, (seconds, shares) in curves.items():
        _draw(axes, name, seconds, shares, styles[name])
    look.legend(axes, columns=1)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _curve(name: str, seconds: "ArrayLike", shares: "ArrayLike") -> "tuple[given.Column, given.Column]":
    found = given.ascending(f"latencies[{name!r}]: the seconds", seconds)
    given.positive(f"latencies[{name!r}]: the first of the seconds", found[0])
    reached = given.ascending(f"latencies[{name!r}]: the shares", shares)
    given.same_length(len(found), f"latencies[{name!r}]: the shares", reached)
    for end in (0, -1):
        given.share(f"latencies[{name!r}]: a share", reached[end])
    return found, reached


def _draw(axes: "Axes", name: str, seconds: "given.Column", shares: "given.Column", style: look.Style) -> None:
    """A step up at each of the seconds, and a dot where the marked shares are reached."""
    reached = {
        p: float(seconds[place]) for p, share in MARKED.items() if (place := shares.searchsorted(share)) < len(shares)
    }
    told = ", ".join(f"{p} {amounts.seconds(at_s)}" for p, at_s in reached.items())
    axes.step(
        [seconds[0], *seconds], [0, *shares], where="post", color=style.colour, linestyle=style.dashes, linewidth=2,
        zorder=3, label=f"{name}: {told}" if told else name,
    )  # fmt: skip
    for p, at_s in reached.items():
        axes.plot(at_s, MARKED[p], marker="o", markersize=6, color=style.colour, zorder=4, clip_on=False)


def _nines(share: "given.Column") -> "given.Column":
    """0 for none, 1 for 90%, 2 for 99%. What is nearly all counts as a little more than the axis has."""
    import numpy as np

    return -np.log10(1 - np.clip(share, 0, 1 - (1 - LAST) / 10))


def _share(nines: "given.Column") -> "given.Column":
    found: given.Column = 1 - 10.0**-nines
    return found
