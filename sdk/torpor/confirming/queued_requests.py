"""The requests of an asynchronous endpoint: waits until all of them are over, and says what each took."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.errors import TorporError
from torpor.pages import async_requests
from torpor_container.waiting.quiet_time import QuietClock
from torpor_endpoint.core.async_inference.requests import AsyncState
from torpor_endpoint.core.pages.async_requests import LIMIT_MAX, RUNNING, AsyncRequestRow

REQUESTS_MAX = LIMIT_MAX
"""As many requests can be read again."""
POLL_S = 0.1
NO_END_S = 900.0
"""How long no request may end, in quiet time: as long as one invocation may take."""


@dataclass(frozen=True)
class QueuedOutcomes:
    """What became of queued requests: how long each took, from its arrival to its end, and whether it has a result."""

    taken_s: NDArray[np.float64]
    good: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: list[AsyncRequestRow]) -> "QueuedOutcomes":
        taken_s = [(one.ended_s or one.received_s) - one.received_s for one in rows]
        good = [one.state == AsyncState.COMPLETED for one in rows]
        return cls(np.array(taken_s, np.float64), np.array(good, np.bool_))


def until_over(endpoint: ConfirmingEndpoint) -> None:
    """Wait until no request waits or runs. Raises TorporError if none of them ends for a long time."""
    last, clock = -1, QuietClock()
    while (left := _left(endpoint)) > 0:
        if left != last:
            last, clock = left, QuietClock()
        elif clock() > NO_END_S:
            raise TorporError(f"{left:,} asynchronous requests to {endpoint.name} do not end")
        time.sleep(POLL_S)


def outcomes(endpoint: ConfirmingEndpoint, since_s: float) -> QueuedOutcomes:
    """Of the requests that came since then, by the endpoint's clock."""
    rows = async_requests.requests(endpoint.connection, endpoint.name, limit=LIMIT_MAX)
    return QueuedOutcomes.of([one for one in rows if one.received_s >= since_s])


def _left(endpoint: ConfirmingEndpoint) -> int:
    return sum(
        len(async_requests.requests(endpoint.connection, endpoint.name, state=state, limit=LIMIT_MAX))
        for state in (AsyncState.QUEUED.value, RUNNING)
    )
