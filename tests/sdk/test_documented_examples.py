"""docs/reference/python.md has every public name, option and method. tests/docs runs its examples."""

import inspect
import re
from pathlib import Path

import pytest

import torpor

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "docs" / "reference" / "python.md"


def names(section: str) -> set[str]:
    """The names in the first column of a table between `<!-- section -->` and `<!-- end -->`."""
    table = PYTHON.read_text().partition(f"<!-- {section} -->\n")[2].partition("<!-- end -->")[0]
    firsts = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name for first in firsts for name in re.findall(r"`(\w+)[^`]*`", first)}


@pytest.mark.parametrize("name", [name for name in torpor.__all__ if name != "Local"])
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert re.search(rf"`torpor\.{name}\b", PYTHON.read_text())


def test_every_option_of_local_is_on_the_page() -> None:
    assert names("options") == set(inspect.signature(torpor.local).parameters)


def test_everything_that_an_endpoint_can_do_is_on_the_page() -> None:
    assert names("methods") == {name for name in vars(torpor.Local) if not name.startswith("_")}
