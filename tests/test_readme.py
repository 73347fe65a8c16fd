"""The README says what the code does."""

import re

from readme_tables import README, TABLE, TABLES, with_tables


def test_the_tables_are_those_of_the_code() -> None:
    text = README.read_text()
    assert with_tables(text) == text, "run: .venv/bin/python tests/readme_tables.py"


def test_every_table_is_there() -> None:
    assert sorted(TABLE.findall(README.read_text())) == sorted(TABLES)


def test_every_make_target_that_it_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (README.parent / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)`", README.read_text())) <= targets
