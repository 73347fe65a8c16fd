"""The bill of a ledger, and that of its own forecast: the same lines, with data in and out."""

from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import FIRST_USE, NOON_S, LedgerWithPages, invocation, life
from torpor.simulator.costs.single_models import on_endpoints
from torpor.simulator.simulation_inputs import load
from torpor.simulator.simulation_run import run
from torpor.workloads import LedgerFile
from torpor_container.wire import ColdLoad
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, S3_GETS, S3_STORED, VOLUME

COLD = {"download": 0.1, "load": 0.25, "predict": 0.002, "overhead": 0.001}
IN, OUT = 3 * 2**20, 5 * 2**20
HOUR_S = 3600
ARTIFACT = 40 * 2**20
FETCHED: ColdLoad = {**FIRST_USE, "took_s": 0.35, "fetched_bytes": ARTIFACT}


def written(folder: Path) -> LedgerWithPages:
    """An hour of an instance, with a call a minute of 3 MiB in and 5 MiB out."""
    recorded = LedgerWithPages(folder, now_s=NOON_S + HOUR_S)
    recorded.ledger.lived(life(NOON_S, NOON_S + HOUR_S))
    recorded.ledger.invoked(invocation(NOON_S, COLD, cold=FETCHED, moved=(IN, OUT)))
    for minute in range(1, 60):
        recorded.ledger.invoked(invocation(NOON_S + 60 * minute, moved=(IN, OUT)))
    recorded.flush()
    return recorded


def test_a_ledgers_forecast_has_the_lines_of_its_bill(tmp_path: Path) -> None:
    recorded = written(tmp_path)
    (live,) = recorded.reading.costs("houses", NOON_S, NOON_S + HOUR_S).bills
    inputs = load(LedgerFile(tmp_path / "ledger.sqlite"))
    forecast = run(inputs, inputs.scenario)
    expected = {line.item: line.quantity for line in live.costs.bill.lines}
    assert {line.item: line.quantity for line in forecast.cost().bill.lines} == pytest.approx(expected, rel=0.02)
    assert list(expected) == ["ml.m5.large", VOLUME, DATA_MOVED, S3_STORED, S3_GETS]
    assert expected[S3_GETS] == 1
    assert expected[S3_STORED] == pytest.approx(ARTIFACT / 2**30 / 730)
    assert expected[DATA_MOVED] == pytest.approx(60 * 8 / 1024)
    assert forecast.cost().usd == pytest.approx(live.costs.usd, rel=0.02)
    assert [line.source for line in forecast.cost().bill.lines] == [line.source for line in live.costs.bill.lines]
    apart = on_endpoints(inputs, "ml.m5.large").cost.bill
    assert apart.usd_of(DATA_MOVED) == pytest.approx(60 * 8 / 1024 * 0.016)
    recorded.ledger.close()
