"""docs/architecture.md is up to date: its drawing, its tables of rooms, and the paths that it names."""

import re
from pathlib import Path

import pytest

from tests.architecture_drawing import DRAWING, PAGE, drawing, levels, packages, with_tables, without_shortcuts
from tests.helpers.source_trees import FOLDERS, ROOT

NAMED = re.compile(r"`((?:[\w<>]+/)*[\w<>]+(?:\.py|/))`")


def test_the_drawing_is_that_of_the_code() -> None:
    assert DRAWING.read_text() == drawing(), "run: make architecture"


def test_the_tables_of_rooms_are_those_of_the_code() -> None:
    assert with_tables(PAGE.read_text()) == PAGE.read_text(), "run: make architecture"


def test_each_room_stands_above_those_that_it_imports() -> None:
    for rooms in (package.rooms for package in packages()):
        level = {name: number for number, row in enumerate(levels(rooms)) for name in row}
        assert [(here, end) for here, ends in rooms.items() for end in ends if level[here] >= level[end]] == []


def test_an_arrow_that_a_longer_way_replaces_is_left_out() -> None:
    assert without_shortcuts({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": {"b"}, "b": {"c"}, "c": set()}


@pytest.mark.parametrize(
    "page", [PAGE, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md"], ids=lambda page: page.stem
)
def test_each_path_that_a_page_for_developers_names_exists(page: Path) -> None:
    tops = [ROOT / name for name in (*FOLDERS.values(), "tests", "benchmarks", "docs")]
    known = [f"/{path.relative_to(ROOT)}" for top in tops for path in (top, *top.rglob("*"))]
    ends = {path[slash.start() :] for path in known for slash in re.finditer("/", path)}
    named = [found.rstrip("/") for found in NAMED.findall(page.read_text()) if "<" not in found]
    assert [path for path in named if f"/{path}" not in ends] == []
