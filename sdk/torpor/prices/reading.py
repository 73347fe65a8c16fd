"""A price list out of an AWS price list file of SageMaker: hosting by the hour, serverless inference by the call.

The files are those of the AWS Price List bulk API, offer AmazonSageMaker, as JSON or CSV, of one region or of all.
Taken are on-demand prices in US dollars; of what is sold in tiers, the first that is not free.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from torpor.prices.lists import DATA_MOVED, GB, GB_SECOND, HOUR, SERVERLESS, PriceList, Quote
from torpor.prices.offers import PriceFileRefused, PriceLine, read_offer
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType

OFFER = "AmazonSageMaker"
AGREE = 0.05
"""Serverless prices are rounded, each by itself. The memory sizes agree on the price of a GB-second up to this part."""


@dataclass(frozen=True)
class Taken:
    """Which lines are taken, by their usage type, and what they must be priced by."""

    usage: re.Pattern[str]  # its group is the instance type, the GB of memory, or the direction
    item: str  # "" where it is the group
    units: frozenset[str]
    unit: str


TAKEN = (
    Taken(re.compile(r"(?:^|-)Host:(ml\.[\w-]+\.\w+)$"), "", frozenset({"hrs", "hours", "hour"}), HOUR),
    Taken(re.compile(r"(?:^|-)ServerlessInf:Mem-(\d+)GB$"), SERVERLESS, frozenset({"seconds", "second"}), GB_SECOND),
    Taken(re.compile(r"(?:^|-)Ho?st:Data-Bytes-(In|Out)$"), DATA_MOVED, frozenset({"gb"}), GB),
)


class _Wanted(NamedTuple):
    line: PriceLine
    taken: Taken
    named: str  # the group

    def __str__(self) -> str:
        return f"SKU {self.line.sku}, {self.line.usage_type},"


@dataclass(frozen=True)
class _Price:
    """A line that is taken. `per` is what its price is divided by: GB of memory, or one."""

    line: PriceLine
    item: str
    unit: str
    per: int
    usd: float

    @property
    def rank(self) -> tuple[str, float, float]:
        """The newest, of that the first tier, of that the dearest: no bill is told too low."""
        return self.line.effective, -float(self.line.starting_range), self.usd

    def quote(self, name: str) -> Quote:
        source = f"{name}, SKU {self.line.sku}, {self.line.usage_type}"
        return Quote(self.item, self.usd / self.per, self.unit, self.line.effective[:10], source)


def read(path: str | Path, region: str | None = None) -> PriceList:
    """The list of one region; a file with one region need not be told which.

    Raises OSError, or PriceFileRefused, which says what is wrong with the file.
    """
    path = Path(path)
    offer = read_offer(path)
    if offer.code != OFFER:
        raise PriceFileRefused(path, f"is the price list of {offer.code}, not of {OFFER}")
    wanted = [one for line in offer.lines for one in _wanted(line)]
    place = _region(path, {one.line.region for one in wanted}, region)
    prices = [_price(path, one) for one in wanted if one.line.region == place]
    charged = [price for price in prices if price.usd > 0]  # what is free is another offer: a trial, a reservation
    return PriceList(
        place,
        offer.published[:10],
        f"AWS Price List, offer {OFFER}, {place}, {path.name}",
        tuple(price.quote(path.name) for price in _current(path, charged)),
        MappingProxyType({**_sizes(charged), **CATALOGUE}),
    )


# -- inside --------------------------------------------------------------------------------------------------------
def _wanted(line: PriceLine) -> Iterator[_Wanted]:
    for taken in TAKEN:
        if found := taken.usage.search(line.usage_type):
            yield _Wanted(line, taken, found[1])


def _region(path: Path, found: set[str], asked: str | None) -> str:
    if not found:
        raise PriceFileRefused(path, "has no prices for hosting or serverless inference")
    if asked is None and len(found) > 1:
        raise PriceFileRefused(path, f"has prices of {', '.join(sorted(found))}: name one of them (region=, --region)")
    place = next(iter(found)) if asked is None else asked
    if place not in found:
        raise PriceFileRefused(path, f"has no prices of {place}, but of {', '.join(sorted(found))}")
    return place


def _price(path: Path, one: _Wanted) -> _Price:
    line, taken = one.line, one.taken
    if line.unit.lower() not in taken.units:
        raise PriceFileRefused(path, f"{one} is priced by {line.unit!r}, not by the {taken.unit}")
    try:
        usd, tier = float(line.usd), float(line.starting_range)
    except ValueError:
        raise PriceFileRefused(path, f"{one} has no price in US dollars") from None
    per = int(one.named) if taken.item == SERVERLESS else 1
    if not (isfinite(usd) and isfinite(tier) and usd >= 0 and per):
        raise PriceFileRefused(path, f"{one} has the price {line.usd}, which cannot be")
    return _Price(line, taken.item or one.named, taken.unit, per, usd)


def _current(path: Path, prices: Iterable[_Price]) -> list[_Price]:
    """One price of each item."""
    by_item: dict[tuple[str, int], list[_Price]] = defaultdict(list)
    for price in prices:
        by_item[price.item, price.per].append(price)
    newest = [max(same, key=lambda price: price.rank) for same in by_item.values()]
    memory = sorted((price for price in newest if price.item == SERVERLESS), key=lambda price: price.per)
    rates = [price.usd / price.per for price in memory]
    if rates and max(rates) > min(rates) * (1 + AGREE):
        raise PriceFileRefused(path, "its serverless prices do not grow with the memory, as Torpor reckons them")
    others = sorted((price for price in newest if price.item != SERVERLESS), key=lambda price: price.item)
    return [*others, *memory[-1:]]  # of the most memory: it lost the least in rounding


def _sizes(prices: Iterable[_Price]) -> Mapping[str, InstanceType]:
    """Of the types that the file describes. One that it does not is not in the list unless the catalogue has it."""
    hosted = (price for price in prices if price.unit == HOUR)
    found = ((price.item, _size(price.item, price.line.attributes)) for price in hosted)
    return {name: size for name, size in found if size is not None}


def _size(name: str, attributes: Mapping[str, str]) -> InstanceType | None:
    vcpus, memory = attributes.get("vcpu", ""), re.fullmatch(r"([\d.,]+) GiB", attributes.get("memory", ""))
    if not vcpus.isdecimal() or memory is None:
        return None
    gpus = attributes.get("gpu", "")
    mib = round(float(memory[1].replace(",", "")) * 1024)
    return InstanceType(name, int(vcpus), mib, int(gpus) if gpus.isdecimal() else 0, None)
