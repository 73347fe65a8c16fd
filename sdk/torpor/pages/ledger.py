"""Reads cold starts and costs from an endpoint's ledger, with the costs of the same traffic on AWS; or all of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torpor.calling.connection import EndpointConnection
from torpor_container.typed_json import read
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.cold_starts import LIMIT, LIMIT_MAX, ColdStart, ColdStarts

if TYPE_CHECKING:
    from torpor_endpoint.core.pages.costs import Costs

WHOLE_WITHIN_S = 300.0
"""A ledger of two weeks may have millions of rows."""
ALL = LIMIT_MAX
"""The largest limit, for a request that wants all rows."""


@dataclass(frozen=True)
class Which:
    """Selects rows: of one endpoint or of all (None), since a time in epoch seconds or the default (None). Costs also
    end at a time, which is now by default (None)."""

    endpoint: str | None = None
    since_s: float | None = None
    until_s: float | None = None

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the page."""
        parameters = {"endpoint": self.endpoint, "since_s": self.since_s, "until_s": self.until_s}
        return {name: str(value) for name, value in parameters.items() if value is not None}


def cold_starts(
    connection: EndpointConnection, which: Which, model: str | None = None, limit: int = LIMIT
) -> list[ColdStart]:
    """The latest cold starts, oldest first. Raises EndpointRefused for an endpoint that the ledger does not know."""
    return list(counted_cold_starts(connection, which, model, limit).rows)


def counted_cold_starts(
    connection: EndpointConnection, which: Which, model: str | None = None, limit: int = LIMIT
) -> ColdStarts:
    """As `cold_starts`, with how many there are without the limit."""
    query = {**which.query, "limit": str(limit), **({} if model is None else {"model": model})}
    return ColdStarts.read(connection.json_page(PageName.COLD_STARTS, query))


def costs(connection: EndpointConnection, which: Which, models: int = ALL) -> "Costs":
    """The costs, of the last day by default. Raises EndpointRefused for an endpoint that the ledger does not know."""
    from torpor_endpoint.core.pages.costs import Costs  # it imports the price tables

    return read(Costs, connection.json_page(PageName.COSTS, {**which.query, "models": str(models)}))


def whole(connection: EndpointConnection) -> bytes:
    """The ledger as a SQLite file."""
    return connection.page(PageName.LEDGER, timeout_s=WHOLE_WITHIN_S)
