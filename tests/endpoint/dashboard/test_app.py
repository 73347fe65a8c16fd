"""The dashboard's routes: what they refuse, and how their files are cached."""

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import LedgerWithPages, answer
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.record_table import Card
from torpor_endpoint.dashboard.app import Dashboard
from torpor_endpoint.dashboard.feed import Feed
from torpor_endpoint.dashboard.looking import Looking
from torpor_endpoint.dashboard.simulating import Simulating
from torpor_endpoint.fleet.collector import Wanted
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.storage.store import ComponentCard


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[Dashboard]:
    """Of an endpoint `shop` without instances."""
    recorded = LedgerWithPages(tmp_path)
    roster = FleetRoster()
    roster.serve(FleetEndpoint("shop", "arn"))

    async def cards() -> list[Card]:
        return []

    async def refresh(wanted: Wanted) -> None:
        pass

    async def record(name: str) -> None:
        raise AssertionError(name)

    async def components() -> list[ComponentCard]:
        return []

    looking = Looking(
        roster, cards, MetricRegistry(recorded.clock), Readings(), refresh, recorded.clock, record, components
    )
    feed = Feed(looking.look, looking.later, recorded.clock)
    simulating = Simulating(None, lambda: nullcontext(tmp_path / "ledger.sqlite"))
    yield Dashboard(feed, looking, recorded.reading, recorded.ledger.flush, simulating)
    recorded.ledger.close()


def said(dashboard: Dashboard, target: str) -> tuple[int, str]:
    status, body = asyncio.run(answer(dashboard.app(), f"/_torpor/dashboard/{target}"))
    return status, body.decode()


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("charts?endpoint=other", 404, "no endpoint 'other' is in service"),
        ("charts?endpoint=shop&span_s=soon", 400, "span_s is a number of seconds, not 'soon'"),
        ("charts?endpoint=shop&span_s=nan", 400, "span_s is from 60 to 86400 seconds, not nan"),
        ("charts?endpoint=shop&since=1", 400, "this page has no parameter 'since': known are endpoint, span_s"),
        ("feed?endpoint=shop", 400, "this page has no parameter 'endpoint': known are none"),
        ("what-if?model=a", 400, "this page has no parameter 'model': known are endpoint, variant"),
    ],
)
def test_what_is_not_understood_is_refused(dashboard: Dashboard, target: str, status: int, text: str) -> None:
    assert said(dashboard, target) == (status, text)


def test_an_endpoint_without_requests_has_empty_charts(dashboard: Dashboard) -> None:
    status, body = said(dashboard, "charts?endpoint=shop&span_s=120")
    assert status == 200
    assert '"hit_ratio":[null,null]' in body


def test_a_page_learns_that_there_is_no_simulator(dashboard: Dashboard) -> None:
    assert "`torpor up` brings one" in said(dashboard, "what-if")[1]
