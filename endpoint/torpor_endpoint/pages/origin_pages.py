"""The page of a model's origin: asks the instances what they loaded, S3 what it has, and the registry who made it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace

from starlette.responses import JSONResponse, Response

from torpor_account.s3.access.embedded import NotStored, Storage, StorageError
from torpor_endpoint.core.pages.cold_starts import ColdStart
from torpor_endpoint.core.pages.model_origins import Makers, ModelOrigin, StoredObject, compared, origins_page
from torpor_endpoint.core.pages.state import VariantState
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint

MakersOf = Callable[[str, str], Makers]
"""Who made the artifact at an address, with this digest (empty: not known). It may block."""
LatestColdStarts = Callable[[str, str], Awaitable[tuple[ColdStart, ...]]]


class OriginPages:
    """Answers for an endpoint that is in service."""

    def __init__(self, storage: Storage, makers: MakersOf, latest: LatestColdStarts) -> None:
        """`latest`: the latest cold starts of an endpoint's model, oldest first."""
        self._storage = storage
        self._makers = makers
        self._latest = latest

    async def show(self, live: FleetEndpoint, variants: list[VariantState], model: str) -> Response:
        """The origin of the model on each instance that has it in memory; else that of its last load."""
        found = list(_resident(live, variants, model))
        if not found:
            found = list(_remembered(live, await self._latest(live.name, model), model))
        return JSONResponse(origins_page(await asyncio.to_thread(lambda: list(map(self._told, found)))))

    def _told(self, origin: ModelOrigin) -> ModelOrigin:
        if not origin.url.startswith("s3://"):
            return origin
        made_by = self._makers(origin.url, origin.digest)
        bucket, _, key = origin.url.removeprefix("s3://").partition("/")
        try:
            head = self._storage.head(bucket, key)
        except NotStored:
            return replace(compared(origin, None), made_by=made_by)
        except StorageError:  # S3 is away: what it has now is not known
            return replace(origin, made_by=made_by)
        return replace(compared(origin, StoredObject(head.etag, head.artifact_version)), made_by=made_by)


def _resident(live: FleetEndpoint, variants: list[VariantState], model: str) -> Iterator[ModelOrigin]:
    for variant in variants:
        definitions = _containers(live, variant.name)
        for instance in variant.instances:
            for container in instance.containers:
                for found in container.models:
                    if found.name == model:
                        url = _url(definitions.get(container.name), model)
                        yield ModelOrigin(model, variant.name, instance.id, url, found.artifact_version, found.digest)


def _remembered(live: FleetEndpoint, latest: tuple[ColdStart, ...], model: str) -> Iterator[ModelOrigin]:
    """The last load that the ledger knows with a digest."""
    for cold in reversed(latest):
        if cold.digest:
            many = [one for one in _containers(live, cold.variant).values() if one.multi_model]
            url = _url(many[0] if len(many) == 1 else None, model)
            loaded = cold.artifact_version, cold.digest
            yield ModelOrigin(model, cold.variant, cold.instance, url, *loaded, loaded_s=cold.at_s)
            return


def _containers(live: FleetEndpoint, variant: str) -> Mapping[str, Container]:
    pool = live.by_key.get(variant)
    return {} if pool is None else {one.name: one for one in pool.variant.containers}


def _url(container: Container | None, model: str) -> str:
    """The address of the model's object; empty where that is not known."""
    if container is None or container.model_data_url is None:
        return ""
    if not container.multi_model:
        return container.model_data_url
    return f"{container.model_data_url.removesuffix('/')}/{model}"
