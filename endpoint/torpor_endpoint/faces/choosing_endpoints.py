"""Finds the endpoint that a request of a face is for, and the headers by which InvokeEndpoint would name its model.

A request names its endpoint in its path, in the header X-Torpor-Endpoint, or by a host name that begins with it. One
that names none is for the only endpoint there is, or for the endpoint of one model that is called as the model is.
"""

from typing import NamedTuple

from torpor_account.aws.wire.asgi import Headers, Scope
from torpor_account.core.access.needs import AccessRefused
from torpor_container.core.target_names import spelling_of
from torpor_endpoint.core.sending.machine import TARGET_MODEL
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.runtime.admitting import takes_target
from torpor_endpoint.runtime.request import INFERENCE_COMPONENT, TARGET_CONTAINER

ENDPOINT = b"x-torpor-endpoint"
ONLY_MODEL = "model"
"""A name of the model of an endpoint that has one; the endpoint's own name is another."""


class NoSuchEndpoint(LookupError):
    """No endpoint is meant, or more than one could be. The text says what to do."""


class NoSuchModel(LookupError):
    """The endpoint has no model of this name."""


class ModelNaming(NamedTuple):
    """How requests name a model of an endpoint."""

    many: bool
    components: bool


def named_endpoint(scope: Scope, in_path: str | None, roster: ServedEndpoints) -> str | None:
    """The endpoint that a request names; None if it names none. A host's first label counts if it is an endpoint."""
    if in_path is not None:
        return in_path
    host = ""
    for name, value in scope["headers"]:
        if name == ENDPOINT:
            named: str = value.decode("latin-1")
            return named
        if name == b"host":
            host = value.decode("latin-1")
    label, dot, _ = host.partition(".")
    return label if dot and label in roster else None


def named_container(scope: Scope) -> str | None:
    """The container that a request names by the header of InvokeEndpoint, of which policies are asked too. Raises
    AccessRefused for two of them: either could be meant."""
    named = [value for name, value in scope["headers"] if name == TARGET_CONTAINER]
    if len(named) > 1:
        raise AccessRefused("The request names more than one container.", "it has two targets")
    return named[0].decode(errors="replace") if named else None


def endpoint_for(named: str | None, model: str, roster: ServedEndpoints) -> ServedEndpoint:
    """Raises NoSuchEndpoint."""
    if named is not None:
        live = roster.get(named)
        if live is None:
            raise NoSuchEndpoint(f"endpoint {named[:100]} not found")
        return live
    every = list(roster)
    if len(every) == 1:
        return every[0]
    if model and (live := roster.get(model)) is not None and not kind_of(live).many:
        return live
    if not every:
        raise NoSuchEndpoint("no endpoint is in service")
    raise NoSuchEndpoint(
        "several endpoints are in service: name one in the path (/v2/endpoints/NAME/…), in the header "
        "X-Torpor-Endpoint, or by the host name (NAME.localhost)"
    )


def kind_of(live: ServedEndpoint) -> ModelNaming:
    pools = live.production.values() if live.production else live.every_pool
    many = any(takes_target(pool.variant, tuple(range(len(pool.variant.containers)))) for pool in pools)
    return ModelNaming(many, live.takes_components)


def naming_headers(live: ServedEndpoint, model: str, target: str) -> Headers:
    """The headers that name the model, whose TargetModel is `target`. Raises NoSuchModel."""
    kind = kind_of(live)
    if kind.components:
        if model not in live.generations and model not in live.adapters:
            raise NoSuchModel(model)
        return [(INFERENCE_COMPONENT, model.encode(errors="surrogateescape"))]
    if kind.many:
        return [(TARGET_MODEL, spelling_of(target).encode(errors="surrogateescape"))]
    if model not in (ONLY_MODEL, live.name):
        raise NoSuchModel(model)
    return []
