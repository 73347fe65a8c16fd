"""Has instances load models before a call comes: for a fleet that a rollout brings, and for new versions of models."""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import TypeVar

from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.upstream import Headers
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.asked_state import NO_DECISIONS, state_of
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

T = TypeVar("T")

LOADED_WITHIN_S = 600.0
AT_ONCE_MAX = 1_000
"""More models are put together in a worker thread."""


class InstanceAway(Exception):
    """The instance gave no answer: it says nothing about the model."""


async def resident(pool: InstancePool, below: str = "") -> dict[str, set[Incarnation]]:
    """The models in the memory of the pool's ready instances whose names begin with `below`, with those that have
    each."""
    containers = [
        (incarnation, container)
        for incarnation in pool.ready
        for container in incarnation.containers
        if container.definition.multi_model
    ]
    states = await asyncio.gather(*(state_of(one, after=NO_DECISIONS, below=below) for _, one in containers))
    told = [(one, state) for (one, _), state in zip(containers, states, strict=True) if state is not None]
    if sum(len(state["models"]) for _, state in told) > AT_ONCE_MAX:
        return await asyncio.to_thread(_holders, told)
    return _holders(told)


def _holders(told: Sequence[tuple[Incarnation, wire.InstanceStatus]]) -> dict[str, set[Incarnation]]:
    found: dict[str, set[Incarnation]] = {}
    for incarnation, state in told:
        for model in state["models"]:
            found.setdefault(model["name"], set()).add(incarnation)
    return found


async def in_turns(loads: Iterator[Awaitable[T]], at_once: int) -> list[T]:
    """What all loads return, in the order in which they end. So many go on at a time, and none is made before its turn:
    there may be as many as models."""
    ended: list[T] = []

    async def worker() -> None:
        for load in loads:
            ended.append(await load)

    await asyncio.gather(*(worker() for _ in range(at_once)))
    return ended


def named_to(pool: InstancePool, instance: Incarnation, name: str, holders: Iterable[Incarnation]) -> Headers:
    """What an order to load a model tells an instance of this pool, if its instances share artifacts: who has the
    model. `holders` may be another pool's."""
    return () if pool.neighbours is None else pool.neighbours.order(name, instance, holders)


async def why_not_loaded(container: LiveContainer, name: str, named: Headers = ()) -> str | None:
    """Have the container load a model. `named` tell it who has the artifact (`named_to`), and why (`because`). Returns
    why it did not; None once the model is in memory.

    Raises InstanceAway.
    """
    body, headers = json.dumps({"model": spelling_of(name)}).encode(), (b"content-type", b"application/json")
    try:
        answer = await container.upstream.send("POST", wire.LOAD_MODEL, [headers, *named], [body], LOADED_WITHIN_S)
    except UpstreamError as error:
        raise InstanceAway(str(error)) from error
    if answer.status == 200:
        return None
    try:
        message = json.loads(answer.body).get("message", "")
    except (ValueError, AttributeError, RecursionError):
        message = ""
    return message or f"HTTP {answer.status}"
