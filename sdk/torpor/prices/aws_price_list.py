"""Reads a price list from an AWS price list file of SageMaker: hosting by the hour, serverless inference by the call.

The files are those of the AWS Price List bulk API, offer AmazonSageMaker, as JSON or CSV, of one region or of all.
It takes on-demand prices in US dollars, and of tiered prices the first one that is not free.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from torpor.prices.lists import PriceList
from torpor.prices.offers import PriceFileRefused, PriceLine, read_offer
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, GB, GB_SECOND, HOUR, SERVERLESS, Quote

OFFER = "AmazonSageMaker"
AGREE = 0.05
"""The tolerance between memory sizes for the price of a GB-second, as a share: AWS rounds each size's price."""


@dataclass(frozen=True)
class Taken:
    """A rule for lines to take: the pattern of their usage type, and the units that their price must have."""

    usage: re.Pattern[str]  # the group is the instance type, the GB of memory, or the direction
    item: str  # empty: the group is the item
    units: frozenset[str]
    unit: str


TAKEN = (
    Taken(re.compile(r"(?:^|-)Host:(ml\.[\w-]+\.\w+)$"), "", frozenset({"hrs", "hours", "hour"}), HOUR),
    Taken(re.compile(r"(?:^|-)ServerlessInf:Mem-(\d+)GB$"), SERVERLESS, frozenset({"seconds", "second"}), GB_SECOND),
    Taken(re.compile(r"(?:^|-)Ho?st:Data-Bytes-(In|Out)$"), DATA_MOVED, frozenset({"gb"}), GB),
)


class _MatchedLine(NamedTuple):
    line: PriceLine
    taken: Taken
    group: str  # of the pattern

    def __str__(self) -> str:
        return f"SKU {self.line.sku}, {self.line.usage_type},"


@dataclass(frozen=True)
class _Price:
    """The price of a line. It is divided by `per`: the GB of memory, or 1."""

    line: PriceLine
    item: str
    unit: str
    per: int
    usd: float

    @property
    def rank(self) -> tuple[str, float, float]:
        """The sort key: the newest is the highest, then the first tier, then the dearest, so that no cost is too
        low."""
        return self.line.effective, -float(self.line.starting_range), self.usd

    def quote(self, name: str) -> Quote:
        source = f"{name}, SKU {self.line.sku}, {self.line.usage_type}"
        return Quote(self.item, self.usd / self.per, self.unit, self.line.effective[:10], source)


def read(path: str | Path, region: str | None = None) -> PriceList:
    """Read the price list of one region; a file with a single region needs no `region`.

    Raises OSError, or PriceFileRefused, which says what is wrong with the file.
    """
    path = Path(path)
    offer = read_offer(path)
    if offer.code != OFFER:
        raise PriceFileRefused(path, f"is the price list of {offer.code}, not of {OFFER}")
    matched = [one for line in offer.lines for one in _matched(line)]
    place = _region(path, {one.line.region for one in matched}, region)
    prices = [_price(path, one) for one in matched if one.line.region == place]
    charged = [price for price in prices if price.usd > 0]  # free lines are other offers: a trial, a reservation
    return PriceList(
        place,
        offer.published[:10],
        f"AWS Price List, offer {OFFER}, {place}, {path.name}",
        tuple(price.quote(path.name) for price in _current(path, charged)),
        MappingProxyType({**_sizes(charged), **CATALOGUE}),
    )


# -- inside --------------------------------------------------------------------------------------------------------
def _matched(line: PriceLine) -> Iterator[_MatchedLine]:
    for taken in TAKEN:
        if found := taken.usage.search(line.usage_type):
            yield _MatchedLine(line, taken, found[1])


def _region(path: Path, found: set[str], requested: str | None) -> str:
    if not found:
        raise PriceFileRefused(path, "has no prices for hosting or serverless inference")
    if requested is None and len(found) > 1:
        raise PriceFileRefused(path, f"has prices of {', '.join(sorted(found))}: name one of them (region=, --region)")
    place = next(iter(found)) if requested is None else requested
    if place not in found:
        raise PriceFileRefused(path, f"has no prices of {place}, only of {', '.join(sorted(found))}")
    return place


def _price(path: Path, one: _MatchedLine) -> _Price:
    line, taken = one.line, one.taken
    if line.unit.lower() not in taken.units:
        raise PriceFileRefused(path, f"{one} is priced by {line.unit!r}, not by the {taken.unit}")
    try:
        usd, tier = float(line.usd), float(line.starting_range)
    except ValueError:
        raise PriceFileRefused(path, f"{one} has no price in US dollars") from None
    per = int(one.group) if taken.item == SERVERLESS else 1
    if not (isfinite(usd) and isfinite(tier) and usd >= 0 and per):
        raise PriceFileRefused(path, f"{one} has the price {line.usd}, which is not possible")
    return _Price(line, taken.item or one.group, taken.unit, per, usd)


def _current(path: Path, prices: Iterable[_Price]) -> list[_Price]:
    """One current price for each item."""
    by_item: dict[tuple[str, int], list[_Price]] = defaultdict(list)
    for price in prices:
        by_item[price.item, price.per].append(price)
    newest = [max(same, key=lambda price: price.rank) for same in by_item.values()]
    memory = sorted((price for price in newest if price.item == SERVERLESS), key=lambda price: price.per)
    rates = [price.usd / price.per for price in memory]
    if rates and max(rates) > min(rates) * (1 + AGREE):
        raise PriceFileRefused(path, "its serverless prices do not grow with the memory, as Torpor assumes")
    others = sorted((price for price in newest if price.item != SERVERLESS), key=lambda price: price.item)
    return [*others, *memory[-1:]]  # the most memory, whose price lost the least in rounding


def _sizes(prices: Iterable[_Price]) -> Mapping[str, InstanceType]:
    """The sizes of the instance types that the file describes."""
    hosted = (price for price in prices if price.unit == HOUR)
    found = ((price.item, _size(price.item, price.line.attributes)) for price in hosted)
    return {name: size for name, size in found if size is not None}


def _size(name: str, attributes: Mapping[str, str]) -> InstanceType | None:
    vcpus, memory = attributes.get("vcpu", ""), re.fullmatch(r"([\d.,]+) GiB", attributes.get("memory", ""))
    if not vcpus.isdecimal() or memory is None:
        return None
    gpus = attributes.get("gpu", "")
    mib = round(float(memory[1].replace(",", "")) * 1024)
    return InstanceType(name, int(vcpus), mib, int(gpus) if gpus.isdecimal() else 0)
