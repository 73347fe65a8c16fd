"""Torpor's own pages: their paths, methods and query parameters."""

import asyncio
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.helpers.ledger_with_pages import LedgerWithPages, answer
from torpor_account.aws.errors import DATABASE_AWAY
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.database import DatabaseFault
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_endpoint.core.async_inference.requests import AsyncRequest
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.pages.app import PAGES, OwnPages
from torpor_endpoint.pages.async_requests import AsyncPages
from torpor_endpoint.pages.ledger import Pages
from torpor_endpoint.pages.origin_pages import OriginPages
from torpor_endpoint.runtime.asynchronous.async_queue import ASYNC_REQUESTS, AsyncQueue


async def _nothing() -> None:
    pass


def _no_origins() -> OriginPages:
    raise AssertionError("nobody asks where a model comes from")


class NothingRuns:
    """The requests of an endpoint without instances."""

    def __init__(self, queue: AsyncQueue) -> None:
        self.queue = queue

    def running(self, endpoint: str | None) -> list[int]:
        return []

    async def cancel(self, number: int) -> bool:
        return await self.queue.cancel(number)


def asked(folder: Path, target: str, method: str = "GET", *waiting: AsyncRequest) -> tuple[int, str]:
    """Of an endpoint process that has nothing but these requests, if any."""
    recorded = LedgerWithPages(folder)
    pages = Pages(recorded.ledger.flush, recorded.reading)
    queue = AsyncQueue(SqliteFile(folder / "async.sqlite", ASYNC_REQUESTS), recorded.clock)
    asynchronous = AsyncPages(queue, NothingRuns(queue))
    registry = MetricRegistry(recorded.clock)
    own = OwnPages(FleetRoster(), registry, _nothing, folder / "logs", lambda: pages, lambda: asynchronous, _no_origins)

    async def called() -> tuple[int, bytes]:
        for request in waiting:
            await queue.add(request)
        return await answer(own.app(), f"/_torpor/{target}", method)

    status, body = asyncio.run(called())
    recorded.ledger.close()
    queue.close()
    return status, body.decode()


def test_a_page_says_that_the_database_is_away() -> None:
    def no_rows() -> Pages:
        raise DatabaseFault("torpor_ledger: the database does not answer")

    registry = MetricRegistry(lambda: 0.0)
    own = OwnPages(FleetRoster(), registry, _nothing, Path(), no_rows, lambda: AsyncPages(None, None), _no_origins)  # type: ignore[arg-type]
    assert asyncio.run(answer(own.app(), "/_torpor/costs")) == (500, DATABASE_AWAY.encode())


def test_the_index_names_every_page(tmp_path: Path) -> None:
    status, told = asked(tmp_path, "")
    assert status == 200
    assert [line.split()[0].partition("?")[0] for line in told.splitlines()] == [
        f"/_torpor/{one.name}" for one in PAGES if one.name not in (PageName.CLOCK, PageName.FAULTS, PageName.DENIALS)
    ]
    assert "/_torpor/cold-starts?endpoint=&model=&since_s=&limit=&order=  the requests that had to wait" in told


@pytest.mark.parametrize(
    ("target", "known"),
    [
        ("cold-starts?since=abc", "'since': known are endpoint, model, since_s, limit, order"),
        ("costs?since_s=0&limit=1", "'limit': known are endpoint, since_s, until_s, models"),
        ("endpoints?order=1", "'order': known are endpoint, models, limit, after"),
    ],
)
def test_a_parameter_that_a_page_does_not_know_is_refused(tmp_path: Path, target: str, known: str) -> None:
    assert asked(tmp_path, target) == (400, f"this page has no parameter {known}")


@pytest.mark.parametrize("given", ["-1", "x", "", "1" * 10, "²"])
def test_a_number_of_models_that_is_none_is_refused(tmp_path: Path, given: str) -> None:
    status, told = asked(tmp_path, f"endpoints?models={quote(given)}")
    assert (status, told) == (400, f"models={given!r} is not a number from 0 to 999999999")


def test_one_endpoint_is_asked_for_by_its_name(tmp_path: Path) -> None:
    assert asked(tmp_path, "endpoints?endpoint=a") == (404, "no endpoint 'a' is in service; in service: none")


def test_a_page_accepts_its_own_query_parameters(tmp_path: Path) -> None:
    assert asked(tmp_path, "cold-starts?since_s=0&limit=5&model=a") == (200, '{"cold_starts":[],"of":{}}')


WAITING = AsyncRequest(
    id="1",
    inference_id="house-1",
    endpoint="houses",
    variant="All",
    received_s=1.0,
    expires_s=61.0,
    timeout_s=900.0,
    output="s3://bucket/out/1.out",
    config=AsyncInference("s3://bucket/out"),
    target="a.tar.gz",
    body=b"1,2",
)


def test_asynchronous_requests_are_listed(tmp_path: Path) -> None:
    status, told = asked(tmp_path, "async?endpoint=houses&state=Queued", "GET", WAITING)
    assert status == 200
    [found] = json.loads(told)["requests"]
    assert (found["inference_id"], found["state"], found["model"]) == ("house-1", "Queued", "a.tar.gz")
    assert json.loads(asked(tmp_path, "async?endpoint=villas")[1]) == {"requests": []}


def test_a_request_that_waits_is_cancelled(tmp_path: Path) -> None:
    _, told = asked(tmp_path, "async-cancel?id=house-1", "POST", WAITING)
    assert [one["state"] for one in json.loads(told)["requests"]] == ["Cancelled"]
    assert json.loads(asked(tmp_path, "async-cancel?id=house-1", "POST")[1]) == {"requests": []}


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [
        ("async?id=nobody", 404, "has the InferenceId 'nobody'"),
        ("async?state=Lost", 400, "state is one of Queued, Completed"),
        ("async?limit=many", 400, "limit is a number, not 'many'"),
    ],
)
def test_a_question_about_requests_that_makes_no_sense_is_refused(
    tmp_path: Path, target: str, status: int, text: str
) -> None:
    answered, told = asked(tmp_path, target)
    assert answered == status
    assert text in told
