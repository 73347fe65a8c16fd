"""The README and the pages of docs/ say what the code does."""

import re
from pathlib import Path

import pytest

from tests.readme_tables import PAGES, README, ROOT, TABLE, TABLES, with_tables
from torpor_endpoint.compatibility import FACES, Face


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_those_of_the_code(page: Path) -> None:
    text = page.read_text()
    assert with_tables(text) == text, "run: .venv/bin/python tests/readme_tables.py"


def test_every_table_is_there() -> None:
    assert sorted(name for page in PAGES for name in TABLE.findall(page.read_text())) == sorted(TABLES)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.service)
def test_a_difference_is_told_of_operations_that_there_are(face: Face) -> None:
    assert face.differences.keys() <= set(face.operations)


def test_every_page_of_docs_that_is_named_exists() -> None:
    named = {found for page in ROOT.glob("docs/*.md") for found in re.findall(r"docs/[a-z-]+\.md", page.read_text())}
    named |= set(re.findall(r"docs/[a-z-]+\.md", README.read_text()))
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def test_every_make_target_that_it_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (README.parent / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", README.read_text())) <= targets
