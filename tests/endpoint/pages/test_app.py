"""Torpor's own pages: their paths, methods and query parameters."""

import asyncio
from pathlib import Path

import pytest

from tests.helpers.ledger_with_pages import LedgerWithPages, answer
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.pages.app import PAGES, OwnPages
from torpor_endpoint.pages.ledger import Pages


async def _nothing() -> None:
    pass


def asked(folder: Path, target: str) -> tuple[int, str]:
    """Of an endpoint process that has nothing."""
    recorded = LedgerWithPages(folder)
    pages = Pages(recorded.ledger.flush, recorded.reading)
    own = OwnPages(Roster(), MetricRegistry(recorded.clock), _nothing, folder / "logs", lambda: pages)
    status, body = asyncio.run(answer(own.app(), f"/_torpor/{target}"))
    recorded.ledger.close()
    return status, body.decode()


def test_the_index_names_every_page(tmp_path: Path) -> None:
    status, told = asked(tmp_path, "")
    assert status == 200
    assert [line.split()[0].partition("?")[0] for line in told.splitlines()] == [
        f"/_torpor/{one.name}" for one in PAGES if one.name not in (PageName.CLOCK, PageName.FAULTS)
    ]
    assert "/_torpor/cold-starts?endpoint=&model=&since_s=&limit=&order=  the requests that had to wait" in told


@pytest.mark.parametrize(
    ("target", "known"),
    [
        ("cold-starts?since=abc", "'since': known are endpoint, model, since_s, limit, order"),
        ("costs?since_s=0&limit=1", "'limit': known are endpoint, since_s, until_s, models"),
        ("endpoints?endpoint=a", "'endpoint': known are none"),
    ],
)
def test_a_parameter_that_a_page_does_not_know_is_refused(tmp_path: Path, target: str, known: str) -> None:
    assert asked(tmp_path, target) == (400, f"this page has no parameter {known}")


def test_a_page_accepts_its_own_query_parameters(tmp_path: Path) -> None:
    assert asked(tmp_path, "cold-starts?since_s=0&limit=5&model=a") == (200, '{"cold_starts":[]}')
