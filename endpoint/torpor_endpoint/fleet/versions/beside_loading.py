"""Asks a pool's instances which versions of a model they have in memory, and has them load others beside these."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from weakref import WeakKeyDictionary

from torpor_account.log_lines import about
from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.upstream import Headers
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_endpoint.core.versions.version_steps import StepKind, VersionStep
from torpor_endpoint.core.versions.version_switching import VersionsInMemory, versions_in
from torpor_endpoint.fleet.ahead_loading import InstanceAway, named_to, resident, why_not_loaded
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

RETRY_S = 60.0
"""How long a version that could not be loaded is left alone."""
AWAY_PAUSE_S = 0.25
ANSWER_WITHIN_S = 10.0

log = logging.getLogger(__name__)

Holders = Mapping[str, set[Incarnation]]
"""The instances that have each model in memory, by its key."""


class BesideLoading:
    """`clock` gives seconds that only go forward. `stepped` gets each step that the instances have made."""

    def __init__(self, clock: Callable[[], float], stepped: Callable[[VersionStep], None]) -> None:
        self._clock = clock
        self._stepped = stepped
        self._failed: WeakKeyDictionary[InstancePool, dict[str, tuple[float, str]]] = WeakKeyDictionary()

    async def look(self, pool: InstancePool, name: str, present: Mapping[int, str]) -> tuple[VersionsInMemory, Holders]:
        """What the pool has of the versions of this name."""
        holders = await resident(pool, below=f"{name}/") if len(pool.ready) else {}
        return versions_in(name, holders, present, self.failures(pool)), holders

    def failures(self, pool: InstancePool) -> dict[str, str]:
        """Why the artifacts that could not be loaded lately were not, by their keys."""
        now_s = self._clock()
        failed = {key: one for key, one in self._failed.get(pool, {}).items() if one[0] > now_s}
        self._failed[pool] = failed
        return {key: why for key, (_, why) in failed.items()}

    def forgive(self, pool: InstancePool, key: str) -> None:
        """The artifact is another one now: it may be tried again."""
        self._failed.get(pool, {}).pop(key, None)

    async def load(self, pool: InstancePool, key: str, copies: int, beside: str) -> None:
        """Have the instances that its calls will come to first load an artifact beside the one that answers; at least
        one of them."""
        began_s = self._clock()
        loads = [
            _why_not_loaded(container, key, named_to(pool, incarnation, key, ()))
            for incarnation in pool.ready.first(key, max(1, copies))
            for container in incarnation.containers
            if container.definition.multi_model
        ]
        results = await asyncio.gather(*loads)
        reasons = [one for one in results if isinstance(one, str)]
        if reasons and None not in results:
            self._failed.setdefault(pool, {})[key] = (self._clock() + RETRY_S, reasons[0])
            text, fields = "%s cannot take over: %s", about(endpoint=pool.endpoint, variant=pool.variant.name)
            log.warning(text, key, reasons[0], extra=fields)
        elif None in results:
            took_s = self._clock() - began_s
            self._stepped(VersionStep(pool.endpoint, pool.variant.name, StepKind.BESIDE, key, beside, took_s))
        else:  # all instances are away, and may be gone: look again
            await asyncio.sleep(AWAY_PAUSE_S)

    async def withdraw(self, pool: InstancePool, keys: Iterable[str]) -> None:
        """Have every instance drop these artifacts, in memory and on disk, once the calls that use them have ended."""
        for key in keys:
            self._stepped(VersionStep(pool.endpoint, pool.variant.name, StepKind.GONE, key))
            await asyncio.gather(*(_withdrawn(one, key) for one in pool.incarnations))


async def _why_not_loaded(container: LiveContainer, key: str, named: Headers) -> str | InstanceAway | None:
    try:
        return await why_not_loaded(container, key, named)
    except InstanceAway as away:
        return away


async def _withdrawn(incarnation: Incarnation, key: str) -> None:
    """Retire the model on this instance, as far as the instance answers: its next incarnation reads S3 anyway."""
    body, headers = json.dumps({"model": spelling_of(key)}).encode(), ((b"content-type", b"application/json"),)
    for container in incarnation.containers:
        if container.definition.multi_model:
            with suppress(UpstreamError):
                await container.upstream.send("POST", wire.RELOAD_MODEL, headers, [body], ANSWER_WITHIN_S)
