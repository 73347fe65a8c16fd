"""The page of cold starts: requests that had to wait for something that a warm one has ready."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.core.pages import Json, picked

LIMIT = 100
"""The page has so many cold starts unless its caller says otherwise."""
LIMIT_MAX = 10_000
"""And never more than this."""


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

    @classmethod
    def read(cls, page: Json) -> "ColdStart":
        load = page["cold"] or {"bytes": 0, "victims": (), "reason": ""}
        of_load = {"loaded_bytes": load["bytes"], "victims": tuple(load["victims"]), "reason": load["reason"]}
        return picked(cls, {**page, **of_load})


def cold_starts_page(records: Sequence[InvocationRecord]) -> Json:
    return {"cold_starts": [record._asdict() for record in records]}


def read_cold_starts(page: Json) -> list[ColdStart]:
    return list(map(ColdStart.read, page["cold_starts"]))
