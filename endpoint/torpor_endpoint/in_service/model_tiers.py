"""Where models are: asks the instances of a pool which of some models they have in memory and on disk."""

import asyncio
import json
from collections.abc import Iterable, Mapping

from torpor_container import wire
from torpor_container.core.target_names import spelling_of
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.typed_json import UnreadableRecord, read
from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.pool import VariantPool

ANSWER_WITHIN_S = 2.0
LOADED_WITHIN_S = 600.0
JSON = ((b"content-type", b"application/json"),)
Tiers = Mapping[str, ModelTier]
"""By model; one that is on neither tier of the instance is absent."""


async def tiers_of(instance: Incarnation, models: Iterable[str]) -> Tiers | None:
    """Where an instance has each of these models; None if it does not answer, or is of another release."""
    body = json.dumps({"models": [spelling_of(model) for model in models]}).encode()
    container = _keeping(instance)
    try:
        answer = await container.upstream.send("POST", wire.TIERS, JSON, [body], ANSWER_WITHIN_S)
        if answer.status != 200:
            return None
        found = read(wire.ModelTiers, json.loads(answer.body))["tiers"]
        return {model.removeprefix("/"): ModelTier(tier) for model, tier in found.items()}
    except (UpstreamError, UnreadableRecord, ValueError):
        return None


async def loaded_by(instance: Incarnation, model: str) -> bool:
    """Have an instance load a model. Returns whether it is in memory then."""
    body = json.dumps({"model": spelling_of(model)}).encode()
    try:
        answer = await _keeping(instance).upstream.send("POST", wire.LOAD_MODEL, JSON, [body], LOADED_WITHIN_S)
    except UpstreamError:
        return False
    return answer.status == 200


class KnownTiers:
    """What was last heard of the instances of one pool, by the incarnation of each."""

    def __init__(self) -> None:
        self._of: dict[str, dict[str, ModelTier]] = {}
        self._heard_s: dict[str, float] = {}

    def get(self, instance: Incarnation, models: Iterable[str]) -> Mapping[str, ModelTier] | None:
        """The tier of each model on this instance; None if it was not asked about all of them."""
        known = self._of.get(instance.id)
        if known is None or any(model not in known for model in models):
            return None
        return known

    def age_s(self, instance: Incarnation, now_s: float) -> float:
        return now_s - self._heard_s.get(instance.id, float("-inf"))

    def put(self, instance: Incarnation, models: Iterable[str], tiers: Tiers, now_s: float) -> None:
        """What an instance has answered about these models."""
        known = self._of.setdefault(instance.id, {})
        known.update({model: tiers.get(model, ModelTier.S3) for model in models})
        self._heard_s[instance.id] = now_s

    def came(self, instance: str, model: str, left: Iterable[str]) -> None:
        """A model is in memory now, and these have left it for the disk."""
        known = self._of.get(instance)
        if known is not None:
            known[model] = ModelTier.MEMORY
            known.update({name: ModelTier.DISK for name in left if name in known})

    def keep(self, pool: VariantPool) -> None:
        """Forget the instances that take no requests any more."""
        present = {one.id for one in pool.ready}
        for name in [name for name in self._of if name not in present]:
            del self._of[name]
            self._heard_s.pop(name, None)


async def ask_all(pool: VariantPool, known: KnownTiers, models: Iterable[str], now_s: float) -> None:
    """Hear from every ready instance. One that gives no answer has what it had, or nothing."""
    named, instances = tuple(models), list(pool.ready)
    known.keep(pool)
    for instance, found in zip(
        instances, await asyncio.gather(*(tiers_of(one, named) for one in instances)), strict=True
    ):
        if found is not None or known.get(instance, named) is None:
            known.put(instance, named, found or {}, now_s)


def _keeping(instance: Incarnation) -> LiveContainer:
    """The container of many models. CreateModel lets a variant with groups have one container alone."""
    return instance.containers[0]
