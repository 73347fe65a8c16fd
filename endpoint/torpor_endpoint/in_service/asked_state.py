"""Asks one container for its state: what it tells of its memory, its models and its decisions."""

import asyncio
import json
from urllib.parse import urlencode

from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.typed_json import read
from torpor_endpoint.in_service.incarnation import LiveContainer

ANSWER_WITHIN_S = 2.0
"""How long a container may take to report its state."""
NO_DECISIONS = 2**62
"""A number after every decision's: an instance that gets it sends its state without decisions."""
READ_AT_ONCE_BYTES = 64 * 1024
"""A larger state, of some hundreds of models, is read in a worker thread: the event loop stays free."""


async def state_of(
    container: LiveContainer,
    after: int = 0,
    model: str = "",
    most: int | None = None,
    since: int | None = None,
    below: str = "",
) -> wire.InstanceStatus | None:
    """The container's own report of its state; None if it does not answer.

    The report has the decisions later than number `after`, and only those about `model` if it is given. It has all
    models in memory, the `most` that were called last, or those that changed `since` a report; of all these, only those
    whose names begin with `below`.
    """
    asked = {"after": after, "model": model or None, "most": most, "since": since, "below": below or None}
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    path = f"{wire.STATE}?{query}"
    try:
        answer = await container.upstream.send("GET", path, (), [], ANSWER_WITHIN_S)
    except UpstreamError:
        return None
    if answer.status != 200:
        return None
    if len(answer.body) > READ_AT_ONCE_BYTES:
        return await asyncio.to_thread(_status, answer.body)
    return _status(answer.body)


def _status(body: bytes) -> wire.InstanceStatus:
    return read(wire.InstanceStatus, json.loads(body))
