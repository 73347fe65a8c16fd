"""What an endpoint's ledger says, as values: cold starts, costs, and what the same traffic would cost on AWS."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor.pages.state import picked

ALL = 10_000
"""More than this of anything is not asked for at once."""


@dataclass(frozen=True)
class ColdStart:
    """A request that had to wait for something that a warm one has ready."""

    at_s: float  # epoch seconds
    endpoint: str
    variant: str
    model: str  # "" on a single-model variant
    instance: str  # "" if it never reached one
    status: int
    total_s: float
    steps: Mapping[str, float]  # seconds by step, in their order; they add up to `total_s`
    request_id: str = ""
    request_bytes: int = 0
    response_bytes: int = 0
    loaded_bytes: int = 0  # what the model takes in memory; 0 where it was there
    victims: tuple[str, ...] = ()  # the models that left for it
    reason: str = ""  # why it was not in memory


@dataclass(frozen=True)
class ModelCostsRow:
    """A model's share of what its variant cost. `usd` is None where a price is not known, here and below."""

    model: str
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class SizeCostsRow:
    """A variant's instances of one size."""

    size: str  # an ml.* type, `serverless-<memory in MiB>`, or "" for requests that never reached an instance
    instance_s: float
    gb_s: float
    moved_bytes: int
    usd: float | None


@dataclass(frozen=True)
class OtherModels:
    """The models that are not told one by one."""

    models: int
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class Alternative:
    """The same traffic served in another way, on AWS."""

    way: str
    usd: float | None
    assumes: str


@dataclass(frozen=True)
class VariantCostsRow:
    endpoint: str
    variant: str
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None
    idle_usd: float | None
    sizes: tuple[SizeCostsRow, ...]
    models: tuple[ModelCostsRow, ...]  # the dearest first
    others: OtherModels
    on_aws: tuple[Alternative, ...]


@dataclass(frozen=True)
class Costs:
    """Over one stretch of time, which is as long as was asked for or as far back as the ledger goes."""

    since_s: float  # epoch seconds
    until_s: float
    priced_on: str
    price_source: str
    left_out: str  # what is in none of the figures
    variants: tuple[VariantCostsRow, ...]


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
    connection: EndpointConnection, which: Which, model: str | None = None, limit: int = 100
) -> list[ColdStart]:
    """The latest of them, oldest first. Raises EndpointRefused for an endpoint that the ledger does not know."""
    query = {**which.query, "limit": str(limit), **({} if model is None else {"model": model})}
    return [_cold_start(page) for page in connection.json_page("cold-starts", query)["cold_starts"]]


def costs(connection: EndpointConnection, which: Which, models: int = ALL) -> Costs:
    """Of the last day unless said otherwise. Raises EndpointRefused for an endpoint that the ledger does not know."""
    page = connection.json_page("costs", {**which.query, "models": str(models)})
    return picked(Costs, {**page, "variants": tuple(_variant(variant) for variant in page["variants"])})


def _cold_start(page: dict[str, Any]) -> ColdStart:
    load = page["cold"] or {"bytes": 0, "victims": (), "reason": ""}
    told = {"loaded_bytes": load["bytes"], "victims": tuple(load["victims"]), "reason": load["reason"]}
    return picked(ColdStart, {**page, **told})


def _variant(page: dict[str, Any]) -> VariantCostsRow:
    parts = {
        name: tuple(picked(record, part) for part in page[name])
        for name, record in (("sizes", SizeCostsRow), ("models", ModelCostsRow), ("on_aws", Alternative))
    }
    return picked(VariantCostsRow, {**page, **parts, "others": picked(OtherModels, page["others"])})
