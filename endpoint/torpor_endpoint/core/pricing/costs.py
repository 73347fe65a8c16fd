"""Calculates what a variant cost, and each model's share of it. The costs of adjacent windows add up."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from torpor_endpoint.core.ledger import UNKNOWN
from torpor_endpoint.core.pricing.accounts import (
    ModelTraffic,
    VariantUse,
    Window,
    existed_s,
    memory_gb,
    own_size,
    volume_gb,
)
from torpor_endpoint.core.pricing.bills import NOTHING, Bill, Usage, bill, together
from torpor_endpoint.core.pricing.component_shares import ComponentShare, component_shares
from torpor_endpoint.core.pricing.prices import Prices
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, PROVISIONED_PROCESSING, SERVERLESS


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
    bill: Bill
    idle_usd: float | None  # the part of `usd` that belongs to no model
    models: tuple[ModelCosts, ...]

    @property
    def usd(self) -> float | None:
        return self.bill.usd


@dataclass(frozen=True)
class VariantCosts:
    endpoint: str
    variant: str
    sizes: tuple[SizeCosts, ...]
    shadow: bool = False
    components: tuple[ComponentShare, ...] = ()  # what inference components reserved of its instances, and the rest
    objects: Bill = NOTHING  # its models' artifacts in S3, which belong to no size

    @property
    def bill(self) -> Bill:
        return together((*(part.bill for part in self.sizes), self.objects))

    @property
    def usd(self) -> float | None:
        return self.bill.usd

    @property
    def idle_usd(self) -> float | None:
        return total((*(part.idle_usd for part in self.sizes), self.objects.usd))

    @property
    def models(self) -> tuple[ModelCosts, ...]:
        """The models' costs over all sizes, in order of name."""
        ordered = sorted((model for part in self.sizes for model in part.models), key=lambda model: model.model)
        return tuple(_added(name, list(same)) for name, same in groupby(ordered, key=lambda model: model.model))


def costs(account: VariantUse, window: Window, prices: Prices) -> VariantCosts:
    """The variant's costs in the window."""
    sizes = sorted({life.size for life in account.lives} | {own_size(one.size) for one in account.traffic})
    of_sizes = tuple(_of_size(size, account, window, prices) for size in sizes)
    billed = together(one.bill for one in of_sizes)
    shares = component_shares(account, billed, window, prices.types)
    objects = bill(objects_in_s3(account, window), prices)
    return VariantCosts(account.endpoint, account.variant, of_sizes, account.shadow, shares, objects)


def objects_in_s3(account: VariantUse, window: Window) -> Usage:
    """The models' artifacts in S3, and the requests that fetched them. Copies of requests to a shadow variant fetch the
    same artifacts once more, and store none."""
    stored_byte_s = 0.0 if account.shadow else account.artifacts_bytes * existed_s(account, window)
    return Usage(stored_byte_s=stored_byte_s, gets=sum(one.sums.fetches for one in account.traffic))


def total(amounts: Iterable[float | None]) -> float | None:
    """The sum of the amounts; None if one of them is unknown."""
    known = 0.0
    for amount in amounts:
        if amount is None:
            return None
        known += amount
    return known


# -- inside --------------------------------------------------------------------------------------------------------
def _of_size(size: str, account: VariantUse, window: Window, prices: Prices) -> SizeCosts:
    traffic = [one for one in account.traffic if own_size(one.size) == size]
    used = usage(size, account, window)
    billed = bill(used, prices)
    shares = _shares(billed, used, traffic)
    known = billed.usd is not None
    return SizeCosts(
        size,
        sum(window.alive_s(life) for life in account.lives if life.size == size),
        gb_s=used.memory_gb * (used.processing_ms + used.provisioned_ms) / 1000,
        moved_bytes=sum(one.sums.moved_bytes for one in traffic),
        bill=billed,
        idle_usd=max(0.0, (billed.usd or 0.0) - sum(shares)) if known else None,
        models=tuple(_model(one, share if known else None) for one, share in zip(traffic, shares, strict=True)),
    )


def usage(size: str, account: VariantUse, window: Window) -> Usage:
    """What the variant's instances of one size used in the window, for its bill. The copies of an inference component
    have no size: their instances are another variant's."""
    lives = [life for life in account.lives if life.size == size]
    traffic = [one for one in account.traffic if own_size(one.size) == size]
    moved_bytes = sum(one.sums.moved_bytes for one in traffic) if size or account.component else 0
    gb = memory_gb(size)
    if gb is None:
        instance_s = sum(map(window.alive_s, lives)) if size else 0.0
        volume_gb_s = sum(volume_gb(size, life.volume_gb) * window.alive_s(life) for life in lives)
        if size == UNKNOWN:  # without its life the time of an instance is not known, but it is not free
            instance_s = sum(one.sums.busy_s for one in traffic)
        return Usage(size, instance_s=instance_s, volume_gb_s=volume_gb_s, moved_bytes=moved_bytes, job=account.job)
    on_demand = [one.sums.predict_ms for one in traffic if one.size == size]
    return Usage(
        memory_gb=gb,
        processing_ms=sum(on_demand),
        provisioned_s=sum(window.alive_s(life) for life in lives if life.provisioned),
        provisioned_ms=sum(one.sums.predict_ms for one in traffic) - sum(on_demand),
        moved_bytes=moved_bytes,
    )


def _shares(billed: Bill, used: Usage, traffic: list[ModelTraffic]) -> list[float]:
    """Each model's part: of data by its bytes, of processing by its milliseconds, and of instances by the seconds for
    which it kept them busy. What is left is idle time."""
    moved = billed.usd_of(DATA_MOVED)
    held = sum(line.usd or 0.0 for line in billed.lines) - moved
    if used.memory_gb:
        took = [one.sums.predict_ms / 1000 for one in traffic]
        processing = billed.usd_of(SERVERLESS, PROVISIONED_PROCESSING)
        held, whole = processing, sum(took)
    else:
        took = [one.sums.busy_s for one in traffic]
        whole = max(used.instance_s, sum(took))  # parallel requests may be busy for longer than the instances live
    return [
        (held * busy / whole if whole else 0.0)
        + (moved * one.sums.moved_bytes / used.moved_bytes if used.moved_bytes else 0.0)
        for one, busy in zip(traffic, took, strict=True)
    ]


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
