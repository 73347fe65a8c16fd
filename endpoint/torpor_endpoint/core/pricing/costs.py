"""Calculates what a variant cost, and each model's share of it. The costs of adjacent windows add up."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import ModelTraffic, VariantUse, Window, memory_gb
from torpor_endpoint.core.pricing.prices import HOUR_S, Prices


@dataclass(frozen=True)
class ModelCosts:
    """A model's share of its variant's costs."""

    model: str
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class SizeCosts:
    """The costs of a variant's instances of one size, and each model's share."""

    size: str  # "" for requests that never reached an instance
    instance_s: float
    gb_s: float  # billed processing times memory; 0 for instances that are billed by the hour
    moved_bytes: int
    usd: float | None
    idle_usd: float | None  # the part of `usd` that belongs to no model
    models: tuple[ModelCosts, ...]


@dataclass(frozen=True)
class VariantCosts:
    endpoint: str
    variant: str
    sizes: tuple[SizeCosts, ...]
    shadow: bool = False

    @property
    def usd(self) -> float | None:
        return total(part.usd for part in self.sizes)

    @property
    def idle_usd(self) -> float | None:
        return total(part.idle_usd for part in self.sizes)

    @property
    def models(self) -> tuple[ModelCosts, ...]:
        """The models' costs over all sizes, in order of name."""
        ordered = sorted((model for part in self.sizes for model in part.models), key=lambda model: model.model)
        return tuple(_added(name, list(same)) for name, same in groupby(ordered, key=lambda model: model.model))


def costs(account: VariantUse, window: Window, prices: Prices) -> VariantCosts:
    """The variant's costs in the window."""
    sizes = sorted({life.size for life in account.lives} | {one.size for one in account.traffic})
    of_sizes = tuple(_of_size(size, account, window, prices) for size in sizes)
    return VariantCosts(account.endpoint, account.variant, of_sizes, account.shadow)


def total(amounts: Iterable[float | None]) -> float | None:
    """The sum of the amounts; None if one of them is unknown."""
    known = 0.0
    for amount in amounts:
        if amount is None:
            return None
        known += amount
    return known


# -- inside --------------------------------------------------------------------------------------------------------
Divided = tuple[float | None, float | None, list[float | None]]
"""The cost, the part of it that belongs to no model, and each model's part."""


def _of_size(size: str, account: VariantUse, window: Window, prices: Prices) -> SizeCosts:
    lives = [life for life in account.lives if life.size == size]
    traffic = [one for one in account.traffic if one.size == size]
    instance_s = sum(map(window.alive_s, lives))
    gb = memory_gb(size)
    if gb is None:
        usd, idle_usd, shares = _by_the_hour(size, instance_s, traffic, prices)
    else:
        usd, idle_usd, shares = _by_the_call(gb, lives, traffic, prices)
    return SizeCosts(
        size,
        instance_s,
        gb_s=(gb or 0.0) * sum(one.sums.busy_ms for one in traffic) / 1000,
        moved_bytes=sum(one.sums.moved_bytes for one in traffic),
        usd=usd,
        idle_usd=idle_usd,
        models=tuple(_model(one, share) for one, share in zip(traffic, shares, strict=True)),
    )


def _by_the_hour(size: str, instance_s: float, traffic: list[ModelTraffic], prices: Prices) -> Divided:
    """The price of the instances' lives, divided among the models by the seconds that each kept them busy."""
    usd = (
        prices.usd_by_the_hour(size, instance_s / HOUR_S) if size else 0.0
    )  # requests that never reached an instance cost nothing
    if usd is None:
        return None, None, [None] * len(traffic)
    busy_s = sum(one.sums.busy_s for one in traffic)
    whole_s = max(instance_s, busy_s)  # parallel requests may be busy for longer than the instances live
    if not whole_s:
        return usd, usd, [0.0] * len(traffic)
    return usd, usd * (whole_s - busy_s) / whole_s, [usd * one.sums.busy_s / whole_s for one in traffic]


def _by_the_call(gb: float, lives: list[InstanceLife], traffic: list[ModelTraffic], prices: Prices) -> Divided:
    """The price of processing by the millisecond, and of moved data. Provisioned concurrency has no known price."""
    if any(life.provisioned for life in lives):
        return None, None, [None] * len(traffic)
    shares = [prices.usd_by_the_call(one.sums.busy_ms, gb, one.sums.moved_bytes) for one in traffic]
    return total(shares), 0.0, shares


def _model(one: ModelTraffic, usd: float | None) -> ModelCosts:
    return ModelCosts(one.model, one.sums.requests, one.sums.cold, one.sums.errors, one.sums.busy_s, usd)


def _added(name: str, parts: list[ModelCosts]) -> ModelCosts:
    return ModelCosts(
        name,
        requests=sum(part.requests for part in parts),
        cold=sum(part.cold for part in parts),
        errors=sum(part.errors for part in parts),
        busy_s=sum(part.busy_s for part in parts),
        usd=total(part.usd for part in parts),
    )
