"""Where models are: what was last heard of which models the instances of a pool have in memory and on disk."""

import asyncio
from collections.abc import Iterable, Mapping

from torpor_endpoint.core.model_choice.model_group import ModelTier
from torpor_endpoint.in_service.asked_tiers import Tiers, tiers_of
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool


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
