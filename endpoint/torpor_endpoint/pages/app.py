"""Answers Torpor's own pages under `/_torpor/`. `pages.lifespan` answers the page of health."""

import asyncio
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from torpor_account.aws.errors import DATABASE_AWAY
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.storage.databases.database import DatabaseFault
from torpor_container import wire
from torpor_container.typed_json import read
from torpor_endpoint.core.pages import Json, PageName
from torpor_endpoint.core.pages.state import (
    ENDPOINTS_LISTED,
    ENDPOINTS_MAX,
    MODELS_LISTED,
    VariantState,
    decisions_page,
    read_decisions,
)
from torpor_endpoint.core.pages.story import Story
from torpor_endpoint.core.pages.transform_jobs import JobProgress, transform_jobs_page
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.retiring import retired
from torpor_endpoint.pages.log_tails import tails
from torpor_endpoint.pages.recent_traffic import RecentTraffic
from torpor_endpoint.pages.shown_endpoint import decisions_of, shown_endpoint, shown_page

if TYPE_CHECKING:
    from torpor_account.metrics.prometheus import MetricPage
    from torpor_endpoint.faults.injector import FaultInjector
    from torpor_endpoint.pages.async_requests import AsyncPages
    from torpor_endpoint.pages.clock import ClockPage
    from torpor_endpoint.pages.denials import DenialPages
    from torpor_endpoint.pages.ledger import Pages
    from torpor_endpoint.pages.origin_pages import OriginPages
    from torpor_endpoint.pages.version_pages import VersionPages

log = logging.getLogger(__name__)

ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")
COUNT_DIGITS = 9


@dataclass(frozen=True)
class OwnPages:
    """The pages, and the parts of the endpoint that they read."""

    roster: FleetRoster
    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]]
    logs_folder: Path
    ledger: Callable[[], "Pages"]
    asynchronous: Callable[[], "AsyncPages"]
    origins: Callable[[], "OriginPages"]
    clock: "ClockPage | None" = None
    """None for a clock that does not travel."""
    faults: "FaultInjector | None" = None
    """None for an endpoint without faults."""
    settle: Callable[[], None] = lambda: None
    """Adds the requests that ended a moment ago to the metrics."""
    transforming: Callable[[], list[JobProgress]] = list
    routers: Sequence[Route] = ()
    """The pages that routers call."""
    denials: "DenialPages | None" = None
    """None where callers are not verified."""
    model_versions: "VersionPages | None" = None
    """None where nothing lists versions."""

    def app(self) -> Starlette:
        """The ASGI application that serves every row of `PAGES`."""
        return Starlette(
            routes=[
                *(
                    Route(f"/_torpor/{page.name}", partial(page.answered, self), methods=[page.method])
                    for page in PAGES
                ),
                *self.routers,
            ],
            exception_handlers={DatabaseFault: _database_away},
        )

    async def index(self, request: Request) -> Response:
        """The list of pages."""
        return PlainTextResponse("".join(f"{page}\n" for page in PAGES if self._has(page)))

    async def metrics(self, request: Request) -> Response:
        """The metrics of all endpoints, in the text format of Prometheus."""
        from torpor_account.metrics.prometheus import CONTENT_TYPE

        await self.refresh()
        portions = []
        for portion in self.metric_page.portions(self.roster):
            portions.append(portion)
            await asyncio.sleep(0)  # requests come first
        return Response(b"".join(portions), media_type=CONTENT_TYPE)

    @cached_property
    def metric_page(self) -> "MetricPage":
        """It keeps the text of what has not changed since the page before."""
        from torpor_account.metrics.prometheus import MetricPage

        return MetricPage(self.registry)

    async def endpoints(self, request: Request) -> Response:
        """The endpoints in service by name, a page of them, or one (`?endpoint=…`), with their variants, instances and
        resident models."""
        after = request.query_params.get("after", "")
        shown = [self._named(request)] if "endpoint" in request.query_params else self._later(after)
        most_models = _count(request, "models", MODELS_LISTED)
        most = min(_count(request, "limit", ENDPOINTS_LISTED), ENDPOINTS_MAX) or 1
        self.settle()
        traffic = RecentTraffic(self.registry)
        body = await shown_page(shown, most, lambda live: shown_endpoint(live, traffic, most_models))
        return Response(body, media_type="application/json")

    def _later(self, after: str) -> list[FleetEndpoint]:
        """The endpoints whose names come after this one, by name."""
        return sorted((live for live in self.roster if live.name > after), key=lambda live: live.name)

    async def decisions(self, request: Request) -> Response:
        """The decisions about one model (`?endpoint=…&model=…`), oldest first, each with its instance."""
        live = self._named(request)
        model = request.query_params.get("model", "").removeprefix("/")
        return JSONResponse(decisions_page(await self._decisions(live, model)))

    async def story(self, request: Request) -> Response:
        """The story of one model (`?endpoint=…&model=…`), as `torpor why` tells it."""
        live, model = self._named(request), request.query_params.get("model", "").removeprefix("/")
        variants = await self._variants(live)
        decided = read_decisions(decisions_page(await self._decisions(live, model)))
        past = () if decided else await self.ledger().latest_cold_starts(live.name, model)
        here = tuple(found for one in variants for instance in one.instances for found in instance.named(model))
        choices = await self.ledger().latest_choices(live.name, model)
        return JSONResponse(Story(model, tuple(decided), here, tuple(variants), past, choices=choices).page())

    async def origin(self, request: Request) -> Response:
        """Where a model comes from (`?endpoint=…&model=…`), as `torpor why --origin` tells it."""
        live, model = self._named(request), request.query_params.get("model", "").removeprefix("/")
        return await self.origins().show(live, await self._variants(live), model)

    async def _variants(self, live: FleetEndpoint) -> list[VariantState]:
        """The variants with all their models."""
        shown = await shown_endpoint(live, RecentTraffic(self.registry), sys.maxsize)
        return read(list[VariantState], shown["variants"])

    async def cold_starts(self, request: Request) -> Response:
        """The latest cold starts, from the ledger."""
        return await self.ledger().cold_starts_page(request)

    async def choices(self, request: Request) -> Response:
        """The choices of models of groups, from the ledger."""
        return await self.ledger().choices_page(request)

    async def costs(self, request: Request) -> Response:
        """The costs of each variant and model, from the ledger."""
        return await self.ledger().costs_page(request)

    async def whole_ledger(self, request: Request) -> Response:
        """The ledger as a file."""
        return await self.ledger().whole(request)

    async def transform_jobs(self, request: Request) -> Response:
        """The transform jobs that began since the endpoint started, with their progress; or one of them (`?job=…`)."""
        name = request.query_params.get("job")
        found = [one for one in self.transforming() if name in (None, one.name)]
        return JSONResponse(transform_jobs_page(found))

    async def logs(self, request: Request) -> Response:
        """The last output of each instance of an endpoint, including instances that failed."""
        name = request.query_params.get("endpoint", "")
        folder = self.logs_folder / name
        if not ENDPOINT_NAME.fullmatch(name) or not await asyncio.to_thread(folder.is_dir):
            raise HTTPException(404, f"no instance of an endpoint {name!r} has printed anything")
        return PlainTextResponse(await asyncio.to_thread(tails, folder))

    async def reload(self, request: Request) -> Response:
        """Have each instance read the model from S3 again for the next call that begins."""
        return await self._retire(request, wire.RELOAD_MODEL)

    async def unload(self, request: Request) -> Response:
        """Have each instance unload the model when the requests that use it have ended."""
        return await self._retire(request, wire.UNLOAD_MODEL)

    async def versions(self, request: Request) -> Response:
        """The versions of an endpoint's models, or of one of them, and what answers."""
        return await self._versions().show(self._named(request), request.query_params.get("model", ""))

    async def labels(self, request: Request) -> Response:
        """Point a label to a version of a model, remove it, or take it back."""
        return await self._versions().move(self._named(request), request)

    def _versions(self) -> "VersionPages":
        if self.model_versions is None:
            raise HTTPException(404, "nothing lists versions here")
        return self.model_versions

    async def async_requests(self, request: Request) -> Response:
        """Where asynchronous requests are."""
        return await self.asynchronous().requests(request)

    async def async_cancel(self, request: Request) -> Response:
        """Cancel an asynchronous request that waits."""
        return await self.asynchronous().cancel(request)

    async def show_clock(self, request: Request) -> Response:
        """What the travelling clock shows."""
        return await self._travelling().show()

    async def move_clock(self, request: Request) -> Response:
        """Move the travelling clock forward."""
        return await self._travelling().move(request)

    def _has(self, page: "OwnPage") -> bool:
        absent = (
            (PageName.CLOCK, self.clock),
            (PageName.FAULTS, self.faults),
            (PageName.DENIALS, self.denials),
        )
        return all(page.name != name or means is not None for name, means in absent)

    async def show_denials(self, request: Request) -> Response:
        """What was denied, and why."""
        if self.denials is None:
            raise HTTPException(404, "this endpoint verifies no callers and denies nothing: start it with --auth")
        return await self.denials.show(request)

    async def show_faults(self, request: Request) -> Response:
        """What has struck, and what is left."""
        return JSONResponse(self._injector().page())

    async def begin_faults(self, request: Request) -> Response:
        """Have the schedule in the body strike from now on."""
        from torpor_endpoint.core.testing.fault_schedule import BadFault, FaultSchedule

        injector = self._injector()
        try:
            injector.begin(FaultSchedule.parse((await request.body()).decode()))
        except (BadFault, UnicodeDecodeError) as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(injector.page())

    def _injector(self) -> "FaultInjector":
        """Raises HTTPException 404 for an endpoint that was started without it."""
        if self.faults is None:
            raise HTTPException(404, "no fault strikes this endpoint: start it with --faults")
        return self.faults

    def _travelling(self) -> "ClockPage":
        """Raises HTTPException 404 for an endpoint that was started without it."""
        if self.clock is None:
            raise HTTPException(404, "the clock of this endpoint is the real one: start it with --travelling-clock")
        return self.clock

    async def _retire(self, request: Request, path: str) -> Response:
        live, model = self._named(request), request.query_params.get("model", "")
        if not model:
            raise HTTPException(400, "name the model: ?endpoint=…&model=…")
        return JSONResponse(await retired(self.roster, live, model, path))

    async def _decisions(self, live: FleetEndpoint, model: str) -> list[Json]:
        ready = (incarnation for pool in live.every_pool for incarnation in pool.ready)
        return [*chain(*await asyncio.gather(*(decisions_of(incarnation, model) for incarnation in ready)))]

    def _named(self, request: Request) -> FleetEndpoint:
        name = request.query_params.get("endpoint", "")
        live = self.roster.get(name)
        if live is None:
            known = ", ".join(live.name for live in self.roster) or "none"
            raise HTTPException(404, f"no endpoint {name!r} is in service; in service: {known}")
        return live


@dataclass(frozen=True)
class OwnPage:
    """One page below `/_torpor/`, with the parameters that it knows and a line for the index."""

    name: str
    answer: Callable[[OwnPages, Request], Awaitable[Response]]
    meaning: str
    parameters: tuple[str, ...] = ()
    method: str = "GET"

    def __str__(self) -> str:
        parameters = "&".join(f"{name}=" for name in self.parameters)
        posted = "" if self.method == "GET" else f"{self.method}: "
        return f"/_torpor/{self.name}{f'?{parameters}' if parameters else ''}  {posted}{self.meaning}"

    async def answered(self, pages: OwnPages, request: Request) -> Response:
        """Answer the request. Raises HTTPException 400 for a parameter that the page does not know."""
        for name in request.query_params:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise HTTPException(400, f"this page has no parameter {name!r}: known are {known}")
        return await self.answer(pages, request)


PAGES = (
    OwnPage("", OwnPages.index, "this list; /_torpor/health is a page too"),
    OwnPage(PageName.METRICS, OwnPages.metrics, "the metrics, for Prometheus"),
    OwnPage(
        PageName.ENDPOINTS,
        OwnPages.endpoints,
        "the endpoints by name, with variants, instances and models in memory: of each container those called last",
        ("endpoint", "models", "limit", "after"),
    ),
    OwnPage(
        PageName.DECISIONS, OwnPages.decisions, "the decisions about a model, with their reasons", ("endpoint", "model")
    ),
    OwnPage(PageName.STORY, OwnPages.story, "what happened to a model, as lines to read", ("endpoint", "model")),
    OwnPage(PageName.ORIGIN, OwnPages.origin, "the artifact of a model, and who made it", ("endpoint", "model")),
    OwnPage(PageName.LOGS, OwnPages.logs, "the output of the instances", ("endpoint",)),
    OwnPage(
        PageName.COLD_STARTS,
        OwnPages.cold_starts,
        "the requests that had to wait, with the time of each step",
        ("endpoint", "model", "since_s", "limit", "order"),
    ),
    OwnPage(
        PageName.CHOICES,
        OwnPages.choices,
        "which models have answered calls of a group, and why; or of which groups a model has",
        ("endpoint", "model", "limit"),
    ),
    OwnPage(
        PageName.RELOAD,
        OwnPages.reload,
        "read a model from S3 again for its next call",
        ("endpoint", "model"),
        "POST",
    ),
    OwnPage(PageName.UNLOAD, OwnPages.unload, "unload a model when no request uses it", ("endpoint", "model"), "POST"),
    OwnPage(PageName.VERSIONS, OwnPages.versions, "the versions of models, and what answers", ("endpoint", "model")),
    OwnPage(
        PageName.LABELS,
        OwnPages.labels,
        "point a label to a version of a model, remove it (no version), or take it back (back=true)",
        ("endpoint", "model", "label", "version", "back"),
        "POST",
    ),
    OwnPage(
        PageName.ASYNC,
        OwnPages.async_requests,
        "the asynchronous requests of the last day, and where each one is",
        ("endpoint", "id", "state", "limit"),
    ),
    OwnPage(PageName.CANCEL, OwnPages.async_cancel, "cancel an asynchronous request that waits", ("id",), "POST"),
    OwnPage(PageName.CLOCK, OwnPages.show_clock, "the clock, with --travelling-clock"),
    OwnPage(
        PageName.CLOCK,
        OwnPages.move_clock,
        "move the clock forward, with --travelling-clock",
        ("advance_s", "to_s"),
        "POST",
    ),
    OwnPage(PageName.FAULTS, OwnPages.show_faults, "the faults that have struck, with --faults"),
    OwnPage(PageName.FAULTS, OwnPages.begin_faults, "have a schedule of faults strike, with --faults", (), "POST"),
    OwnPage(PageName.DENIALS, OwnPages.show_denials, "the latest denials and why, with --auth", ("id", "limit")),
    OwnPage(PageName.TRANSFORM_JOBS, OwnPages.transform_jobs, "the progress of the transform jobs", ("job",)),
    OwnPage(PageName.LEDGER, OwnPages.whole_ledger, "the whole ledger as a SQLite file, which the simulator reads"),
    OwnPage(PageName.COSTS, OwnPages.costs, "the costs at AWS's prices", ("endpoint", "since_s", "until_s", "models")),
)


async def _database_away(request: Request, fault: Exception) -> Response:
    """The answer of a page whose rows cannot be read now."""
    if not isinstance(fault, RecordsFault) or not fault.told:
        log.error("the page %s cannot be answered: %s", request.url.path, fault)
    return PlainTextResponse(DATABASE_AWAY, 500)


def _count(request: Request, name: str, ordinary: int) -> int:
    """A parameter that is a number from 0. Raises HTTPException 400."""
    given = request.query_params.get(name)
    if given is not None and not (given.isascii() and given.isdecimal() and len(given) <= COUNT_DIGITS):
        raise HTTPException(400, f"{name}={given[:100]!r} is not a number from 0 to {'9' * COUNT_DIGITS}")
    return ordinary if given is None else int(given)
