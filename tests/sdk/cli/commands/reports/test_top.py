"""`torpor top`: rows from the endpoint's page, their order, and the table at several widths."""

import io
import itertools
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

import torpor
from tests.sdk.helpers.json_paths import undocumented
from tests.sdk.helpers.small_models import CITIES, ROWS
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.cli.commands.reports.top import SortKey, TopView, headline, ordered, rows, table, watch
from torpor.cli.json_records import TopOutput
from torpor_endpoint.core.pages.state import (
    ContainerState,
    EndpointState,
    InstanceState,
    VariantState,
    VariantTraffic,
)


def state(name: str, traffic: VariantTraffic, models: int = 1, held: int = 0) -> EndpointState:
    container = ContainerState("primary", 2**30, models * 2**20, model_count=models)
    instance = InstanceState("i-1", "v-0", 2, (container,))
    return EndpointState(name, (VariantState("v", 2, held, (instance,), traffic=traffic),))


def printed(found: TopOutput, width: int) -> list[str]:
    printer = Console(width=width, file=io.StringIO(), record=True)
    printer.print(table(found, width))
    return printer.export_text().splitlines()


def test_requests_per_second_are_counted_from_the_reading_before() -> None:
    then, now = state("a", VariantTraffic(100)), state("a", VariantTraffic(130))
    [row] = rows([now], 12.0, (10.0, [then]))
    assert row.requests_per_s == 15.0
    assert (row.instances, row.wanted, row.models, row.in_flight) == (1, 2, 1, 2)


def test_without_a_reading_before_they_are_those_of_the_last_minutes() -> None:
    [row] = rows([state("a", VariantTraffic(1000, recent_s=80.0, recent_requests=40))], 12.0)
    assert row.requests_per_s == 0.5


def test_an_endpoint_that_started_anew_has_no_negative_rate() -> None:
    [row] = rows([state("a", VariantTraffic(5))], 12.0, (10.0, [state("a", VariantTraffic(1000))]))
    assert row.requests_per_s == 0.0


@pytest.mark.parametrize(
    ("sort", "names"),
    [(SortKey.NAME, "abc"), (SortKey.P99, "bca"), (SortKey.MODELS, "cab"), (SortKey.COLD, "bac")],
)
def test_rows_are_sorted_by_name_or_from_the_largest_down(sort: SortKey, names: str) -> None:
    present = [
        state("c", VariantTraffic(p99_s=0.2), models=3),
        state("b", VariantTraffic(cold=4, p99_s=0.3)),
        state("a", VariantTraffic()),
    ]
    assert "".join(row.endpoint for row in ordered(rows(present, 0.0), sort)) == names


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(width: int) -> None:
    busy = VariantTraffic(1_234_567, 12_345, 77, 90.0, 90_000, 0.987, 0.0123, 1.234)
    found = TopOutput(0.0, tuple(rows([state("houses-of-texas", busy, held=12)], 0.0)))
    lines = printed(found, width)
    assert max(map(len, lines)) <= width
    assert "98.7%" in lines[2]
    assert "1,234 ms" in lines[2]
    assert "1,000.0" in lines[2]
    assert ("failed" in lines[0]) == (width == 120)


def test_the_memory_of_gpus_has_a_column_where_a_variant_predicts_on_one() -> None:
    on_gpu = ContainerState("primary", 2**30, 2**20, gpu_used_bytes=2**30, gpu_budget_bytes=2**32)
    variant = VariantState("v", 1, 0, (InstanceState("i-1", "v-0", 0, (on_gpu,)),))
    without, with_one = state("a", VariantTraffic()), EndpointState("b", (variant,))
    assert "gpu memory" not in printed(TopOutput(0.0, tuple(rows([without], 0.0))), 200)[0]
    lines = printed(TopOutput(0.0, tuple(rows([without, with_one], 0.0))), 200)
    assert "gpu memory" in lines[0]
    assert "1.0 GiB 25%" in lines[3]


def test_the_headline_has_the_sums() -> None:
    found = rows([state(name, VariantTraffic(recent_s=2.0, recent_requests=4)) for name in "ab"], 0.0)
    assert str(headline(TopOutput(0.0, tuple(found)))).endswith("2 variants · 2 instances · 4.0 requests/s")


def test_once_prints_the_live_variants_and_only_json_with_json(endpoint: torpor.Local) -> None:
    endpoint.invoke(CITIES[0], ROWS)
    run = CliRunner()
    shown = run.invoke(app, ["top", "shared", "--once", "--url", endpoint.url])
    assert "shared/AllTraffic" in shown.stdout
    done = run.invoke(app, ["top", "shared", "--once", "--json", "--url", endpoint.url])
    output = json.loads(done.stdout)
    assert undocumented("top", output) == set()
    [row] = output["variants"]
    assert (row["endpoint"], row["instances"]) == ("shared", 1)
    assert row["requests"] >= 1
    assert row["cold"] >= 1
    assert row["p99_s"] > 0


def test_an_unknown_name_is_refused_with_those_that_are_there(endpoint: torpor.Local) -> None:
    done = CliRunner().invoke(app, ["top", "sharde", "--once", "--url", endpoint.url])
    assert (done.exit_code, done.stderr) == (1, "torpor: there is no endpoint 'sharde', only shared\n")


class Ended(Exception):
    pass


@pytest.mark.parametrize("terminal", [False, True])
def test_it_goes_on_with_one_reading_a_second_and_leaves_the_terminal_as_it_was(
    endpoint: torpor.Local, terminal: bool
) -> None:
    out, pauses = io.StringIO(), itertools.count(1)

    def pause(seconds: float) -> None:
        assert 0 <= seconds <= 1
        if next(pauses) == 3:
            raise Ended

    connection = EndpointConnection(endpoint.url)
    printer = Console(file=out, force_terminal=terminal, width=100, height=20, legacy_windows=False)
    with pytest.raises(Ended):
        watch(TopView(connection, None, SortKey.NAME, printer, pause), as_json=False)
    assert out.getvalue().count("shared/AllTraffic") == 3
    assert out.getvalue().endswith("\x1b[?25h\x1b[?1049l") == terminal


def test_on_a_screen_it_waits_for_an_endpoint_that_went() -> None:
    out, pauses = io.StringIO(), itertools.count(1)

    def pause(seconds: float) -> None:
        if next(pauses) == 2:
            raise Ended

    printer = Console(file=out, force_terminal=True, width=100, height=20)
    with pytest.raises(Ended):
        watch(TopView(EndpointConnection("http://127.0.0.1:9"), None, SortKey.NAME, printer, pause), as_json=False)
    assert "no endpoint answers at" in out.getvalue()
