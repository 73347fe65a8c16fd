"""Draws the rooms of the four packages and the arrows between them, from the imports. `make architecture` writes both.

The drawing is docs/architecture.svg, and the tables of rooms stand in docs/architecture.md. A room is a folder at the
top of a package. An arrow leads from a room to one that it imports; where a longer way leads there too, it is left out.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from statistics import mean

from tests.helpers.source_trees import FOLDERS, ROOT, modules, parsed
from tests.test_arrows import needed_by, room

PAGE = ROOT / "docs" / "architecture.md"
DRAWING = ROOT / "docs" / "architecture.svg"
TABLE = re.compile(r"(<!-- rooms: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

WIDTH, MARGIN, PADDING = 1120, 20, 24
BOX_WIDTH, BOX_HEIGHT, LEVEL_HEIGHT = 132, 34, 84
BAND_HEAD, BAND_GAP = 62, 74
FILLS = {"torpor": "#fff4e0", "torpor_endpoint": "#e6f0fb", "torpor_account": "#f3ecfa", "torpor_container": "#e8f5e9"}
STYLE = """
text { font-family: Helvetica, Arial, sans-serif; fill: #222 }
.package { font-size: 18px; font-weight: bold }
.room { font-size: 14px; font-weight: bold }
.small { font-size: 11.5px; fill: #555 }
.box { fill: #fff; stroke: #555 }
.band { stroke: #aaa }
.arrow { fill: none; stroke: #777; stroke-width: 1.3 }
.wide { stroke: #444; stroke-width: 3 }
"""

Rooms = dict[str, set[str]]
"""Each room with the rooms that it imports."""


@dataclass
class Package:
    """One package: its rooms and their arrows, the modules at its top, and what it imports of other packages."""

    name: str
    rooms: Rooms = field(default_factory=dict)
    top: list[str] = field(default_factory=list)
    others: dict[str, set[str]] = field(default_factory=dict)


@cache
def packages() -> tuple[Package, ...]:
    """The packages, that which imports the others first."""
    found = {name: Package(name) for name in FOLDERS}
    known = modules()
    rooms = {module: room(module) for module in known}
    for module, path in sorted(known.items()):
        package = found[module.split(".")[0]]
        here = rooms[module]
        if here:
            package.rooms.setdefault(here, set())
        elif not path.name.startswith("__"):
            package.top.append(path.stem)
        for target in needed_by(path):
            if target in known:
                _add_arrow(package, here, target, rooms[target])
    return tuple(found[name] for name in reversed(FOLDERS))


def _add_arrow(package: Package, here: str, target: str, there: str) -> None:
    owner = target.split(".")[0]
    if owner != package.name:
        package.others.setdefault(owner, set()).add(there or target.split(".")[1])
    elif here and there and here != there:
        package.rooms[here].add(there)


def without_shortcuts(arrows: Mapping[str, Collection[str]]) -> Rooms:
    """The arrows, without those whose end a longer way reaches too."""

    def reached(start: str) -> set[str]:
        return {start}.union(*(reached(there) for there in arrows[start]))

    return {
        here: {there for there in ends if not any(there in reached(other) for other in ends if other != there)}
        for here, ends in arrows.items()
    }


def levels(arrows: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The rooms by level: a room stands above all that it imports."""
    depth: dict[str, int] = {}
    for here in TopologicalSorter(arrows).static_order():
        depth[here] = max((depth[there] + 1 for there in arrows[here]), default=0)
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for here in sorted(depth):
        rows[-1 - depth[here]].append(here)
    return rows


@dataclass
class Placed:
    """The places of one package's rooms: for each its level and column, and for each arrow the points between."""

    rows: list[list[str]]
    bends: dict[tuple[str, str], list[str]]

    @classmethod
    def of(cls, arrows: Rooms) -> "Placed":
        """Puts rooms on levels; an arrow that passes a level has a free column there. Then orders each level."""
        rows = levels(arrows)
        level = {name: number for number, row in enumerate(rows) for name in row}
        bends: dict[tuple[str, str], list[str]] = {}
        links: list[tuple[str, str]] = []
        for here in sorted(arrows):
            for there in sorted(arrows[here]):
                way = [f"{here}>{there}:{number}" for number in range(level[here] + 1, level[there])]
                for name, number in zip(way, range(level[here] + 1, level[there]), strict=True):
                    rows[number].append(name)
                bends[here, there] = way
                links += zip([here, *way], [*way, there], strict=True)
        placed = cls(rows, bends)
        placed._untangle(links)
        return placed

    def _untangle(self, links: list[tuple[str, str]]) -> None:
        """Orders each level by the middle of what it is linked to above and below, a few times over."""
        linked = defaultdict[str, list[str]](list)
        for one, other in links:
            linked[one].append(other)
            linked[other].append(one)
        for _ in range(12):
            for row in self.rows:
                places = {name: (place + 0.5) / len(names) for names in self.rows for place, name in enumerate(names)}
                middles = {name: mean([places[other] for other in linked[name] or [name]]) for name in row}
                row.sort(key=lambda name: (middles[name], name))

    def share(self, name: str) -> float:
        """How far to the right the name stands on its level, from 0 to 1."""
        row = next(row for row in self.rows if name in row)
        return (row.index(name) + 0.5) / len(row)

    def centre(self, name: str) -> tuple[float, float]:
        """The middle of the room or bend, from the band's top left corner."""
        level = next(number for number, row in enumerate(self.rows) if name in row)
        inner = WIDTH - 2 * MARGIN - 2 * PADDING
        return PADDING + self.share(name) * inner, BAND_HEAD + level * LEVEL_HEIGHT + BOX_HEIGHT / 2


def _band(package: Package, top: float) -> tuple[float, Iterator[str]]:
    """The height of a package's band, and its shapes."""
    placed = Placed.of(without_shortcuts(package.rooms))
    height = BAND_HEAD + (len(placed.rows) - 1) * LEVEL_HEIGHT + BOX_HEIGHT + PADDING
    return height, _shapes(package, placed, top, height)


def _shapes(package: Package, placed: Placed, top: float, height: float) -> Iterator[str]:
    yield (
        f'<rect class="band" x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" height="{height:g}" rx="8"'
        f' fill="{FILLS[package.name]}"/>'
    )
    yield _text(MARGIN + PADDING, top + 26, "package", package.name)
    yield _text(MARGIN + PADDING, top + 44, "small", "at its top: " + " · ".join(package.top))
    for (here, there), way in placed.bends.items():
        yield _arrow([_point(placed, name, top) for name in (here, *way, there)])
    for name in sorted(package.rooms):
        x, y = _point(placed, name, top)
        yield (
            f'<rect class="box" x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{BOX_WIDTH}"'
            f' height="{BOX_HEIGHT}" rx="5"/>'
        )
        yield _text(x, y + 5, "room", name, "middle")


def _point(placed: Placed, name: str, top: float) -> tuple[float, float]:
    x, y = placed.centre(name)
    return round(MARGIN + x, 1), round(top + y, 1)


def _arrow(points: list[tuple[float, float]]) -> str:
    """A curve from the lower side of the first box to the upper side of the last, through the free columns between."""
    half = BOX_HEIGHT / 2
    (x, y), *rest = points
    path, y = f"M{x:g} {y + half:g}", y + half
    for number, (to_x, to_y) in enumerate(rest, start=1):
        last = number == len(rest)
        end_y = to_y - half - (5 if last else 0)
        middle = (y + end_y) / 2
        path += f" C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {end_y:g}"
        if not last:
            path += f" V{to_y + half:g}"
        x, y = to_x, to_y + half
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def _text(x: float, y: float, kind: str, text: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def drawing() -> str:
    """The whole picture as SVG."""
    shapes: list[str] = []
    top = float(MARGIN)
    drawn = packages()
    for number, package in enumerate(drawn):
        height, band = _band(package, top)
        shapes += band
        top += height
        if number < len(drawn) - 1:
            shapes.append(
                f'<path class="arrow wide" d="M{MARGIN + 60} {top:g} V{top + BAND_GAP - 8:g}" marker-end="url(#head)"/>'
            )
            for line, (owner, parts) in enumerate(sorted(package.others.items(), reverse=True)):
                text = f"imports from {owner}: {' · '.join(sorted(parts))}"
                shapes.append(_text(MARGIN + 84, top + 32 + 18 * line, "small", text))
            top += BAND_GAP
    head = (
        '<marker id="head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
        ' markerUnits="userSpaceOnUse"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker>'
    )
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + MARGIN:g}" width="{WIDTH}">'
    sheet = f'<rect width="{WIDTH}" height="{top + MARGIN:g}" fill="#fff"/>'
    return "\n".join([opening, f"<style>{STYLE}</style><defs>{head}</defs>", sheet, *shapes, "</svg>"]) + "\n"


def table(package: Package) -> str:
    """The rooms of a package in Markdown: what each does, by its docstring, and which rooms it uses."""
    rows = ["| room | what it does | uses |", "| --- | --- | --- |"]
    for name in sorted(package.rooms):
        path = modules()[f"{package.name}.{name}"]
        text = (ast.get_docstring(parsed(path)) or "").partition("\n\n")[0].replace("\n", " ")
        uses = ", ".join(f"`{there}`" for there in sorted(package.rooms[name]))
        rows.append(f"| [`{name}`](../{path.parent.relative_to(ROOT)}) | {text} | {uses} |")
    return "\n".join(rows) + "\n"


def with_tables(text: str) -> str:
    """Returns the text of the page with each table of rooms as the code has it now."""
    found = {package.name: package for package in packages()}
    return TABLE.sub(lambda mark: f"{mark[1]}{table(found[mark[2]])}{mark[3]}", text)


if __name__ == "__main__":
    DRAWING.write_text(drawing())
    PAGE.write_text(with_tables(PAGE.read_text()))
