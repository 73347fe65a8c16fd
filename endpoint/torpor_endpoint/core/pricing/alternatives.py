"""Calculates what the same traffic would have cost on AWS in other ways to serve it, and states the assumptions."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import MIB_PER_GB, VariantUse, Window, memory_gb, volume_gb
from torpor_endpoint.core.pricing.bills import BESIDE, Bill, Usage, bill
from torpor_endpoint.core.pricing.catalogue import InstanceType
from torpor_endpoint.core.pricing.costs import objects_in_s3, usage
from torpor_endpoint.core.pricing.prices import HOUR_S, Prices
from torpor_endpoint.core.pricing.quotes import transform_item
from torpor_endpoint.core.pricing.savings_plans import Hours, best_commitment, hours_of

LEFT_OUT = (
    "taxes, free tiers and reserved prices, logs and metrics, the start of serverless instances and the loading of"
    " their models, what each way does to latency, and in S3 whatever no model was fetched from"
)


@dataclass(frozen=True)
class PricedAlternative:
    """`usd` is without the items in `unpriced`, whose price is not known."""

    way: str
    usd: float | None
    assumes: str
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True)
class LiveTerms:
    """Assumptions about what the ledger does not know."""

    model_memory_mib: int = 2048
    """Memory of an endpoint with one model, if the variant's own size does not give it. The default is that of the
    SageMaker SDK for serverless inference."""


@dataclass(frozen=True)
class _Case:
    """One variant, and the memory and GPU that its traffic needs."""

    account: VariantUse
    window: Window  # begins with the variant's first instance, so that the time before it costs nothing
    prices: Prices
    memory_mib: int
    gpu: bool

    @property
    def hours(self) -> float:
        return self.window.length_s / HOUR_S

    @property
    def models(self) -> int:
        """The number of models that answered. A name that only ever led to errors is no model."""
        answered = (one for one in self.account.traffic if one.sums.requests > one.sums.errors)
        return len({one.model for one in answered})

    @property
    def cheapest(self) -> InstanceType | None:
        """The cheapest type of known price with enough memory, and with a GPU exactly if the variant has one."""
        fit = [one for one in self.prices.types.values() if one.memory_mib >= self.memory_mib]
        known = [one for one in fit if one.name in self.prices.quotes and bool(one.gpus) == self.gpu]
        return min(known, key=lambda one: (self.prices.quotes[one.name].usd, one.name), default=None)

    @property
    def moved_bytes(self) -> int:
        return sum(one.sums.moved_bytes for one in self.account.traffic if one.size)

    @property
    def stored_byte_s(self) -> float:
        """The models' artifacts in S3, which are the same in each way. What fetches them is not known of another."""
        return objects_in_s3(self.account, self.window).stored_byte_s

    def held(self, way: str, size: str | None, instances: int, assumes: str) -> PricedAlternative:
        """So many instances of a type, for the whole time, with their volumes and the data moved."""
        if size is None:
            return PricedAlternative(way, None, assumes)
        instance_s = instances * self.window.length_s
        used = Usage(
            size,
            instance_s=instance_s,
            volume_gb_s=volume_gb(size) * instance_s,
            moved_bytes=self.moved_bytes,
            stored_byte_s=self.stored_byte_s,
        )
        return _priced(way, bill(used, self.prices), assumes)


def alternatives(
    account: VariantUse, window: Window, prices: Prices, terms: LiveTerms = LiveTerms()
) -> tuple[PricedAlternative, ...]:
    """The alternatives for a variant that had an instance in the window; none for any other variant."""
    if not account.lives:
        return ()
    size = max(account.lives, key=lambda life: life.started_s).size
    own_gb = memory_gb(size)
    own_type = prices.types.get(size)
    since_s = max(window.since_s, min(life.started_s for life in account.lives))
    case = _Case(
        account,
        Window(since_s, window.until_s),
        prices,
        terms.model_memory_mib if own_gb is None else round(own_gb * MIB_PER_GB),
        own_type is not None and own_type.gpus > 0,
    )
    return (_each(case, 1), _each(case, 2), _always_on(case, size), _serverless(case), *_planned(case))


def peak(lives: Iterable[InstanceLife], window: Window) -> int:
    """The most instances that ran at once. One that ends in the moment when another starts is not counted with it."""
    present = [life for life in lives if window.alive_s(life)]
    starts = [(life.started_s, 1) for life in present]
    changes = sorted([*starts, *((window.end_s(life), -1) for life in present)])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _each(case: _Case, instances: int) -> PricedAlternative:
    found = case.cheapest
    return case.held(
        f"an endpoint per model, {_counted(instances, 'instance')} each, always on",
        None if found is None else found.name,
        case.models * instances,
        f"{_counted(case.models, 'model')} that answered, on {_cheapest(case)}, for {case.hours:,.2f} h",
    )


def _always_on(case: _Case, size: str) -> PricedAlternative:
    own, most = memory_gb(size) is None, peak(case.account.lives, case.window)
    kind = f"{size}, its own type" if own else _cheapest(case)
    cheapest = None if case.cheapest is None else case.cheapest.name
    return case.held(
        "one multi-model endpoint, always on",
        size if own else cheapest,
        most,
        f"{_counted(most, 'instance')}, as many as ran at once, on {kind}, for {case.hours:,.2f} h",
    )


def _serverless(case: _Case) -> PricedAlternative:
    way = "serverless, an endpoint per model"
    if case.gpu:
        return PricedAlternative(way, None, "serverless inference has no GPU")
    billed_ms = sum(one.sums.predict_ms for one in case.account.traffic if one.size)
    gb = case.memory_mib / MIB_PER_GB
    used = Usage(memory_gb=gb, processing_ms=billed_ms, moved_bytes=case.moved_bytes, stored_byte_s=case.stored_byte_s)
    return _priced(
        way,
        bill(used, case.prices),
        f"{_counted(case.models, 'endpoint')} of {case.memory_mib:,} MB, {billed_ms / 1000 * gb:,.1f} GB-s of "
        "predicting and the data moved; no start-up or loading is billed",
    )


def _planned(case: _Case) -> Iterator[PricedAlternative]:
    """The instances as they were, under each savings plan of known rates, with the commitment that would have been the
    cheapest; none for serverless variants, which no plan covers."""
    account, window = case.account, case.window
    lives = [life for life in account.lives if life.size and memory_gb(life.size) is None]
    hours: Hours = [
        (part, {transform_item(size) if account.job else size: of for size, of in used.items()})
        for part, used in hours_of(lives, window)
    ]
    sizes = {life.size for life in lives}
    bills = [bill(usage(size, account, window), case.prices) for size in sizes]
    beside = sum(one.usd_of(*BESIDE) for one in (*bills, bill(objects_in_s3(account, window), case.prices)))
    for plan in case.prices.savings if lives else ():
        best = best_commitment(hours, plan, case.prices)
        if best is not None:
            yield PricedAlternative(
                f"as here, under a savings plan ({plan})",
                best.usd + beside,
                f"a commitment of ${best.commitment_usd:,.4f} an hour, the cheapest for this time, and what is beyond"
                " it on demand",
            )


def _priced(way: str, billed: Bill, assumes: str) -> PricedAlternative:
    return PricedAlternative(way, billed.usd, assumes, billed.unpriced)


def _cheapest(case: _Case) -> str:
    name = case.cheapest.name if case.cheapest else "no type"
    return f"{name}, the cheapest of known price with {case.memory_mib:,} MB{' and a GPU' if case.gpu else ''}"


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
