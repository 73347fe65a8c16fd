"""Torpor's own pages under `/_torpor/`: metrics, what runs, why, and the instances' output. Health is `front`'s."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from torpor_container import wire
from torpor_endpoint.core.pages import Json, PageName
from torpor_endpoint.core.pages.state import (
    decision_page,
    decisions_page,
    endpoint_page,
    endpoints_page,
    instance_page,
    variant_page,
)
from torpor_endpoint.fleet.collector import state_of
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.retiring import retired
from torpor_endpoint.fleet.roster import Fleet, LiveEndpoint
from torpor_endpoint.metrics.registry import MetricRegistry

if TYPE_CHECKING:
    from torpor_endpoint.pages.ledger import Pages

LOG_MAX_BYTES = 256 * 1024
LOGS_MAX = 20
ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
NO_DECISIONS = sys.maxsize
"""A decision number that none is later than: of an instance's state only the rest is asked for."""


@dataclass(frozen=True)
class OwnPages:
    """What the pages read."""

    fleet: Fleet
    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]]
    logs_folder: Path
    ledger: Callable[[], "Pages"]

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(f"/_torpor/{page.name}", partial(page.answered, self), methods=[page.method]) for page in PAGES
            ]
        )

    async def index(self, request: Request) -> Response:
        """What pages there are."""
        return PlainTextResponse("".join(f"{page}\n" for page in PAGES))

    async def metrics(self, request: Request) -> Response:
        """Of the endpoints that there are."""
        from torpor_endpoint.metrics.prometheus import exposition

        await self.refresh()
        return Response(exposition(self.registry, self.fleet), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def endpoints(self, request: Request) -> Response:
        """Every endpoint with its variants, instances and resident models."""
        return JSONResponse(endpoints_page(await asyncio.gather(*map(_endpoint, self.fleet))))

    async def decisions(self, request: Request) -> Response:
        """The decisions about one model (`?endpoint=…&model=…`), oldest first, each with its instance."""
        live = self._named(request)
        model = request.query_params.get("model", "").removeprefix("/")
        stories = await asyncio.gather(*(_story(member, model) for _, member in _members(live)))
        return JSONResponse(decisions_page([*chain(*stories)]))

    async def cold_starts(self, request: Request) -> Response:
        return await self.ledger().cold_starts_page(request)

    async def costs(self, request: Request) -> Response:
        return await self.ledger().costs_page(request)

    async def logs(self, request: Request) -> Response:
        """The end of what each instance of an endpoint printed, also of one that failed."""
        name = request.query_params.get("endpoint", "")
        folder = self.logs_folder / name
        if not ENDPOINT_NAME.fullmatch(name) or not await asyncio.to_thread(folder.is_dir):
            raise HTTPException(404, f"no instance of an endpoint {name!r} has printed anything")
        return PlainTextResponse(await asyncio.to_thread(_tails, folder))

    async def reload(self, request: Request) -> Response:
        """The next call of the model that begins gets what S3 has then."""
        return await self._retired(request, wire.RELOAD_MODEL)

    async def unload(self, request: Request) -> Response:
        """The model leaves memory once the requests that have it are served."""
        return await self._retired(request, wire.UNLOAD_MODEL)

    async def _retired(self, request: Request, path: str) -> Response:
        live, model = self._named(request), request.query_params.get("model", "")
        if not model:
            raise HTTPException(400, "name the model: ?endpoint=…&model=…")
        return JSONResponse(await retired(self.fleet, live, model, path))

    def _named(self, request: Request) -> LiveEndpoint:
        name = request.query_params.get("endpoint", "")
        live = self.fleet.get(name)
        if live is None:
            known = ", ".join(live.name for live in self.fleet) or "none"
            raise HTTPException(404, f"no endpoint {name!r} is in service; in service: {known}")
        return live


@dataclass(frozen=True)
class OwnPage:
    """One page below `/_torpor/`, and the parameters that it knows."""

    name: str
    answer: Callable[[OwnPages, Request], Awaitable[Response]]
    meaning: str
    parameters: tuple[str, ...] = ()
    method: str = "GET"

    def __str__(self) -> str:
        asked = "&".join(f"{name}=" for name in self.parameters)
        posted = "" if self.method == "GET" else f"{self.method}: "
        return f"/_torpor/{self.name}{f'?{asked}' if asked else ''}  {posted}{self.meaning}"

    async def answered(self, own: OwnPages, request: Request) -> Response:
        for name in request.query_params:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise HTTPException(400, f"this page has no parameter {name!r}: known are {known}")
        return await self.answer(own, request)


PAGES = (
    OwnPage("", OwnPages.index, "these pages, beside /_torpor/health"),
    OwnPage(PageName.METRICS, OwnPages.metrics, "for Prometheus"),
    OwnPage(PageName.ENDPOINTS, OwnPages.endpoints, "variants, instances and the models in memory"),
    OwnPage(PageName.DECISIONS, OwnPages.decisions, "what was decided about a model, and why", ("endpoint", "model")),
    OwnPage(PageName.LOGS, OwnPages.logs, "what the instances printed", ("endpoint",)),
    OwnPage(
        PageName.COLD_STARTS,
        OwnPages.cold_starts,
        "who had to wait, and what for",
        ("endpoint", "model", "since_s", "limit"),
    ),
    OwnPage(
        PageName.RELOAD,
        OwnPages.reload,
        "the next call of a model takes what S3 has then",
        ("endpoint", "model"),
        "POST",
    ),
    OwnPage(
        PageName.UNLOAD, OwnPages.unload, "a model leaves memory once nobody uses it", ("endpoint", "model"), "POST"
    ),
    OwnPage(PageName.COSTS, OwnPages.costs, "at AWS's prices", ("endpoint", "since_s", "until_s", "models")),
)


def _members(live: LiveEndpoint) -> list[tuple[str, Incarnation]]:
    return [(name, member) for name, pool in live.pools.items() for member in pool.ready]


async def _endpoint(live: LiveEndpoint) -> Json:
    variants = await asyncio.gather(*(_variant(*pair) for pair in live.pools.items()))
    return endpoint_page(live.name, live.trouble, variants)


async def _variant(name: str, pool: InstancePool) -> Json:
    instances = await asyncio.gather(*map(_instance, pool.ready))
    return variant_page(
        name,
        weight=pool.variant.weight,
        wanted=pool.size,
        leaving=pool.leaving,
        held=pool.traffic.held,
        instances=instances,
    )


async def _instance(member: Incarnation) -> Json:
    status = await state_of(member, after=NO_DECISIONS)
    return instance_page(member.incarnation, str(member.slot), member.in_flight, status)


async def _story(member: Incarnation, model: str) -> list[Json]:
    state = await state_of(member, model=model)
    return [decision_page(decision, member.incarnation) for decision in state["decisions"]] if state else []


def _tails(folder: Path) -> str:
    """The last part of each of the newest logs below the folder, under its stream's name."""
    parts = []
    newest_last = sorted(folder.glob("*/*.log"), key=_written_ns)[-LOGS_MAX:]
    for path in newest_last:
        with suppress(FileNotFoundError), path.open("rb") as log:  # the oldest go as new ones come
            log.seek(max(0, path.stat().st_size - LOG_MAX_BYTES))
            parts.append(f"==> {path.parent.name}/{path.stem} <==\n{log.read().decode(errors='replace')}")
    return "\n".join(parts)


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
