"""Answers the pages of the ledger: `/_torpor/cold-starts`, `/_torpor/choices` and `/_torpor/costs`, as JSON, and the
whole of it as a file, `/_torpor/ledger`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import BinaryIO, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from torpor_container.typed_json import written
from torpor_endpoint.core.model_choice.made_choices import MadeChoices
from torpor_endpoint.core.pages.cold_starts import (
    LATEST,
    LIMIT,
    LIMIT_MAX,
    TOLD,
    ColdStart,
    ColdStarts,
    cold_starts_page,
)
from torpor_endpoint.core.pages.costs import Costs, FaceUse, OtherModels, SizeCostsRow, VariantCostsRow
from torpor_endpoint.core.pages.model_groups import CHOICES, CHOICES_MAX, choices_page
from torpor_endpoint.core.pricing.alternatives import LEFT_OUT
from torpor_endpoint.core.pricing.costs import ModelCosts, SizeCosts, total
from torpor_endpoint.kept_prices import KeptPricesUnusable
from torpor_endpoint.ledger.choice_table import latest_choices
from torpor_endpoint.ledger.file_copy import copied
from torpor_endpoint.ledger.reader import ORDERS, LedgerReader, Statement, VariantBill

MODELS = 1000
PIECE_BYTES = 256 * 1024
ATTACHED = {"content-disposition": 'attachment; filename="ledger.sqlite"'}
DAY_S = 24 * 3600.0

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Pages:
    """The pages. They show everything up to now: `written` has the ledger write what it still buffers."""

    written: Callable[[], Awaitable[object]]
    reading: LedgerReader

    async def cold_starts_page(self, request: Request) -> Response:
        """The latest cold starts, oldest first (`?endpoint=…&model=…&since_s=<epoch>&limit=…&order=latest|slowest`)."""
        endpoint = await self._endpoint(request)
        model = request.query_params.get("model")
        since_s, limit = _number(request, "since_s", float, 0.0), _number(request, "limit", int, LIMIT)
        order = request.query_params.get("order", LATEST)
        if order not in ORDERS:
            raise HTTPException(400, f"order is one of {', '.join(ORDERS)}, not {order!r}")

        def page() -> Response:  # ten thousand rows take long to write out: in a thread
            found = self.reading.cold_starts(endpoint, model, since_s, min(limit, LIMIT_MAX), order)
            return JSONResponse(cold_starts_page(found, self.reading.cold_counts(endpoint, model, since_s)))

        return await asyncio.to_thread(page)

    async def latest_cold_starts(self, endpoint: str, model: str) -> tuple[ColdStart, ...]:
        """The latest cold starts of a model, for its story."""
        await self.written()
        found = await asyncio.to_thread(self.reading.cold_starts, endpoint, model, 0.0, TOLD)
        return ColdStarts.read(cold_starts_page(found, {})).rows

    async def choices_page(self, request: Request) -> Response:
        """The latest choices of a group, or of a model by groups, oldest first (`?endpoint=…&model=…&limit=…`)."""
        endpoint, limit = await self._endpoint(request), _number(request, "limit", int, CHOICES)
        if endpoint is None:
            raise HTTPException(400, "name the endpoint: ?endpoint=…&model=…")
        model = request.query_params.get("model", "").removeprefix("/")
        return JSONResponse(choices_page(await self._choices(endpoint, model, min(limit, CHOICES_MAX))))

    async def latest_choices(self, endpoint: str, model: str) -> tuple[MadeChoices, ...]:
        """The latest choices of a group or of a model, for its story."""
        await self.written()
        return tuple(await self._choices(endpoint, model, CHOICES))

    async def _choices(self, endpoint: str, model: str, limit: int) -> list[MadeChoices]:
        return await asyncio.to_thread(latest_choices, self.reading.tables.database, endpoint, model, limit)

    async def costs_page(self, request: Request) -> Response:
        """Costs by variant and model (`?endpoint=…&since_s=<epoch>&until_s=<epoch>&models=…`).

        It covers the last day by default, and lists at most `models` models of each variant, the dearest first.
        """
        endpoint = await self._endpoint(request)
        until_s = _number(request, "until_s", float, self.reading.clock())
        since_s = _number(request, "since_s", float, max(0.0, until_s - DAY_S))
        models = _number(request, "models", int, MODELS)

        def page() -> Response:
            try:
                found = self.reading.costs(endpoint, since_s, until_s)
            except KeptPricesUnusable as fault:
                raise HTTPException(503, str(fault)) from fault
            return JSONResponse(written(_statement(found, models)))

        return await asyncio.to_thread(page)

    async def whole(self, request: Request) -> Response:
        """All of the ledger as a SQLite file, which the simulator reads."""
        await self.written()
        file = await asyncio.to_thread(self._copy)
        return StreamingResponse(_read(file), media_type="application/vnd.sqlite3", headers=ATTACHED)

    def _copy(self) -> BinaryIO:
        """A copy that is gone once it is closed."""
        with copied(self.reading.tables.database) as path:
            return path.open("rb")

    async def _endpoint(self, request: Request) -> str | None:
        """The endpoint that the request names, or None. The ledger has written everything up to now when it returns."""
        await self.written()
        name = request.query_params.get("endpoint")
        if name is not None and not await asyncio.to_thread(self.reading.knows, name):
            raise HTTPException(404, f"the ledger has nothing of an endpoint {name!r}")
        return name


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _number(request: Request, name: str, kind: Callable[[str], Number], otherwise: Number) -> Number:
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    try:
        value = kind(text)
    except ValueError:
        raise HTTPException(400, f"{name} is a number, not {text!r}") from None
    if not 0 <= value < inf:
        raise HTTPException(400, f"{name} is zero or more, not {text}")
    return value


def _statement(statement: Statement, models: int) -> Costs:
    return Costs(
        statement.window.since_s,
        statement.window.until_s,
        priced_on=statement.prices.priced_on,
        price_source=statement.prices.source,
        left_out=LEFT_OUT,
        variants=tuple(_bill(bill, models) for bill in statement.bills),
    )


def _bill(bill: VariantBill, models: int) -> VariantCostsRow:
    """The row of one variant: `models` of its models, the dearest first, and one sum of the others."""
    costs, known = bill.costs, bill.costs.models
    ordered = sorted(known, key=lambda one: (-(one.usd or 0.0), -one.busy_s, one.model))
    counted = _together(known)
    return VariantCostsRow(
        costs.endpoint,
        costs.variant,
        counted.requests,
        counted.cold,
        counted.errors,
        counted.busy_s,
        costs.usd,
        costs.idle_usd,
        sizes=tuple(_size(one) for one in costs.sizes),
        models=tuple(ordered[:models]),
        others=_together(ordered[models:]),
        on_aws=bill.on_aws,
        shadow=costs.shadow,
        containers=bill.containers,
        lines=costs.bill.lines,
        components=costs.components,
        faces=_faces(bill, counted),
    )


def _faces(bill: VariantBill, whole: OtherModels) -> tuple[FaceUse, ...]:
    """Each protocol's part of the variant."""
    return tuple(
        FaceUse(
            *(face, one.requests, one.cold, one.errors, one.total_s, one.busy_s),
            None if whole.usd is None else whole.usd * (one.busy_s / whole.busy_s if whole.busy_s else 0.0),
        )
        for face, one in bill.faces
    )


def _size(one: SizeCosts) -> SizeCostsRow:
    return SizeCostsRow(one.size, one.instance_s, one.gb_s, one.moved_bytes, one.usd, one.idle_usd)


def _together(models: Sequence[ModelCosts]) -> OtherModels:
    return OtherModels(
        len(models),
        requests=sum(one.requests for one in models),
        cold=sum(one.cold for one in models),
        errors=sum(one.errors for one in models),
        busy_s=sum(one.busy_s for one in models),
        usd=total(one.usd for one in models),
    )
