"""Moves the clocks of ready instances to where the endpoint's clock stands, and says what of the fleet is under way."""

import asyncio
import json
import logging
from collections.abc import Iterator
from math import inf

from torpor_container import wire
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.typed_json import read
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import LiveContainer

ANSWER_WITHIN_S = 30.0
"""The instance answers when the models that leave or come because of the time have done so."""

log = logging.getLogger(__name__)


async def moved(roster: FleetRoster, ahead_s: float) -> float:
    """Have each ready instance be this far ahead of real time. Returns the seconds until something is due in one."""
    containers = [container for pool in _pools(roster) for one in pool.ready for container in one.containers]
    answers = await asyncio.gather(*(_moved(container, ahead_s) for container in containers))
    return min(answers, default=inf)


def under_way(roster: FleetRoster) -> str | None:
    """The first variant whose instances start or leave; None if there is none. One that cannot start is not waited
    for."""
    for pool in _pools(roster):
        starting = pool.size - len(pool.ready)
        if pool.leaving:
            return f"{pool.leaving} instance(s) of {pool.endpoint}/{pool.variant.name} are leaving"
        if starting and pool.trouble is None:
            return f"{starting} instance(s) of {pool.endpoint}/{pool.variant.name} are starting"
    return None


def _pools(roster: FleetRoster) -> Iterator[InstancePool]:
    return (pool for live in roster for pool in live.every_pool)


async def _moved(container: LiveContainer, ahead_s: float) -> float:
    """A container that does not answer has nothing due: its supervisor will notice."""
    body = json.dumps({"ahead_s": ahead_s}).encode()
    headers = ((b"content-type", b"application/json"),)
    try:
        answer = await container.upstream.send("POST", wire.CLOCK, headers, [body], ANSWER_WITHIN_S)
    except UpstreamError as error:
        log.warning("the clock of %s was not moved: %s", container.id, error)
        return inf
    if answer.status != 200:
        log.warning("the clock of %s was not moved: HTTP %d", container.id, answer.status)
        return inf
    due_s = read(wire.MovedClock, json.loads(answer.body))["due_s"]
    return inf if due_s is None else max(0.0, due_s)
