"""The map of the modules that carry requests names each of them once."""

import re
from collections import Counter

from tests.helpers.source_trees import ROOT

PAGE = ROOT / "docs/explanation/request-bytes.md"
PACKAGE = ROOT / "container/torpor_container"
ROW = re.compile(r"^\| `((?:http|contract|transport)/[\w/]+\.py)` \|", re.MULTILINE)


def test_the_map_of_connections_names_each_module_once() -> None:
    named = Counter(ROW.findall(PAGE.read_text()))
    there = {
        str(path.relative_to(PACKAGE))
        for room in ("http", "contract", "transport")
        for path in (PACKAGE / room).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert set(named) == there
    assert [name for name, count in named.items() if count > 1] == []
