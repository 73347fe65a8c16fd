"""The page of costs: what each variant cost, by size of instance and by model, and what it would cost otherwise."""

from dataclasses import asdict, dataclass

from torpor_endpoint.core.pages import Json, picked
from torpor_endpoint.core.pricing.alternatives import PricedAlternative
from torpor_endpoint.core.pricing.costs import ModelCosts

# `usd` is None where a price is not known, in each of these.


@dataclass(frozen=True)
class SizeCostsRow:
    """A variant's instances of one size."""

    size: str  # an ml.* type, `serverless-<memory in MiB>`, or "" for requests that never reached an instance
    instance_s: float
    gb_s: float
    moved_bytes: int
    usd: float | None
    idle_usd: float | None = None


@dataclass(frozen=True)
class OtherModels:
    """The models that are not shown one by one."""

    models: int
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class VariantCostsRow:
    """What a variant cost. The part that was nobody's is `idle_usd`."""

    endpoint: str
    variant: str
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None
    idle_usd: float | None
    sizes: tuple[SizeCostsRow, ...]
    models: tuple[ModelCosts, ...]  # the dearest first
    others: OtherModels
    on_aws: tuple[PricedAlternative, ...]

    @classmethod
    def read(cls, page: Json) -> "VariantCostsRow":
        parts = {
            name: tuple(picked(record, part) for part in page[name])
            for name, record in (("sizes", SizeCostsRow), ("models", ModelCosts), ("on_aws", PricedAlternative))
        }
        return picked(cls, {**page, **parts, "others": picked(OtherModels, page["others"])})


@dataclass(frozen=True)
class Costs:
    """Over one stretch of time, which is as long as was asked for or as far back as the ledger goes."""

    since_s: float  # epoch seconds
    until_s: float
    priced_on: str
    price_source: str
    left_out: str  # what is in none of the figures
    variants: tuple[VariantCostsRow, ...]

    @classmethod
    def read(cls, page: Json) -> "Costs":
        return picked(cls, {**page, "variants": tuple(map(VariantCostsRow.read, page["variants"]))})

    def page(self) -> Json:
        return asdict(self)
