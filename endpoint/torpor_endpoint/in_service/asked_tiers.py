"""Asks one instance of many models which it has in memory and where it has some of them, and has it load one."""

import json
from collections.abc import Iterable, Mapping

from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.upstream import Headers
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError
from torpor_container.typed_json import UnreadableRecord, read
from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.core.sending.adapter_headers import ADAPTER, ADAPTER_URL
from torpor_endpoint.in_service.asked_state import NO_DECISIONS, state_of
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

ANSWER_WITHIN_S = 2.0
LOADED_WITHIN_S = 600.0
FOUND_MAX = 4_096
"""So many models one instance is asked for: some 100 bytes each."""
LOAD_REASON = wire.LOAD_REASON.lower().encode()
JSON = ((b"content-type", b"application/json"),)
Tiers = Mapping[str, ModelTier]
"""By model; one that is on neither tier of the instance is absent."""


async def tiers_of(instance: Incarnation, models: Iterable[str]) -> Tiers | None:
    """Where an instance has each of these models; None if it does not answer, or is of another release."""
    body = json.dumps({"models": [spelling_of(model) for model in models]}).encode()
    container = keeping(instance)
    try:
        answer = await container.upstream.send("POST", wire.TIERS, JSON, [body], ANSWER_WITHIN_S)
        if answer.status != 200:
            return None
        found = read(wire.ModelTiers, json.loads(answer.body))["tiers"]
        return {model.removeprefix("/"): ModelTier(tier) for model, tier in found.items()}
    except (UpstreamError, UnreadableRecord, ValueError):
        return None


async def in_memory(instance: Incarnation) -> list[str]:
    """The models that an instance has in memory, the FOUND_MAX that were called last; none if it does not tell."""
    try:
        state = await state_of(keeping(instance), after=NO_DECISIONS, most=FOUND_MAX)
    except (UnreadableRecord, ValueError):
        return []
    return [] if state is None else [model["name"] for model in state["models"]]


async def loaded_by(instance: Incarnation, model: str, named: Headers = ()) -> bool:
    """As `brought_by`. Returns whether the model is in memory then."""
    return await brought_by(instance, model, named) is not None


async def brought_by(instance: Incarnation, model: str, named: Headers = ()) -> bool | None:
    """Have an instance load a model. `named` tell it who has the artifact, and why (`because`). Returns whether the
    order led the load, or None if the model is not in memory then."""
    body = json.dumps({"model": spelling_of(model)}).encode()
    try:
        to = keeping(instance).upstream
        return _led(await to.send("POST", wire.LOAD_MODEL, [*JSON, *named], [body], LOADED_WITHIN_S))
    except UpstreamError:
        return None


async def adapted(copy: Incarnation, adapter: str, url: str) -> bool | None:
    """Have a copy of an inference component fetch and register an adapter of its model. As `brought_by`."""
    headers = [(ADAPTER, adapter.encode()), (ADAPTER_URL, url.encode())]
    try:
        to = copy.containers[0].upstream
        return _led(await to.send("POST", wire.LOAD_ADAPTER, headers, [], LOADED_WITHIN_S))
    except UpstreamError:
        return None


def _led(answer: UpstreamAnswer) -> bool | None:
    """What the answer to an order says; None if nothing was loaded, or if it is of another release."""
    try:
        return None if answer.status != 200 else read(wire.OrderedLoad, json.loads(answer.body))["led"]
    except (UnreadableRecord, ValueError):
        return None


def because(reason: str) -> tuple[bytes, bytes]:
    """The header of an order to load a model by which the instance's decisions tell why."""
    return LOAD_REASON, reason.encode()


def keeping(instance: Incarnation) -> LiveContainer:
    """The container of many models: the first of them, of several."""
    return next((one for one in instance.containers if one.definition.multi_model), instance.containers[0])
