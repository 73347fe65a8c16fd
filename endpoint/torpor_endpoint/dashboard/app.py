"""Answers the dashboard's addresses: its page and files, the live feed, and what the page asks for on demand."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from torpor_account.aws.wire.asgi import Disconnected, Receive, Scope, Send, until_disconnected
from torpor_account.metrics.series import MINUTE_S, MINUTES_KEPT_S
from torpor_container.typed_json import written
from torpor_endpoint.dashboard.charts import charts, window_of
from torpor_endpoint.dashboard.dashboard_door import PAGE, PREFIX
from torpor_endpoint.dashboard.feed import Feed
from torpor_endpoint.dashboard.looking import Looking
from torpor_endpoint.dashboard.simulating import Simulating, question_of
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.ledger.reader import LedgerReader
from torpor_endpoint.simulating.simulator_process import CannotSimulate

FILES = Path(__file__).with_name("static")
FRESH = MappingProxyType({"cache-control": "no-cache"})
"""The browser asks each time whether a file has changed: another version of Torpor may answer on the same port."""

UNSTORED = MappingProxyType({"cache-control": "no-store"})


@dataclass(frozen=True)
class Dashboard:
    """The dashboard's routes, and the parts that they read."""

    feed: Feed
    looking: Looking
    ledger: LedgerReader
    flush: Callable[[], Awaitable[object]]
    """Has the ledger write what it still buffers."""
    simulating: Simulating

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route(PAGE, self.page),
                Route(f"{PREFIX}feed", self.watch),
                Route(f"{PREFIX}session", self.session),
                Route(f"{PREFIX}charts", self.charts),
                Route(f"{PREFIX}what-if", self.what_if, methods=["GET", "POST"]),
                Mount(f"{PREFIX}static", FreshFiles(directory=FILES)),
            ]
        )

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return FileResponse(FILES / "index.html", headers={"vary": "Accept", **FRESH})

    async def session(self, request: Request) -> Response:
        """Who is logged in: nobody has to be here. With `--auth` the door answers this address."""
        return JSONResponse({}, headers=UNSTORED)

    async def charts(self, request: Request) -> Response:
        """The charts of one endpoint (`?endpoint=…&span_s=…`) up to now."""
        _only(request, "endpoint", "span_s")
        looking, live = self.looking, self._named(request)
        name, span_s = live.name, _span_s(request.query_params.get("span_s", "3600"))
        await self.flush()
        now_s = looking.clock()
        window = window_of(span_s, now_s)
        production = {(name, variant) for variant in live.production}

        def made() -> Response:
            cold = self.ledger.cold_periods(name, window.start_s, window.end_s, window.period_s)
            return JSONResponse(charts(looking.registry, production, window, cold, now_s))

        return await asyncio.to_thread(made)

    async def what_if(self, request: Request) -> Response:
        """One variant's last day served in other ways (`?endpoint=…&variant=…`), by simulation. It takes seconds.

        A GET only says whether there is a simulator.
        """
        _only(request, "endpoint", "variant")
        await request.body()
        if request.method != "POST":
            return JSONResponse({"unavailable": self.simulating.unavailable})
        live, variant = self._named(request), request.query_params.get("variant", "")
        if variant not in live.pools:
            raise HTTPException(404, f"{live.name} has no variant {variant!r}: it has {', '.join(live.pools)}")
        await self.flush()
        try:
            work = self.simulating.answer(partial(question_of, live.pools[variant]))
            return JSONResponse(written(await until_disconnected(request.receive, work)))
        except CannotSimulate as error:
            raise HTTPException(503, str(error)) from error

    def _named(self, request: Request) -> FleetEndpoint:
        name = request.query_params.get("endpoint", "")
        live = self.looking.roster.get(name)
        if live is None:
            raise HTTPException(404, f"no endpoint {name!r} is in service")
        return live

    async def watch(self, request: Request) -> Response:
        """The live feed, as server-sent events."""
        _only(request)
        if self.feed.full:
            raise HTTPException(503, "too many pages watch this endpoint: close one of them")
        await request.body()  # the next message is then that the viewer has left
        return FeedResponse(self.feed)


def _only(request: Request, *known: str) -> None:
    """Raises HTTPException 400 for a parameter that is not known."""
    for name in request.query_params:
        if name not in known:
            raise HTTPException(400, f"this page has no parameter {name!r}: known are {', '.join(known) or 'none'}")


def _span_s(text: str) -> float:
    """The time that charts show. Raises HTTPException 400."""
    try:
        span_s = float(text)
    except ValueError:
        raise HTTPException(400, f"span_s is a number of seconds, not {text!r}") from None
    if not MINUTE_S <= span_s <= MINUTES_KEPT_S:
        raise HTTPException(400, f"span_s is from {MINUTE_S} to {MINUTES_KEPT_S} seconds, not {text}")
    return span_s


class FeedResponse(Response):
    """The feed's messages until the viewer leaves. The request's body has been read."""

    media_type = "text/event-stream"

    def __init__(self, feed: Feed) -> None:
        super().__init__(headers=UNSTORED)
        del self.headers["content-length"]
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(Disconnected):
            await until_disconnected(receive, self._stream(send))

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._feed.watch()) as messages:
            async for message in messages:
                await send({"type": "http.response.body", "body": message, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class FreshFiles(StaticFiles):
    """Files that a browser keeps, and asks about before each use."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response: Response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]  # passed on as they come
        response.headers.update(FRESH)
        return response
