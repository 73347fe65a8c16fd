"""The ledger's pages, `/_torpor/cold-starts` and `/_torpor/costs`: what was read of it, as JSON."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from torpor_endpoint.core.pricing.alternatives import LEFT_OUT
from torpor_endpoint.core.pricing.costs import ModelCosts, VariantCosts, total
from torpor_endpoint.ledger.reading import Bill, LedgerReader, Statement

LIMIT = 100
LIMIT_MAX = 10_000
MODELS = 1000
DAY_S = 24 * 3600.0

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Pages:
    """Both show what the ledger was told until now: `written` has all of that written."""

    written: Callable[[], Awaitable[None]]
    reading: LedgerReader

    async def cold_starts_page(self, request: Request) -> Response:
        """The latest cold starts, oldest first (`?endpoint=…&model=…&since_s=<epoch>&limit=…`)."""
        endpoint = await self._endpoint(request)
        model = request.query_params.get("model")
        since_s, limit = _number(request, "since_s", float, 0.0), _number(request, "limit", int, LIMIT)

        def told() -> Response:  # ten thousand rows take long to write out
            found = self.reading.cold_starts(endpoint, model, since_s, min(limit, LIMIT_MAX))
            return JSONResponse({"cold_starts": [one._asdict() for one in found]})

        return await asyncio.to_thread(told)

    async def costs_page(self, request: Request) -> Response:
        """Costs by variant and model (`?endpoint=…&since_s=<epoch>&until_s=<epoch>&models=…`): of the last day unless
        said otherwise, with so many models of each variant, the dearest first."""
        endpoint = await self._endpoint(request)
        until_s = _number(request, "until_s", float, self.reading.clock())
        since_s = _number(request, "since_s", float, max(0.0, until_s - DAY_S))
        models = _number(request, "models", int, MODELS)

        def told() -> Response:
            return JSONResponse(_statement(self.reading.costs(endpoint, since_s, until_s), models))

        return await asyncio.to_thread(told)

    async def _endpoint(self, request: Request) -> str | None:
        """The one asked for. Everything that was told until now is written then."""
        await self.written()
        name = request.query_params.get("endpoint")
        if name is not None and not await asyncio.to_thread(self.reading.knows, name):
            raise HTTPException(404, f"the ledger has nothing of an endpoint {name!r}")
        return name


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


def _statement(statement: Statement, models: int) -> dict[str, Any]:
    return {
        **asdict(statement.window),
        "priced_on": statement.prices.priced_on,
        "price_source": statement.prices.source,
        "left_out": LEFT_OUT,
        "variants": [_bill(bill, models) for bill in statement.bills],
    }


def _bill(bill: Bill, models: int) -> dict[str, Any]:
    known = bill.costs.models
    ordered = sorted(known, key=lambda one: (-(one.usd or 0.0), -one.busy_s, one.model))
    return {
        **_variant(bill.costs, known),
        "models": [asdict(one) for one in ordered[:models]],
        "others": _others(ordered[models:]),
        "on_aws": [asdict(one) for one in bill.on_aws],
    }


def _variant(costs: VariantCosts, models: Sequence[ModelCosts]) -> dict[str, Any]:
    """Without the models: those of each size are not shown."""
    parts = (asdict(replace(part, models=())) for part in costs.sizes)
    sizes = [{name: value for name, value in part.items() if name != "models"} for part in parts]
    names = {"endpoint": costs.endpoint, "variant": costs.variant}
    return {**names, **_counted(models), "usd": costs.usd, "idle_usd": costs.idle_usd, "sizes": sizes}


def _others(left_out: Sequence[ModelCosts]) -> dict[str, Any]:
    """The models that are not shown one by one."""
    return {"models": len(left_out), **_counted(left_out), "usd": total(one.usd for one in left_out)}


def _counted(models: Sequence[ModelCosts]) -> dict[str, float]:
    return {name: sum(getattr(one, name) for one in models) for name in ("requests", "cold", "errors", "busy_s")}
