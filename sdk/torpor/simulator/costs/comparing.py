"""Compares the same models on endpoints of their own and together, for a month, with published figures."""

from collections.abc import Iterable
from dataclasses import dataclass

from torpor.simulator.costs.costing import endpoint_per_model
from torpor.simulator.costs.ways_to_serve import CostTerms, HeldInstances


@dataclass(frozen=True)
class Side:
    """A number of equal endpoints, each with its own instances."""

    endpoints: int
    each: HeldInstances


@dataclass(frozen=True)
class Published:
    """The figures that AWS published. None if it published none."""

    apart_usd: float | None
    together_usd: float | None
    saved_usd: float | None
    saved_share: float


@dataclass(frozen=True)
class Comparison:
    """The cost of the same models on endpoints of their own and on shared endpoints, for a month."""

    what: str
    models: int
    apart: Side
    together: Side
    terms: CostTerms
    published: Published | None = None

    @property
    def apart_usd(self) -> float | None:
        return self._usd(self.apart)

    @property
    def together_usd(self) -> float | None:
        return self._usd(self.together)

    @property
    def saved_usd(self) -> float | None:
        apart, together = self.apart_usd, self.together_usd
        return None if apart is None or together is None else apart - together

    @property
    def saved_share(self) -> float | None:
        return self.saved_usd / self.apart_usd if self.saved_usd is not None and self.apart_usd else None

    def vcpus(self, side: Side) -> int:
        """The number of processors for the models."""
        return side.endpoints * side.each.instances * self.terms.prices.types[side.each.size].vcpus

    def _usd(self, side: Side) -> float | None:
        return endpoint_per_model(side.endpoints, side.each, self.terms).usd


def rows(comparisons: Iterable[Comparison]) -> list[dict[str, object]]:
    """A row for each comparison, for a data frame."""
    return [
        {
            "what": one.what,
            "models": one.models,
            "apart": _side_text(one.apart),
            "together": _side_text(one.together),
            "hours": one.terms.hours,
            "priced_on": one.terms.prices.priced_on,
            "apart_vcpus": one.vcpus(one.apart),
            "together_vcpus": one.vcpus(one.together),
            "apart_usd": one.apart_usd,
            "together_usd": one.together_usd,
            "saved_usd": one.saved_usd,
            "saved_share": one.saved_share,
        }
        for one in comparisons
    ]


def _side_text(side: Side) -> str:
    return f"{side.endpoints:,} x {side.each.instances} x {side.each.size}"
