"""Maps the cheapest way to serve, by the rate of requests and the time of a request."""

from collections.abc import Mapping
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING

from torpor.plots import checks, formatting, labels, theme

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Grid = NDArray[np.float64]
    Choice = NDArray[np.int_]
    Mask = NDArray[np.bool_]

FINE = (240, 400)
"""Rows and columns of the drawn grid: fine enough for smooth borders."""
SHADE = 0.32
LABEL_LETTERS = (24, 16, 11)
MARGIN = 2
"""The distance of a label from a border, in rows and columns."""
LEAST_USD = 1e-12


def break_even_map(
    rates_per_s: "ArrayLike", service_s: "ArrayLike", usd: Mapping[str, "ArrayLike"], note: str = ""
) -> "Figure":
    """`usd` has a grid of costs for each way: a row for each of `service_s`, a column for each of `rates_per_s`, both
    ascending. NaN: the way cannot serve, or its price is not known. Between the points of the grid, the logarithm of a
    cost is interpolated linearly in both logarithms. The footer names the ways that are nowhere the cheapest. Raises
    ValueError, MissingExtra."""
    rates, services = _scale("rates_per_s", rates_per_s), _scale("service_s", service_s)
    checks.some("usd", usd)
    costs = [_grid(way, grid, (len(services), len(rates))) for way, grid in usd.items()]
    fine_rates, fine_services, cheapest = _cheapest(rates, services, costs)
    shown = [(index, way) for index, way in enumerate(usd) if (cheapest == index).any()]
    figure = theme.sheet(
        "The cheapest way to serve, by the rate of requests and the time of each",
        theme.strip(
            note,
            checks.listing("Nowhere the cheapest", [way for index, way in enumerate(usd) if (index, way) not in shown]),
            "Blank: no way to serve is known." if (cheapest < 0).any() else "",
        ),
    )
    axes = figure.add_subplot()
    axes.set(xscale="log", yscale="log", xlim=(rates[0], rates[-1]), ylim=(services[0], services[-1]))
    axes.set(xlabel="Requests per second", ylabel="Time to serve one request")
    theme.mark(axes.xaxis, formatting.decades, formatting.plain)
    theme.mark(axes.yaxis, formatting.times, formatting.seconds)
    theme.dress(axes, grid="neither")
    labels.settle(axes)
    styles, listed = theme.styles(usd), []
    for index, way in shown:
        inside = cheapest == index
        _region(axes, fine_rates, fine_services, inside, styles[way].colour)
        if not _name(axes, way, inside, fine_rates, fine_services):
            listed.append(way)
    for way in listed:
        axes.plot([], [], linestyle="", marker="s", markersize=9, color=styles[way].colour, alpha=SHADE, label=way)
    if listed:
        theme.legend(axes, columns=2)
    return figure


# -- inside ------------------------------------------------------------------------------------------------------------
def _scale(name: str, values: "ArrayLike") -> "Grid":
    scale = checks.ascending(name, values)
    checks.positive(f"{name}: the first", scale[0])
    if len(scale) < 2 or (scale[1:] == scale[:-1]).any():
        raise ValueError(f"{name} has {len(scale)} values: a map needs at least two, all of them different")
    return scale


def _grid(way: str, grid: "ArrayLike", shape: tuple[int, int]) -> "Grid":
    import numpy as np

    array: Grid = np.asarray(grid, dtype=float)
    if array.shape != shape:
        raise ValueError(f"usd[{way!r}] has the shape {array.shape}: it needs {shape}, service times by rates")
    if (array < 0).any():
        raise ValueError(f"usd[{way!r}] contains a cost below 0")
    return array


def _cheapest(rates: "Grid", services: "Grid", costs: "list[Grid]") -> "tuple[Grid, Grid, Choice]":
    """The fine grid, and the number of the cheapest way at each point: the first of equals, and -1 if none is known."""
    import numpy as np

    fine_services = np.geomspace(services[0], services[-1], FINE[0])
    fine_rates = np.geomspace(rates[0], rates[-1], FINE[1])
    logs = np.log(np.clip(np.where(np.isfinite(costs), costs, np.nan), LEAST_USD, None))
    logs = _between(logs, np.log(services), np.log(fine_services))
    logs = _between(logs.swapaxes(1, 2), np.log(rates), np.log(fine_rates)).swapaxes(1, 2)
    logs = np.where(np.isnan(logs), np.inf, logs)
    chosen = (logs + np.arange(len(costs))[:, None, None] * 1e-9).argmin(axis=0)
    return fine_rates, fine_services, np.where(np.isinf(logs).all(axis=0), -1, chosen)


def _between(values: "Grid", known: "Grid", targets: "Grid") -> "Grid":
    """Linear interpolation along the middle one of three axes."""
    import numpy as np

    before = np.clip(np.searchsorted(known, targets, side="right") - 1, 0, len(known) - 2)
    part = ((targets - known[before]) / (known[before + 1] - known[before]))[:, None]
    found: Grid = values[:, before] * (1 - part) + values[:, before + 1] * part
    return found


def _region(axes: "Axes", rates: "Grid", services: "Grid", inside: "Mask", colour: str) -> None:
    import numpy as np
    from matplotlib.colors import ListedColormap

    axes.pcolormesh(
        rates, services, np.ma.masked_equal(inside.astype(float), 0), shading="nearest", vmin=0, vmax=1,
        cmap=ListedColormap([colour]), alpha=SHADE, rasterized=True,
    )  # fmt: skip
    if not inside.all():
        axes.contour(rates, services, inside.astype(float), levels=[0.5], colors=[theme.INK], linewidths=1)


def _name(axes: "Axes", way: str, inside: "Mask", rates: "Grid", services: "Grid") -> bool:
    """Write the way's name into its region, in as few lines as possible. Returns False if there is no room."""
    frame = axes.get_window_extent()
    for letters in LABEL_LETTERS:
        text = axes.text(
            rates[0], services[0], "\n".join(wrap(way, letters, break_on_hyphens=False)),
            ha="center", va="center", fontsize=theme.TEXT_PT, color=theme.INK, parse_math=False,
        )  # fmt: skip
        text.set_in_layout(False)
        extent = text.get_window_extent()
        rows = ceil(extent.height / frame.height * len(services)) + 2 * MARGIN
        columns = ceil(extent.width / frame.width * len(rates)) + 2 * MARGIN
        if (middle := _room(inside, rows, columns)) is not None:
            text.set_position((rates[middle[1]], services[middle[0]]))
            return True
        text.remove()
    return False


def _room(inside: "Mask", rows: int, columns: int) -> tuple[int, int] | None:
    """The centre, as row and column, of a rectangle of this size inside the region: of all such rectangles the most
    central one. None if there is none."""
    import numpy as np

    sums = np.pad(inside.astype(int).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    if rows > inside.shape[0] or columns > inside.shape[1]:
        return None
    counts = sums[rows:, columns:] - sums[:-rows, columns:] - sums[rows:, :-columns] + sums[:-rows, :-columns]
    lows, lefts = np.nonzero(counts == rows * columns)
    if not len(lows):
        return None
    nearest = np.argmin((lows - lows.mean()) ** 2 + (lefts - lefts.mean()) ** 2)
    return int(lows[nearest]) + rows // 2, int(lefts[nearest]) + columns // 2
