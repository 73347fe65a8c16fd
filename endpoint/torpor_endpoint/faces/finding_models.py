"""Finds the model that a request of a face is for: its endpoint, its target, and whether its caller may invoke it."""

from typing import NamedTuple

from torpor_account.aws.wire.asgi import ACCESS, Headers, Scope
from torpor_account.core.access.needs import CallerAccess
from torpor_container.core.target_names import spelling_of
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.core.sending.machine import TARGET_MODEL
from torpor_endpoint.core.versions.version_answers import AnsweringVersions, target_for
from torpor_endpoint.faces.choosing_endpoints import (
    NoSuchEndpoint,
    NoSuchModel,
    endpoint_for,
    named_container,
    named_endpoint,
    naming_headers,
)
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints

ONLY_VERSION = "1"
"""The version of a model that has none."""


class NoSuchLabel(LookupError):
    """The model has no label of this name."""


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

    def at_once(self, scope: Scope, in_path: str | None, model: str, version: str = "") -> FoundModel | None:
        """The model, where nothing has to be looked up; None also for one that `found` refuses. It asks no rights."""
        try:
            live = self.live(scope, in_path, model)
            target = versioned(live, model, version) or self.targets.known(live, model)
            return None if target is None else FoundModel(live, target, naming_headers(live, model, target))
        except (NoSuchEndpoint, NoSuchModel, NoSuchLabel):
            return None

    async def found(self, scope: Scope, in_path: str | None, model: str, version: str = "") -> FoundModel:
        """The model, for a caller who may invoke it. `version` is a number or a label; empty for what answers calls
        without one. Raises NoSuchEndpoint, NoSuchModel, NoSuchLabel, AccessRefused."""
        access: CallerAccess | None = scope.get(ACCESS)
        try:
            live = self.live(scope, in_path, model)
        except NoSuchEndpoint:
            # As at InvokeEndpoint: who may not invoke an endpoint does not learn whether it is there.
            if access is not None and (name := named_endpoint(scope, in_path, self.roster)) is not None:
                access.check((invocation("InvokeEndpoint", name, spelling_of(model), access.place),))
            raise
        answering = answering_of(live, model)
        target = await self.targets.found(live, model) if answering is None else target_for(model, version or None)
        if access is not None:
            named = spelling_of(target) if any(pool.variant.multi_model for pool in live.every_pool) else None
            need = invocation("InvokeEndpoint", live.name, named, access.place, named_container(scope))
            access.check((need,))
        versioned(live, model, version)
        return FoundModel(live, target, naming_headers(live, model, target))

    async def existing(self, scope: Scope, in_path: str | None, model: str, version: str = "") -> FoundModel:
        """As `found`, for a model that is stored. Raises NoSuchModel for any other."""
        found = await self.found(scope, in_path, model, version)
        if (
            answering_of(found.live, model) is None
            and any(name == TARGET_MODEL for name, _ in found.headers)
            and not await self.targets.exists(found.live, found.target)
        ):
            raise NoSuchModel(model)
        return found

    def live(self, scope: Scope, in_path: str | None, model: str) -> ServedEndpoint:
        """Raises NoSuchEndpoint."""
        return endpoint_for(named_endpoint(scope, in_path, self.roster), model, self.roster)


def answering_of(live: ServedEndpoint, model: str) -> AnsweringVersions | None:
    """The versions of a model; None for one that has none."""
    for pool in live.every_pool:
        if pool.versions is not None and (found := pool.versions.names.get(model)) is not None:
            return found
    return None


def versions_of(live: ServedEndpoint, model: str) -> list[str]:
    """The numbers of the versions that answer."""
    answering = answering_of(live, model)
    return [ONLY_VERSION] if answering is None else [str(number) for number in sorted(answering.artifacts)]


def versioned(live: ServedEndpoint, model: str, version: str) -> str | None:
    """The target of a model with versions; None for one without, whose only version is 1. Raises NoSuchModel for a
    version, and NoSuchLabel for a label, that there is not."""
    answering = answering_of(live, model)
    if answering is None:
        if version in ("", ONLY_VERSION):
            return None
    elif not version or answering.number_of(version) is not None:
        return target_for(model, version or None)
    if version.isdecimal():
        raise NoSuchModel(f"{model} with version {version}")
    raise NoSuchLabel(version)
