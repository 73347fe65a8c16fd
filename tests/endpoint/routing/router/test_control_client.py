"""Which calls to the control wait for which."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Event, Lock
from typing import Any

import pytest
import urllib3

from tests.helpers.waiting import PATIENCE_S, reached
from torpor_endpoint.core.pages import RouterPage
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.routing.protocol.forwarded import ForwardedAnswer, ForwardedRequest
from torpor_endpoint.routing.protocol.router_report import RouterReport
from torpor_endpoint.routing.router.control_client import (
    ANSWERED_WITHIN_S,
    BEGUN_WITHIN_S,
    FORWARDED_MAX,
    THREADS,
    ControlAway,
    ControlClient,
    ControlWay,
)
from torpor_endpoint.routing.router.following import WAIT_S, pause_s

REPORT = RouterReport("r-1", 1, 0, None, frozenset(), frozenset(), 0, Differences(TableVersion("r-1", 0), None, {}))
FORWARDED = ForwardedRequest("/endpoints/e/async-invocations", (), b"1")
FORWARDING_THREADS = next(count for count, pages in THREADS if RouterPage.FORWARD in pages)
ANSWERS: dict[RouterPage, dict[str, Any]] = {
    RouterPage.TABLE: {"table": None},
    RouterPage.REPORT: {"taken": 0, "routers": 1, "ports": 1, "shares": [], "whole": False},
    RouterPage.FORWARD: {"status": 202, "headers": [], "body": ""},
    RouterPage.LEAVE: {},
}


class SlowControl(ControlClient):
    """A control that answers one page only once it is told to. The pages are known in the order of their calls and of
    their answers."""

    def __init__(self, slow: RouterPage) -> None:
        self.now_s = 0.0
        super().__init__("http://nowhere", clock=lambda: self.now_s)
        self.slow, self.answers = slow, Event()
        self._lock = Lock()
        self.called: list[RouterPage] = []
        self.answered: list[RouterPage] = []

    def _call(self, method: str, page: RouterPage, body: bytes, further_s: float) -> dict[str, Any]:
        with self._lock:
            self.called.append(page)
        if page is self.slow:
            self.answers.wait()
        with self._lock:
            self.answered.append(page)
        return ANSWERS[page]


@asynccontextmanager
async def slow(page: RouterPage) -> AsyncIterator[SlowControl]:
    control = SlowControl(page)
    try:
        yield control
    finally:
        control.answers.set()
        control.close()


def forwards(control: SlowControl, count: int) -> "list[asyncio.Task[ForwardedAnswer]]":
    return [asyncio.create_task(control.forward(FORWARDED)) for _ in range(count)]


def test_table_and_reports_wait_behind_no_forwarded_request() -> None:
    async def story() -> None:
        async with slow(RouterPage.FORWARD) as control:
            forwarded = forwards(control, 2 * FORWARDING_THREADS)
            await reached(lambda: len(control.called) == FORWARDING_THREADS)
            async with asyncio.timeout(PATIENCE_S):
                assert await control.table(None, 0.0) is None
                assert (await control.report(REPORT, None)).routers == 1
            control.answers.set()
            assert [answer.status for answer in await asyncio.gather(*forwarded)] == [202] * len(forwarded)

    asyncio.run(story())


def test_a_request_is_not_forwarded_while_too_many_are() -> None:
    async def story() -> None:
        async with slow(RouterPage.FORWARD) as control:
            forwarded = forwards(control, FORWARDED_MAX)
            await asyncio.sleep(0)
            with pytest.raises(ControlAway, match=f"{FORWARDED_MAX} requests wait"):
                await control.forward(FORWARDED)
            control.answers.set()
            await asyncio.gather(*forwarded)
            assert (await control.forward(FORWARDED)).status == 202

    asyncio.run(story())


def test_a_call_that_has_waited_too_long_for_its_thread_is_not_made() -> None:
    async def story() -> None:
        async with slow(RouterPage.FORWARD) as control:
            forwarded = forwards(control, FORWARDING_THREADS + 3)
            await reached(lambda: len(control.called) == FORWARDING_THREADS)
            control.now_s += BEGUN_WITHIN_S + 1.0
            control.answers.set()
            ends = await asyncio.gather(*forwarded, return_exceptions=True)
            assert Counter(map(type, ends)) == {ForwardedAnswer: FORWARDING_THREADS, ControlAway: 3}
            assert len(control.called) == FORWARDING_THREADS

    asyncio.run(story())


def test_a_router_leaves_after_its_last_report_has_been_answered() -> None:
    async def story() -> None:
        async with slow(RouterPage.REPORT) as control:
            report = asyncio.create_task(control.report(REPORT, None))
            await reached(lambda: control.called == [RouterPage.REPORT])
            report.cancel()  # its call goes on
            left = asyncio.create_task(control.leave("r-1"))
            await asyncio.wait({left}, timeout=0.1)
            control.answers.set()
            await left
            assert control.answered == [RouterPage.REPORT, RouterPage.LEAVE]

    asyncio.run(story())


class SilentPool(urllib3.PoolManager):
    """To a control that is frozen. It knows how long each page is waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.patience_s: dict[str, float] = {}

    def request(self, method: str, url: str, *args: Any, timeout: Any = None, **others: Any) -> Any:
        self.patience_s[url.partition("/_torpor/")[2]] = timeout.read_timeout
        raise urllib3.exceptions.ReadTimeoutError(self.connection_from_url(url), url, "nothing came")


def test_a_router_gives_a_frozen_control_up_in_time_for_the_one_that_takes_over() -> None:
    control, pool = ControlClient("http://nowhere"), SilentPool()
    control._plain = ControlWay("http://nowhere", pool)

    async def ask() -> None:
        for asked in (control.table(None, WAIT_S), control.wake("e", "v"), control.report(REPORT, None)):
            with pytest.raises(ControlAway):
                await asked

    asyncio.run(ask())
    control.close()
    table_s, wake_s = (pool.patience_s[page.value] for page in (RouterPage.TABLE, RouterPage.WAKE))
    assert max(table_s, wake_s) + pause_s(1) < 6.0
    assert min(table_s - WAIT_S, wake_s) >= 4.0  # a control that is busy answers by then
    assert pool.patience_s[RouterPage.REPORT.value] == ANSWERED_WITHIN_S
