"""The page of cold starts: the requests that had to wait for a step that a warm request does not need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torpor_container import wire
from torpor_container.typed_json import read
from torpor_endpoint.core.ledger_records import InvocationRecord
from torpor_endpoint.core.pages import Json

LIMIT = 100
"""The number of cold starts on the page, unless the request gives a limit."""
LIMIT_MAX = 10_000
"""The largest limit."""
LATEST, SLOWEST = "latest", "slowest"
"""The orders of the page."""
TOLD = 5
"""The number of cold starts in the story of a model about which no running instance has decided anything."""


@dataclass(frozen=True)
class ColdStart:
    """A request that had to wait for a step that a warm request does not need."""

    at_s: float  # epoch seconds
    endpoint: str
    variant: str
    model: str  # "" on a single-model variant
    instance: str  # "" if the request never reached one
    status: int
    total_s: float
    steps: Mapping[str, float]  # seconds by step, in the order of the steps; they add up to `total_s`
    request_id: str = ""
    request_bytes: int = 0
    response_bytes: int = 0
    loaded_bytes: int = 0  # the model's size in memory; 0 if it was there already
    victims: tuple[str, ...] = ()  # the models that were evicted for it
    reason: str = ""  # why the model was not in memory
    fetched_from: str = ""  # `neighbour` or `s3`, of an artifact that this request had fetched and instances share
    inference_id: str = ""  # the caller's InferenceId, if it sent one
    container_s: Mapping[str, float] = field(default_factory=dict)  # seconds in each container of a pipeline, in order
    shadow: bool = False  # a copy of a request, which a shadow variant got
    artifact_version: str = ""  # of the artifact that was loaded, as its store names it
    digest: str = ""  # the SHA-256 of that artifact's bytes, in hex; "" if nothing was loaded, or it is not known
    face: str = ""  # the protocol's face by which it came; "" for SageMaker's own
    choice: str = ""  # why this model answers a request that named a group; "" for one that named a model


KNOWN_OF_ARTIFACT = ("artifact_version", "digest", "fetched_from")


def cold_starts_page(records: Sequence[InvocationRecord], of: Mapping[str, int]) -> Json:
    """`of`: by endpoint, how many cold starts there are without a limit."""
    return {"cold_starts": [record._asdict() for record in records], "of": of}


@dataclass(frozen=True)
class ColdStarts:
    """The page. `of`: by endpoint, how many cold starts there are without a limit."""

    rows: tuple[ColdStart, ...]
    of: Mapping[str, int]

    @classmethod
    def read(cls, page: Json) -> "ColdStarts":
        return read(cls, {"rows": list(map(_row, page["cold_starts"])), "of": page["of"]})


def _row(page: Json) -> Json:
    """What the page has of one cold start, with the figures of the model's load among the others."""
    load: wire.ColdLoad | None = page["cold"]
    if load is None:
        return page
    artifact: Json = {name: value for name, value in load.items() if name in KNOWN_OF_ARTIFACT}
    return {**page, **artifact, "loaded_bytes": load["bytes"], "victims": load["victims"], "reason": load["reason"]}
