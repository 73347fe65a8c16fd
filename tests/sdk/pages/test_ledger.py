"""The ledger through the command and as data frames, over the pages' own port."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer import BadParameter
from typer.testing import CliRunner, Result

import torpor
from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, LedgerWithPages, invocation, life, served
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.cli.arguments import span_s
from torpor.cli.commands.reports.cold_start_table import percentile
from torpor.errors import EndpointRefused
from torpor.hosting.endpoint_deployment import EndpointPlan
from torpor.pages import ledger
from torpor.pages.ledger import Which
from torpor.prices.dollars import dollars
from torpor_endpoint.core.pages.cold_starts import ColdStart

COLD = {"wake": 0.12, "download": 0.05, "load": 0.25, "predict": 0.002, "overhead": 0.001}
STYLE = re.compile(r"\x1b\[[0-9;]*m")
AGES = "100000d"
"""Since the ledger's noon."""
HOUR_USD = 0.115 + 30 * 0.14 / 730
"""An hour of an ml.m5.large and of its volume of 30 GB."""


@dataclass(frozen=True)
class ServedLedger:
    """A ledger of one cold and one warm call, behind a port."""

    recorded: LedgerWithPages
    connection: EndpointConnection

    def run(self, *arguments: str, width: int = 100) -> Result:
        """As in a terminal of that width."""
        environment = {"AWS_ENDPOINT_URL": self.connection.url, "COLUMNS": str(width), "FORCE_COLOR": "1"}
        return CliRunner().invoke(app, list(arguments), env=environment)

    def shown(self, *arguments: str, width: int = 100) -> list[str]:
        """The lines of it, without their colours."""
        return STYLE.sub("", self.run(*arguments, width=width).stdout).splitlines()


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[ServedLedger]:
    recorded = LedgerWithPages(tmp_path, now_s=NOON_S + 3600)
    recorded.ledger.lived(life())
    recorded.ledger.lived(life(endpoint="odd", instance="i-2", size="ml.m4.xlarge"))
    recorded.ledger.invoked(invocation(NOON_S, COLD, model="Houston_TX.tar.gz", cold=FIRST_USE))
    recorded.ledger.invoked(invocation(NOON_S + 1, model="Houston_TX.tar.gz"))
    recorded.ledger.invoked(invocation(NOON_S + 2, endpoint="odd", instance="i-2", model=""))
    with served(recorded.app()) as url:
        yield ServedLedger(recorded, EndpointConnection(url))
    recorded.ledger.close()


def test_a_cold_start_is_read_back_as_it_was_recorded(stand: ServedLedger) -> None:
    (found,) = ledger.cold_starts(stand.connection, Which("houses"))
    told = ColdStart(NOON_S, "houses", "v", "Houston_TX.tar.gz", "i-1", 200, sum(COLD.values()), COLD, "r", 100, 50)
    assert found == ColdStart(**{**vars(told), "loaded_bytes": 2**20, "victims": ("old",), "reason": "first use"})
    assert ledger.cold_starts(stand.connection, Which("houses", NOON_S + 1)) == []


def test_costs_have_shares_that_add_up(stand: ServedLedger) -> None:
    found = ledger.costs(stand.connection, Which(since_s=NOON_S))
    houses, odd = found.variants
    assert houses.usd == pytest.approx(HOUR_USD)
    assert odd.usd is None
    assert sum(model.usd or 0.0 for model in houses.models) + (houses.idle_usd or 0.0) == pytest.approx(HOUR_USD)
    items = [line.item for line in houses.lines]
    assert items == ["ml.m5.large", "volumes of instances", "data in and out of endpoints"]
    assert sum(line.usd or 0.0 for line in houses.lines) == pytest.approx(HOUR_USD)
    assert [way.usd for way in odd.on_aws][2] is None


def test_an_endpoint_that_the_ledger_does_not_know_is_refused(stand: ServedLedger) -> None:
    with pytest.raises(EndpointRefused, match="nothing of an endpoint 'nobody'"):
        ledger.costs(stand.connection, Which("nobody"))


def test_cold_starts_has_a_column_for_each_step_that_was_waited_for(stand: ServedLedger) -> None:
    shown = stand.shown("cold-starts", "--since", AGES, width=150)
    heading, row, p99 = (next(line for line in shown if found in line) for found in ("time", "Houston", "p99"))
    assert heading.split()[2:9] == ["total", "wake", "download", "load", "predict", "overhead", "memory"]
    assert row.split(maxsplit=2)[2].split("  ")[0] == "Houston_TX.tar.gz"
    assert row.split()[3:9] == p99.split()[1:] == ["423", "120", "50.0", "250", "2.0", "1.0"]
    assert row.rstrip().endswith("1.0 MiB  first use; old left")


def test_a_limit_says_how_many_cold_starts_there_are(stand: ServedLedger) -> None:
    for number in range(3):
        stand.recorded.ledger.invoked(invocation(NOON_S + 4 + number, COLD, model="Houston_TX.tar.gz", cold=FIRST_USE))
    page = ledger.counted_cold_starts(stand.connection, Which("houses"), limit=2)
    assert (len(page.rows), page.of) == (2, {"houses": 4})
    assert "houses · the latest 2 of 4 cold starts" in "".join(
        stand.shown("cold-starts", "--since", AGES, "--limit", "2")
    )


def test_in_a_narrow_terminal_no_figure_is_cut(stand: ServedLedger) -> None:
    shown = stand.shown("cold-starts", "houses", "--since", AGES, width=80)
    assert max(map(len, shown)) <= 80
    assert not [line for line in shown if "…" in line]
    named = next(number for number, line in enumerate(shown) if "Houston" in line)
    at = datetime.fromtimestamp(NOON_S).strftime("%Y-%m-%d %H:%M:%S")
    assert shown[named].split() == [*at.split(), "423", "Houston_TX.tar.gz,", "1.0", "MiB"]
    assert [line.strip() for line in shown[named + 1 : named + 4]] == [
        "first use; old left",
        "wake 120, download 50.0, load 250, predict 2.0,",
        "overhead 1.0",
    ]


@pytest.mark.parametrize("command", ["costs", "cold-starts"])
def test_a_name_that_is_markup_elsewhere_is_shown_as_it_is(stand: ServedLedger, command: str) -> None:
    stand.recorded.ledger.invoked(invocation(NOON_S + 3, COLD, model="a[/b]:smile:.tar.gz", cold=FIRST_USE))
    done = stand.run(command, "houses", "--since", AGES)
    assert done.exception is None
    assert "a[/b]:smile:.tar.gz" in STYLE.sub("", done.stdout)


def test_costs_prints_known_amounts_and_marks_the_unknown(stand: ServedLedger) -> None:
    shown = stand.shown("costs", "--since", AGES)
    houses, odd = (next(line.split() for line in shown if line.startswith(name)) for name in ("houses", "odd"))
    assert (houses[2:], odd[2:]) == (["ml.m5.large", "1.000", "2", "1", "$0.1208"],
                                     ["ml.m4.xlarge", "1.000", "1", "0", "unknown"])  # fmt: skip
    assert any(line.startswith("an endpoint per model, 2 instances each") for line in shown)
    assert any(line.startswith("US dollars at the prices of 2026-09-27") for line in shown)


def test_costs_marks_a_shadow_variant_and_shows_the_containers_of_its_pipeline(stand: ServedLedger) -> None:
    assert not any("shadow" in line for line in stand.shown("costs", "--since", AGES))
    stand.recorded.ledger.lived(life(variant="new", instance="i-3", shadow=True))
    passed = invocation(NOON_S + 3, instance="i-3")._replace(variant="new", shadow=True)
    stand.recorded.ledger.invoked(passed._replace(container_s={"clean": 0.25, "houses": 0.5}))
    shown = stand.shown("costs", "houses", "--since", AGES)
    rows = [line.split()[1:3] for line in shown if line.startswith("houses  ")]
    assert rows[:2] == [["v", "ml.m5.large"], ["new", "(shadow)"]]
    assert "houses: its shadow variant is 50.0% of the bill, $0.1208 of $0.2415" in shown
    clean = next(line.split() for line in shown if line.startswith("clean"))
    assert clean == ["clean", "1", "0.250", "250", "ms", "-"]
    stand.recorded.ledger.lived(life(endpoint="odd", variant="new", instance="i-4", shadow=True))
    assert any(line.startswith("odd: what share of the bill") for line in stand.shown("costs", "--since", AGES))


@pytest.mark.parametrize("command", ["costs", "cold-starts"])
def test_an_empty_ledger_prints_one_line(tmp_path: Path, command: str) -> None:
    empty = LedgerWithPages(tmp_path)
    with served(empty.app()) as url:
        done = ServedLedger(empty, EndpointConnection(url)).run(command)
    empty.ledger.close()
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert done.stdout.startswith("no ")


def test_a_malformed_span_is_refused(stand: ServedLedger) -> None:
    done = stand.run("costs", "--since", "soon", width=120)
    assert done.exit_code == 2
    assert "'soon' is not a span of time" in done.stderr


def test_spans_of_time_are_read_as_they_are_said() -> None:
    assert [span_s(text) for text in ("90s", "1.5m", "1h", "2d")] == [90.0, 90.0, 3600.0, 172_800.0]
    with pytest.raises(BadParameter):
        span_s("1 hour")


@pytest.mark.parametrize(
    ("usd", "said"),
    [(None, "unknown"), (0.0, "$0.00"), (1e-9, "<$0.000001"), (0.000123, "$0.000123"), (0.115, "$0.1150"),
     (171_360.0, "$171,360.00")],
)  # fmt: skip
def test_dollars_keep_their_meaning_at_every_size(usd: float | None, said: str) -> None:
    assert dollars(usd) == said


def test_percentiles_lie_between_the_values() -> None:
    assert [percentile([float(n) for n in range(101)], percent) for percent in (50, 99)] == [50.0, 99.0]
    assert percentile([7.0], 99) == 7.0


# -- data frames ---------------------------------------------------------------------------------------------------
def test_cold_starts_are_a_data_frame(stand: ServedLedger) -> None:
    pytest.importorskip("pandas")
    from torpor.pages.data_frames import cold_starts_frame

    frame = cold_starts_frame(ledger.cold_starts(stand.connection, Which("houses")))
    steps = frame[[name for name in frame.columns if name.endswith("_s") and name != "total_s"]]
    assert steps.sum(axis=1).tolist() == pytest.approx(frame["total_s"].tolist())
    assert frame["at"].iloc[0].timestamp() == NOON_S
    assert list(cold_starts_frame([]).columns) == list(frame.columns)


@pytest.mark.parametrize("by", ["variant", "model", "line"])
def test_costs_are_data_frames_that_add_up(stand: ServedLedger, by: str) -> None:
    pytest.importorskip("pandas")
    from torpor.pages.data_frames import costs_frame

    frame = costs_frame(ledger.costs(stand.connection, Which("houses", NOON_S), models=0), by)
    assert frame["usd"].sum() == pytest.approx(HOUR_USD)
    assert by == "line" or frame["requests"].sum() == 2
    assert frame.attrs["priced_on"] == "2026-09-27"
    odd = costs_frame(ledger.costs(stand.connection, Which("odd", NOON_S)), by)
    assert odd["usd"].isna().any() if by == "line" else odd["usd"].isna().all()


def test_alternatives_are_a_data_frame_too(stand: ServedLedger) -> None:
    pytest.importorskip("pandas")
    from torpor.pages.data_frames import costs_frame

    found = ledger.costs(stand.connection, Which("houses", NOON_S))
    assert costs_frame(found, "alternative")["usd"].is_monotonic_decreasing is False
    assert len(costs_frame(found, "alternative")) == 4
    with pytest.raises(ValueError, match="is one of variant, model, line, component, alternative, not 'moon'"):
        costs_frame(found, "moon")


def test_an_endpoint_reads_only_its_own_records(stand: ServedLedger) -> None:
    pytest.importorskip("pandas")
    process = SimpleNamespace(connection=stand.connection, client=lambda service: None)
    houses = torpor.Local(process, EndpointPlan("houses", "s3://b/p/"))  # type: ignore[arg-type]  # all of a process that it uses
    assert houses.cold_starts()["model"].tolist() == ["Houston_TX.tar.gz"]
    assert houses.cold_starts("another").empty
    assert set(houses.costs("model", last_s=10**10)["endpoint"]) == {"houses"}
