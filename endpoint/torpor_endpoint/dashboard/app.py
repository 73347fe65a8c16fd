"""Answers the dashboard's addresses: its page and files, the live feed, and what the page asks for on demand."""

from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from torpor_endpoint.aws.wire.asgi import Disconnected, Receive, Scope, Send, until_disconnected
from torpor_endpoint.dashboard.door import PAGE, PREFIX
from torpor_endpoint.dashboard.feed import Feed

FILES = Path(__file__).with_name("static")
FRESH = MappingProxyType({"cache-control": "no-cache"})
"""The browser asks each time whether a file has changed: another version of Torpor may answer on the same port."""

UNSTORED = MappingProxyType({"cache-control": "no-store"})


@dataclass(frozen=True)
class Dashboard:
    """The dashboard's routes, and the parts that they read."""

    feed: Feed

    def app(self) -> Router:
        """The ASGI application."""
        return Router(
            routes=[
                Route(PAGE, self.page),
                Route(f"{PREFIX}feed", self.watch),
                Mount(f"{PREFIX}static", FreshFiles(directory=FILES)),
            ]
        )

    async def page(self, request: Request) -> Response:
        """The page itself."""
        return FileResponse(FILES / "index.html", headers={"vary": "Accept", **FRESH})

    async def watch(self, request: Request) -> Response:
        """The live feed, as server-sent events."""
        if self.feed.full:
            raise HTTPException(503, "too many pages watch this endpoint: close one of them")
        await request.body()  # the next message is then that the viewer has left
        return FeedResponse(self.feed)


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
