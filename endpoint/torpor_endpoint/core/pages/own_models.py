"""The page of a caller about itself: the models that its policies let it invoke, and no others."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from torpor_container import wire
from torpor_container.typed_json import written
from torpor_endpoint.core.pages import Json

MayInvoke = Callable[[str, str], bool]
"""Whether the caller may invoke a model of an endpoint, by their names. The one model of an endpoint has no name."""


class CalledModel(NamedTuple):
    """The requests to a model in a time."""

    endpoint: str
    model: str
    requests: int
    cold: int


class ServedModels(NamedTuple):
    """An endpoint in service, and the models in the memory of its instances: a model stands once for each."""

    endpoint: str
    multi_model: bool
    resident: Sequence[wire.LoadedModel]


@dataclass(frozen=True)
class OwnModel:
    """A model that the caller may invoke. `requests` and `cold` are those of the last day, by whomever."""

    name: str
    """Empty for the one model of an endpoint."""
    requests: int = 0
    cold: int = 0
    instances: int = 0
    """How many instances have it in memory."""
    size_bytes: int = 0
    """In the memory of one instance; 0 if no instance has it."""


@dataclass(frozen=True)
class OwnEndpoint:
    """An endpoint with the caller's models."""

    name: str
    models: tuple[OwnModel, ...]


def own_models(
    served: Iterable[ServedModels], called: Iterable[CalledModel], may_invoke: MayInvoke
) -> tuple[OwnEndpoint, ...]:
    """The endpoints in service of which the caller may invoke a model that is in memory or was called."""
    of_day: dict[str, list[CalledModel]] = {}
    for one in called:
        of_day.setdefault(one.endpoint, []).append(one)
    found = ((one.endpoint, _models(one, of_day.get(one.endpoint, ()), may_invoke)) for one in served)
    return tuple(OwnEndpoint(name, models) for name, models in found if models)


def _models(served: ServedModels, called: Sequence[CalledModel], may_invoke: MayInvoke) -> tuple[OwnModel, ...]:
    known = {} if served.multi_model else {"": OwnModel("")}
    for one in called:
        known[one.model] = OwnModel(one.model, one.requests, one.cold)
    for loaded in served.resident:
        name = loaded["name"] if served.multi_model else ""
        model = known.get(name, OwnModel(name))
        known[name] = replace(model, instances=model.instances + 1, size_bytes=loaded["size_bytes"])
    return tuple(known[name] for name in sorted(known) if may_invoke(served.endpoint, name))


def own_models_page(endpoints: Iterable[OwnEndpoint]) -> Json:
    return {"endpoints": written(list(endpoints))}
