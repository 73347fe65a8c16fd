"""The page of asynchronous requests: where each one is, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from torpor_container.typed_json import read, written
from torpor_endpoint.core.async_inference.requests import AsyncState, KeptRequest
from torpor_endpoint.core.pages import Json

LIMIT = 100
"""The number of requests on the page, unless the caller gives a limit."""
LIMIT_MAX = 10_000
"""The largest limit."""
RUNNING = "Running"
"""The state, beside those of `AsyncState`, of a request that an instance has now."""
STATES = (*AsyncState, RUNNING)


@dataclass(frozen=True)
class AsyncRequestRow:
    """One asynchronous request. Times are epoch seconds."""

    number: int  # its place in the order of arrival
    inference_id: str
    endpoint: str
    variant: str
    state: str  # Queued, Running, Completed, Failed, Expired or Cancelled
    received_s: float
    expires_s: float
    output: str  # the address of its result
    model: str = ""  # "" on a single-model variant
    input: str = ""  # the address of its input; "" if the request carried it
    failure: str = ""  # the address of its failure object; "" if its endpoint has no S3FailurePath
    ended_s: float | None = None
    reason: str = ""  # why it has no result
    attempts: int = 0  # how often it was sent to an instance

    @property
    def over(self) -> bool:
        return self.ended_s is not None


def row(kept: KeptRequest, running: bool) -> AsyncRequestRow:
    """`running`: an instance has the request now."""
    request = kept.request
    return AsyncRequestRow(
        kept.number,
        request.inference_id,
        request.endpoint,
        request.variant,
        RUNNING if running and kept.state is AsyncState.QUEUED else kept.state.value,
        request.received_s,
        request.expires_s,
        request.output,
        request.target or "",
        request.input or "",
        request.failure or "",
        kept.ended_s,
        kept.reason or "",
        kept.attempts,
    )


def requests_page(rows: Sequence[AsyncRequestRow]) -> Json:
    return {"requests": written(rows)}


def read_requests(page: Json) -> list[AsyncRequestRow]:
    return read(list[AsyncRequestRow], page["requests"])
