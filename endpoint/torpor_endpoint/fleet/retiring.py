"""Makes each instance load a model again from S3 for the requests that come from now on.

Several variants and endpoints may serve the same object: the model is retired in all of them.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException

from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.upstream_answers import UpstreamError, UpstreamRefused
from torpor_container.typed_json import read
from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.state import retired_page
from torpor_endpoint.fleet.ahead_loading import LOADED_WITHIN_S
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

ANSWER_WITHIN_S = 10.0
BESIDE: Final = "beside"
"""The value of TORPOR_UPDATE with which a newer version is loaded beside the older one."""


class ModelPlace(NamedTuple):
    """One instance that may have a model: its pool, a container of it, and the model as a caller of it names it."""

    pool: InstancePool
    incarnation: Incarnation
    container: LiveContainer
    target: str


async def retired(roster: FleetRoster, live: FleetEndpoint, model: str, path: str) -> Json:
    """Retire the model on each instance, and return what each did. Where TORPOR_UPDATE is `beside`, a reload returns
    once the newer version answers. Raises HTTPException if an instance refuses."""
    objects = {folder + model.removeprefix("/") for _, _, folder in _folders(live)}
    if not objects:
        raise HTTPException(
            400, f"endpoint {live.name} serves no models by name: UpdateEndpoint replaces its one model"
        )
    places = [place for other in roster for place in places_of(other, objects)]
    answers = await asyncio.gather(*(_retire(place, path) for place in places))
    return {"endpoint": live.name, "model": model.removeprefix("/"), "instances": [one for one in answers if one]}


def _folders(live: FleetEndpoint) -> Iterator[tuple[InstancePool, int, str]]:
    """Each multi-model container, those of a fleet that a rollout brings too: its pool, its place in it, and the S3
    prefix of its models."""
    for pool in live.every_pool:
        for number, container in enumerate(pool.variant.containers):
            if container.multi_model and container.model_data_url is not None:
                url = container.model_data_url
                yield pool, number, url if url.endswith("/") else f"{url}/"


def places_of(live: FleetEndpoint, objects: set[str]) -> Iterator[ModelPlace]:
    """Where the models of these objects may be, by their S3 addresses."""
    for pool, number, folder in _folders(live):
        for name in (url.removeprefix(folder) for url in objects if url.startswith(folder)):
            target = spelling_of(name)
            for incarnation in pool.incarnations:
                if number < len(incarnation.containers):  # it may not run yet
                    yield ModelPlace(pool, incarnation, incarnation.containers[number], target)


async def updated(place: ModelPlace) -> wire.LeavingModel | None:
    """Have the instance bring the model up to date beside the older version. None for an instance that does not run:
    its next incarnation reads S3 anyway. Raises HTTPException if the instance refuses."""
    return await _told(place, wire.UPDATE_MODEL, LOADED_WITHIN_S)


async def _retire(place: ModelPlace, path: str) -> Json | None:
    """What the instance did; None for an instance that does not run."""
    beside = path == wire.RELOAD_MODEL and place.pool.settings.update == BESIDE
    outgoing = await updated(place) if beside else await _told(place, path, ANSWER_WITHIN_S)
    if outgoing is None:
        return None
    return retired_page(place.pool.endpoint, place.pool.variant.name, place.incarnation.id, outgoing)


async def _told(place: ModelPlace, path: str, within_s: float) -> wire.LeavingModel | None:
    """The instance's answer; None for an instance that does not run."""
    body = json.dumps({"model": place.target}).encode()
    headers, instance = ((b"content-type", b"application/json"),), place.incarnation.id
    try:
        answer = await place.container.upstream.send("POST", path, headers, [body], within_s)
    except UpstreamRefused:
        return None
    except UpstreamError as error:
        text = f"instance {instance} of {place.pool.endpoint} did not answer: {error}"
        raise HTTPException(503, text) from error
    if answer.status != 200:
        message = json.loads(answer.body).get("message", "")
        raise HTTPException(400 if answer.status < 500 else 503, f"instance {instance}: {message}")
    return read(wire.LeavingModel, json.loads(answer.body))
