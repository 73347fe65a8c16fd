"""What a caller may see of an endpoint's models: those that its prefix holds, and which are in memory."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from torpor_account.aws.wire.asgi import ACCESS, Scope
from torpor_account.core.access.needs import CallerAccess
from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.core.versions.version_answers import AnsweringVersions
from torpor_endpoint.faces.choosing_endpoints import endpoint_for, kind_of, named_endpoint
from torpor_endpoint.faces.finding_models import ONLY_VERSION, FoundModel, answering_of
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.in_service.asked_state import NO_DECISIONS, state_of
from torpor_endpoint.in_service.asked_tiers import tiers_of


class SeenModel(NamedTuple):
    """One model, or one version of a model with versions."""

    name: str
    version: str
    loaded: bool


class ModelsInSight:
    """`in_path` is the endpoint that a path names, or None."""

    def __init__(self, roster: FleetRoster, targets: Targets) -> None:
        self._roster = roster
        self._targets = targets

    def live(self, scope: Scope, in_path: str | None, model: str = "") -> FleetEndpoint:
        """Raises NoSuchEndpoint."""
        name = endpoint_for(named_endpoint(scope, in_path, self._roster), model, self._roster).name
        live = self._roster.get(name)
        assert live is not None, "it was found in this roster"
        return live

    async def models(self, scope: Scope, in_path: str | None, only_loaded: bool = False) -> list[SeenModel]:
        """Each model that the caller may invoke. Raises NoSuchEndpoint."""
        live = self.live(scope, in_path)
        every = await self._every(live, only_loaded)
        if scope.get(ACCESS) is not None:
            names = set(await self.visible(live, scope, dict.fromkeys(one.name for one in every)))
            every = await asyncio.to_thread(lambda: [one for one in every if one.name in names])
        return every

    async def seen(self, scope: Scope, in_path: str | None) -> dict[str, bool]:
        """By the name of each model that the caller may invoke, whether it is in memory; of one with versions, any."""
        models = await self.models(scope, in_path)

        def by_name() -> dict[str, bool]:
            found: dict[str, bool] = {}
            for one in models:
                found[one.name] = found.get(one.name, False) or one.loaded
            return found

        return await asyncio.to_thread(by_name)

    async def is_loaded(self, found: FoundModel, model: str) -> bool:
        """Whether a model that was found by this name is in memory."""
        live = self._roster.get(found.live.name)
        if live is None:
            return False
        if not kind_of(live).many or kind_of(live).components:
            return any(one.loaded for one in _without_names(live) if one.name in (model, live.name))
        answering = answering_of(live, model)
        keys = {found.target} if answering is None else set(answering.artifacts.values())
        instances = [one for pool in live.every_pool for one in pool.ready]
        tiers = await asyncio.gather(*(tiers_of(one, sorted(keys)) for one in instances))
        return any(ModelTier.MEMORY in found.values() for found in tiers if found is not None)

    async def resident(self, live: FleetEndpoint) -> list[wire.LoadedModel]:
        """The models in memory of any instance of the endpoint."""
        containers = [one for pool in live.every_pool for incarnation in pool.ready for one in incarnation.containers]
        states = await asyncio.gather(*(state_of(container, after=NO_DECISIONS) for container in containers))
        return list(chain.from_iterable(state["models"] for state in states if state is not None))

    async def visible(self, live: FleetEndpoint, scope: Scope, names: Iterable[str]) -> list[str]:
        """Those that the caller may invoke."""
        access: CallerAccess | None = scope.get(ACCESS)
        if access is None:
            return list(names)
        many = kind_of(live).many

        def allowed() -> list[str]:
            def may(name: str) -> bool:
                need = invocation("InvokeEndpoint", live.name, spelling_of(name) if many else None, access.place)
                return access.decide(need).allowed

            return list(filter(may, names))

        return await asyncio.to_thread(allowed)

    async def _every(self, live: FleetEndpoint, only_loaded: bool) -> list[SeenModel]:
        if not kind_of(live).many or kind_of(live).components:
            return [one for one in _without_names(live) if one.loaded or not only_loaded]
        resident = await self.resident(live)
        listed = [] if only_loaded else await self._targets.listed(live)
        return await asyncio.to_thread(_put_together, resident, listed, _versions(live), only_loaded)


def _put_together(
    resident: Sequence[wire.LoadedModel],
    listed: Sequence[str],
    versions: Mapping[str, AnsweringVersions],
    only_loaded: bool,
) -> list[SeenModel]:
    """There may be thousands of them: this runs in a worker thread."""
    loaded = {model["name"] for model in resident}
    keys = {key for answering in versions.values() for key in answering.artifacts.values()}
    plain = [name for name in dict.fromkeys([*listed, *sorted(loaded)]) if name not in keys]
    every = [
        *(SeenModel(name, ONLY_VERSION, name in loaded) for name in plain),
        *(
            SeenModel(name, str(number), key in loaded)
            for name, answering in versions.items()
            for number, key in sorted(answering.artifacts.items())
        ),
    ]
    return [one for one in every if one.loaded or not only_loaded]


def _without_names(live: FleetEndpoint) -> Iterator[SeenModel]:
    """The models of an endpoint whose requests name none: in memory where an instance is ready."""
    if not kind_of(live).components:
        yield SeenModel(live.name, ONLY_VERSION, any(pool.ready for pool in live.every_pool))
        return
    for name, pools in live.generations.items():
        yield SeenModel(name, ONLY_VERSION, any(pool.ready for pool in pools))
    for name, base in live.adapters.items():
        yield SeenModel(name, ONLY_VERSION, any(pool.ready for pool in live.generations.get(base, ())))


def _versions(live: FleetEndpoint) -> Mapping[str, AnsweringVersions]:
    """What answers each name with versions."""
    found: dict[str, AnsweringVersions] = {}
    for pool in live.every_pool:
        found = {**(pool.versions.names if pool.versions is not None else {}), **found}
    return found
