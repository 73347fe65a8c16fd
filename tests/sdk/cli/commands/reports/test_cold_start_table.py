"""The tables of cold starts."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from torpor.cli.commands.reports.cold_start_table import narrow_table, table
from torpor_endpoint.core.pages.cold_starts import ColdStart

COLD = ColdStart(1e9, "houses", "v", "a", "i-1", 200, 0.423, {"load": 0.3, "predict": 0.123}, reason="first use")
PASSED = replace(COLD, container_s={"clean": 0.1, "houses": 0.3214})


def shown(made: Table) -> str:
    written = StringIO()
    Console(width=200, file=written).print(made)
    return written.getvalue()


def test_a_pipeline_has_a_column_for_each_container_in_their_order() -> None:
    text = shown(table("houses", [PASSED, replace(PASSED, container_s={"clean": 0.3, "houses": 0.1})], 2))
    header, _, row, _, p50, p99 = [line.split() for line in text.splitlines() if line.strip()][1:]
    assert header[4:9] == ["predict", "in", "clean", "in", "houses"]
    assert row[4:8] == ["300", "123", "100", "321"]  # after the day, the time, the model and the total
    assert p50[3:6] == ["123", "200", "211"]
    assert p99[4:] == ["298", "319"]


def test_a_narrow_table_has_the_containers_below_the_steps() -> None:
    assert "load 300, predict 123\n" in "\n".join(
        line.strip() for line in shown(narrow_table("h", [PASSED], 1)).split("\n")
    )
    assert "in clean 100, in houses 321" in shown(narrow_table("houses", [PASSED], 1))


@pytest.mark.parametrize("make", [table, narrow_table])
def test_a_variant_of_one_container_has_no_column_for_it(make: object) -> None:
    assert callable(make)
    assert " in " not in shown(make("houses", [COLD], 1)).partition("milliseconds")[2]


@pytest.mark.parametrize("make", [table, narrow_table])
def test_the_title_says_how_many_are_not_shown(make: Callable[..., Table]) -> None:
    assert "houses · the latest 2 of 740 cold starts · milliseconds" in shown(make("houses", [COLD, COLD], 740))
    assert "houses · 2 cold starts · milliseconds" in shown(make("houses", [COLD, COLD], 2))
