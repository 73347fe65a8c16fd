"""Asks an endpoint what its ledger says: cold starts, costs, and what the same traffic would cost on AWS."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torpor.calling.connection import EndpointConnection
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.cold_starts import LIMIT, LIMIT_MAX, ColdStart, read_cold_starts

if TYPE_CHECKING:
    from torpor_endpoint.core.pages.costs import Costs

ALL = LIMIT_MAX
"""More than this of anything is not asked for at once."""


@dataclass(frozen=True)
class Which:
    """Whose, and since when: an endpoint or all of them, a time in epoch seconds or as the endpoint has it."""

    endpoint: str | None = None
    since_s: float | None = None

    @property
    def query(self) -> dict[str, str]:
        asked = {"endpoint": self.endpoint, "since_s": self.since_s}
        return {name: str(value) for name, value in asked.items() if value is not None}


def cold_starts(
    connection: EndpointConnection, which: Which, model: str | None = None, limit: int = LIMIT
) -> list[ColdStart]:
    """The latest of them, oldest first. Raises EndpointRefused for an endpoint that the ledger does not know."""
    query = {**which.query, "limit": str(limit), **({} if model is None else {"model": model})}
    return read_cold_starts(connection.json_page(PageName.COLD_STARTS, query))


def costs(connection: EndpointConnection, which: Which, models: int = ALL) -> "Costs":
    """Of the last day unless said otherwise. Raises EndpointRefused for an endpoint that the ledger does not know."""
    from torpor_endpoint.core.pages.costs import Costs  # it brings the prices with it

    return Costs.read(connection.json_page(PageName.COSTS, {**which.query, "models": str(models)}))
