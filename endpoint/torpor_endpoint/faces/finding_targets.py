"""Finds the TargetModel that a face's client means by a model's name: the object below the prefix, perhaps without the
ending of its archive."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from torpor_account.s3.access.embedded import StorageError
from torpor_container.core.near_names import SUFFIXES
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint

ENDINGS = (*SUFFIXES, ".zip", ".onnx", ".ubj", ".json", ".joblib", ".pkl", ".skops", ".model", ".txt")
"""A name that ends so is a TargetModel as it stands: nothing is looked up for it."""
KNOWN_MAX = 4096


class ModelListing(Protocol):
    """Where models are stored."""

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """All keys that begin with the prefix, in order. Raises StorageError."""

    def head(self, bucket: str, key: str) -> object:
        """Raises StorageError if there is no such object, or it cannot be read."""


class Targets:
    """The names that were looked up, and what they meant. `storage` is None where objects cannot be listed."""

    def __init__(self, storage: ModelListing | None) -> None:
        self._storage = storage
        self._known: dict[tuple[str, str], tuple[Sequence[VariantPool], str]] = {}
        """By endpoint and name: the pools of that moment, since others may have another prefix, and the target."""

    def known(self, live: ServedEndpoint, model: str) -> str | None:
        """The target, if it need not be looked up; else None."""
        if self._storage is None or model.endswith(ENDINGS):
            return model
        pools, target = self._known.get((live.name, model), ((), ""))
        return target if pools is live.every_pool else None

    async def found(self, live: ServedEndpoint, model: str) -> str:
        """The target: the object of this very name, else the archive that is called so. The name itself where there is
        neither, which InvokeEndpoint then refuses."""
        target = self.known(live, model)
        if target is not None:
            return target
        target = await asyncio.to_thread(self._looked_up, live, model)
        if target is None:
            return model
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[live.name, model] = live.every_pool, target
        return target

    async def exists(self, live: ServedEndpoint, target: str) -> bool:
        """Whether there is an object of this name. True where that cannot be known, or the endpoint has one model."""
        if self._storage is None or not any(_prefixes(live)):
            return True
        return await asyncio.to_thread(self._is_stored, live, target)

    async def listed(self, live: ServedEndpoint) -> list[str]:
        """The models of an endpoint of many: every object below its prefix. Empty where that cannot be read."""
        return await asyncio.to_thread(self._listed, live)

    def _looked_up(self, live: ServedEndpoint, model: str) -> str | None:
        """A few objects are asked for, however many there are: whoever asks for names that there are not lists none."""
        names = (model, *(f"{model}{ending}" for ending in SUFFIXES))
        return next((name for name in names if self._is_stored(live, name)), None)

    def _is_stored(self, live: ServedEndpoint, target: str) -> bool:
        assert self._storage is not None, "nothing is looked up without a storage"
        for bucket, prefix in dict.fromkeys(_prefixes(live)):
            with suppress(StorageError):  # the request itself tells its caller what is wrong
                self._storage.head(bucket, f"{prefix}{target}")
                return True
        return False

    def _listed(self, live: ServedEndpoint) -> list[str]:
        return list(dict.fromkeys(key for key in self._keys(live) if key and not key.endswith("/")))

    def _keys(self, live: ServedEndpoint) -> Iterator[str]:
        assert self._storage is not None, "nothing is looked up without a storage"
        for bucket, prefix in dict.fromkeys(_prefixes(live)):
            try:
                for key in self._storage.keys(bucket, prefix):
                    yield key.removeprefix(prefix)
            except StorageError:  # as above
                continue


def _prefixes(live: ServedEndpoint) -> Iterator[tuple[str, str]]:
    """Bucket and prefix of each container of many models."""
    for pool in live.every_pool:
        for container in pool.variant.containers:
            if container.multi_model and container.model_data_url is not None:
                bucket, _, prefix = container.model_data_url.removeprefix("s3://").partition("/")
                yield bucket, prefix if prefix.endswith("/") or not prefix else f"{prefix}/"
