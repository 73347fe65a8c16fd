"""Places labels so that they hide neither each other nor the points. `place` and `spread` are pure; `beside` and
`at_ends` measure the texts and write them. After that, the limits of the axes must not change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from torpor.plots.theme import FAINT, INK, SMALL_PT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

Line = Sequence[tuple[float, float]]
"""The corners of a line."""

FAR_PT = (6.0, 14.0, 24.0, 38.0, 55.0, 75.0)
RIGHT = ((1, 1), (1, 0), (1, -1), (0, 1), (0, -1), (-1, 1), (-1, 0), (-1, -1))
BELOW_LEFT = ((-1, -1), (-1, 0), (0, -1), (1, -1), (1, 1), (-1, 1), (0, 1), (1, 0))
"""The sides of a point, in the order of trial."""
LEADER_FROM_PT = 14.0
POINT_PT, LINE_PT, ROW_PT = 4.0, 2.0, 12.0
HIDDEN, CROSSED, OUTSIDE, AWAY = 10.0, 2.0, 40.0, 4.0
"""Costs of a label's position: for a square point of hidden area, of covered line, and outside the plot; and for each
point of distance."""


class Spot(NamedTuple):
    """A position on the page, in points, as are all sizes here."""

    x: float
    y: float

    def around(self, half: float) -> "Box":
        return Box(self.x - half, self.y - half, self.x + half, self.y + half)


class Box(NamedTuple):
    left: float
    low: float
    right: float
    high: float

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.high - self.low)

    def common(self, other: "Box") -> float:
        """The area of the intersection."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        tall = min(self.high, other.high) - max(self.low, other.low)
        return wide * tall if wide > 0 and tall > 0 else 0.0

    def distance(self, spot: Spot) -> float:
        wide = max(self.left - spot.x, spot.x - self.right, 0.0)
        tall = max(self.low - spot.y, spot.y - self.high, 0.0)
        return float((wide**2 + tall**2) ** 0.5)


@dataclass(frozen=True)
class LabelArea:
    """The area for labels: within the bounds, not over the `taken` boxes, and off the `lines` if that is cheap."""

    bounds: Box
    taken: Sequence[Box] = ()
    lines: Sequence[Box] = ()

    def cost(self, box: Box, spot: Spot) -> float:
        hidden = sum(box.common(other) for other in self.taken)
        crossed = sum(box.common(other) for other in self.lines)
        outside = box.area - box.common(self.bounds)
        return hidden * HIDDEN + crossed * CROSSED + outside * OUTSIDE + box.distance(spot) * AWAY


@dataclass(frozen=True)
class Label:
    """A text for a position in the units of the axes."""

    text: str
    x: float
    y: float
    colour: str = INK


def place(
    spots: Sequence[Spot], sizes: Sequence[Spot], ground: LabelArea, sides: Sequence[tuple[int, int]] = RIGHT
) -> list[Box]:
    """A box for each size beside its spot, at the least cost, one after another. Earlier boxes count as taken."""
    placed: list[Box] = []
    for spot, size in zip(spots, sizes, strict=True):
        now = replace(ground, taken=[*ground.taken, *placed])
        costs = {box: now.cost(box, spot) for box in _choices(spot, size, sides)}
        placed.append(min(costs, key=costs.__getitem__))
    return placed


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions in the order of the wanted ones, at least a gap apart. Runs that are too close are centred on the mean
    of their wanted positions."""
    runs: list[list[int]] = []
    for index in sorted(range(len(wanted)), key=wanted.__getitem__):
        runs.append([index])
        while len(runs) > 1 and _start(runs[-1], wanted, gap) < _end(runs[-2], wanted, gap) + gap:
            runs[-2:] = [runs[-2] + runs[-1]]
    found = {index: _start(run, wanted, gap) + gap * turn for run in runs for turn, index in enumerate(run)}
    return [found[index] for index in range(len(wanted))]


def beside(
    axes: "Axes",
    labels: Sequence[Label],
    points: Iterable[tuple[float, float]] = (),
    lines: Iterable[Line] = (),
    sides: Sequence[tuple[int, int]] = RIGHT,
) -> None:
    """Write the labels beside their positions, with a thin line to distant ones. They hide no text of the axes, none of
    the `points`, and little of the `lines`; both are in the units of the axes."""
    pixels = settle(axes)
    spots = [spot_pt(axes, label.x, label.y) for label in labels]
    taken = [spot.around(POINT_PT) for spot in (*spots, *(spot_pt(axes, x, y) for x, y in points))]
    taken += [_box(text, pixels) for text in axes.texts]
    crossed = [spot.around(LINE_PT) for line in lines for spot in _along([spot_pt(axes, x, y) for x, y in line])]
    ground = LabelArea(_box(axes, pixels), taken, crossed)
    boxes = place(spots, [_size(axes, label, pixels) for label in labels], ground, sides)
    for label, spot, box in zip(labels, spots, boxes, strict=True):
        _write(axes, label, (box.left - spot.x, box.low - spot.y), leader=box.distance(spot) > LEADER_FROM_PT)


def at_ends(axes: "Axes", labels: Sequence[Label]) -> None:
    """Write the labels of curves to the right of the axes, each with a thin line to its curve's end."""
    pixels = settle(axes)
    frame = _box(axes, pixels)
    rows = spread([spot_pt(axes, label.x, label.y).y for label in labels], ROW_PT)
    for label, row in zip(labels, rows, strict=True):
        line = {"arrowstyle": "-", "color": label.colour, "linewidth": 0.7, "alpha": 0.6, "shrinkA": 1, "shrinkB": 0}
        axes.annotate(
            label.text, (label.x, label.y), xytext=(1.02, (row - frame.low) / (frame.high - frame.low)),
            textcoords="axes fraction", ha="left", va="center", fontsize=SMALL_PT, color=label.colour,
            arrowprops=line,
        )  # fmt: skip


def settle(axes: "Axes") -> float:
    """Lay the figure out, so that it can be measured. Returns the pixels per point."""
    figure = _figure(axes)
    figure.draw_without_rendering()
    return figure.dpi / 72


def spot_pt(axes: "Axes", x: float, y: float) -> Spot:
    """The position on the page of a point of the axes, in the present layout."""
    across, up = axes.transData.transform((x, y)) / (_figure(axes).dpi / 72)
    return Spot(float(across), float(up))


# -- inside ------------------------------------------------------------------------------------------------------------
def _figure(axes: "Axes") -> "Figure":
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes were removed from their figure")
    return figure


def _choices(spot: Spot, size: Spot, sides: Sequence[tuple[int, int]]) -> list[Box]:
    found = []
    for far in FAR_PT:
        for right, up in sides:
            reach = far * 0.7 if right and up else far
            left = spot.x + right * reach + (right - 1) * size.x / 2
            low = spot.y + up * reach + (up - 1) * size.y / 2
            found.append(Box(left, low, left + size.x, low + size.y))
    return found


def _start(run: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return sum(wanted[index] for index in run) / len(run) - gap * (len(run) - 1) / 2


def _end(run: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _start(run, wanted, gap) + gap * (len(run) - 1)


def _along(corners: Sequence[Spot]) -> list[Spot]:
    """Spots along the lines between the corners, one box width apart."""
    found: list[Spot] = []
    for start, end in pairwise(corners):
        wide, tall = end.x - start.x, end.y - start.y
        parts = ceil(max(abs(wide), abs(tall)) / (2 * LINE_PT))
        found += [Spot(start.x + wide * part / parts, start.y + tall * part / parts) for part in range(parts)]
    return found


def _size(axes: "Axes", label: Label, pixels: float) -> Spot:
    written = _write(axes, label, (0, 0), leader=False)
    box = _box(written, pixels)
    written.remove()
    return Spot(box.right - box.left, box.high - box.low)


def _box(artist: "Artist", pixels: float) -> Box:
    extent = artist.get_window_extent()
    return Box(extent.x0 / pixels, extent.y0 / pixels, extent.x1 / pixels, extent.y1 / pixels)


def _write(axes: "Axes", label: Label, offset_pt: tuple[float, float], leader: bool) -> "Annotation":
    line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 3}
    written = axes.annotate(
        label.text,
        (label.x, label.y),
        xytext=offset_pt,
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=SMALL_PT,
        color=label.colour,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        arrowprops=line if leader else None,
        zorder=5,
        parse_math=False,
    )
    written.set_in_layout(False)
    return written
