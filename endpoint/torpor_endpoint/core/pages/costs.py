"""The page of costs: the cost of each variant, by instance size and by model, and the cost of its alternatives."""

from dataclasses import dataclass

from torpor_endpoint.core.pricing.alternatives import PricedAlternative
from torpor_endpoint.core.pricing.bills import BillLine
from torpor_endpoint.core.pricing.component_shares import ComponentShare
from torpor_endpoint.core.pricing.costs import ModelCosts, total

# In each record, `usd` is None where a price is not known.


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
    """The sum of the models that have no row of their own."""

    models: int
    requests: int
    cold: int
    errors: int
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class ContainerUse:
    """What one container of a pipeline took."""

    container: str
    requests: int
    total_s: float  # the seconds that requests were in it
    own_bytes: int | None = None  # its memory beside models, on average; None if it was not read


@dataclass(frozen=True)
class FaceUse:
    """The requests of one protocol, SageMaker's or another. `usd` is its part of what models cost, by busy seconds."""

    face: str
    requests: int
    cold: int
    errors: int
    total_s: float  # from a request's arrival to its answer, of all together
    busy_s: float
    usd: float | None


@dataclass(frozen=True)
class VariantCostsRow:
    """The cost of one variant. `idle_usd` is the part that no model caused."""

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
    shadow: bool = False
    """It got copies of requests, and answered no caller. A variant that was promoted has a row of each kind."""
    containers: tuple[ContainerUse, ...] = ()
    """Of a pipeline, in its order."""
    lines: tuple[BillLine, ...] = ()
    """The bill, which `usd` is the sum of, without the lines that have no price."""
    components: tuple[ComponentShare, ...] = ()
    """Of instances that run inference components: each component's part, and the unreserved rest."""
    faces: tuple[FaceUse, ...] = ()
    """Each protocol, where any request came by another one than SageMaker's."""


@dataclass(frozen=True)
class ShadowShare:
    """The part of an endpoint's cost that its shadow variants caused."""

    endpoint: str
    usd: float | None
    of_usd: float | None  # of all variants of the endpoint

    @property
    def share(self) -> float | None:
        """From 0 to 1; None if a price is not known, or nothing was paid."""
        return None if self.usd is None or not self.of_usd else self.usd / self.of_usd


@dataclass(frozen=True)
class Costs:
    """The costs of one period, which starts where the request or the ledger does, whichever is later."""

    since_s: float  # epoch seconds
    until_s: float
    priced_on: str
    price_source: str
    left_out: str  # the costs that no figure includes
    variants: tuple[VariantCostsRow, ...]

    @property
    def shadows(self) -> tuple[ShadowShare, ...]:
        """The share of the shadow variants, for each endpoint that had one."""
        return tuple(
            ShadowShare(
                endpoint,
                total(one.usd for one in self.variants if one.endpoint == endpoint and one.shadow),
                total(one.usd for one in self.variants if one.endpoint == endpoint),
            )
            for endpoint in dict.fromkeys(one.endpoint for one in self.variants if one.shadow)
        )
