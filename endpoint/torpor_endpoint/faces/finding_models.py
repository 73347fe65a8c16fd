"""Finds the model that a request of a face is for: its endpoint, its target, and whether its caller may invoke it."""

from typing import NamedTuple

from torpor_account.aws.wire.asgi import ACCESS, Headers, Scope
from torpor_account.core.access.needs import CallerAccess
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.core.sending.machine import TARGET_MODEL
from torpor_endpoint.faces.choosing_endpoints import (
    NoSuchEndpoint,
    NoSuchModel,
    endpoint_for,
    named_endpoint,
    naming_headers,
)
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints


class FoundModel(NamedTuple):
    """`headers` name the model, as InvokeEndpoint does."""

    live: ServedEndpoint
    target: str
    headers: Headers


class FaceModels:
    """The models of all endpoints, as faces name them. `in_path` is the endpoint that a path names, or None."""

    def __init__(self, roster: ServedEndpoints, targets: Targets) -> None:
        self.roster = roster
        self.targets = targets

    def at_once(self, scope: Scope, in_path: str | None, model: str) -> FoundModel | None:
        """The model, where nothing has to be looked up; None also for one that `found` refuses. It asks no rights."""
        try:
            live = self.live(scope, in_path, model)
            target = self.targets.known(live, model)
            return None if target is None else FoundModel(live, target, naming_headers(live, model, target))
        except (NoSuchEndpoint, NoSuchModel):
            return None

    async def found(self, scope: Scope, in_path: str | None, model: str) -> FoundModel:
        """The model, for a caller who may invoke it. Raises NoSuchEndpoint, NoSuchModel, AccessRefused."""
        live = self.live(scope, in_path, model)
        target = await self.targets.found(live, model)
        access: CallerAccess | None = scope.get(ACCESS)
        if access is not None:
            named = target if any(pool.variant.multi_model for pool in live.every_pool) else None
            access.check((invocation("InvokeEndpoint", live.name, named, access.place),))
        return FoundModel(live, target, naming_headers(live, model, target))

    async def existing(self, scope: Scope, in_path: str | None, model: str) -> FoundModel:
        """As `found`, for a model that is stored. Raises NoSuchModel for any other."""
        found = await self.found(scope, in_path, model)
        if any(name == TARGET_MODEL for name, _ in found.headers) and not await self.targets.exists(
            found.live, found.target
        ):
            raise NoSuchModel(model)
        return found

    def live(self, scope: Scope, in_path: str | None, model: str) -> ServedEndpoint:
        """Raises NoSuchEndpoint."""
        return endpoint_for(named_endpoint(scope, in_path, self.roster), model, self.roster)
