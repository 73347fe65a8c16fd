"""Reads a price list from an AWS price list file: of SageMaker, and of S3 beside it.

The files are those of the AWS Price List bulk API, offers AmazonSageMaker and AmazonS3, as JSON or CSV, of one region
or of all. It takes on-demand prices in US dollars, and of tiered prices the first one that is not free.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from torpor.prices.offers import USD, Attributes, Offer, PriceFileRefused, PriceLine, is_json, read_offer, refusing
from torpor.prices.savings_offers import savings_rates
from torpor_endpoint.core.pricing.catalogue import CATALOGUE, InstanceType
from torpor_endpoint.core.pricing.price_list import PriceList
from torpor_endpoint.core.pricing.quotes import (
    DATA_MOVED,
    GB,
    GB_MONTH,
    GB_SECOND,
    HOUR,
    PROVISIONED,
    PROVISIONED_PROCESSING,
    REQUEST,
    S3_GETS,
    S3_PUTS,
    S3_STORED,
    SERVERLESS,
    TRANSFORM,
    VOLUME,
    Quote,
    SavingsRate,
)

OFFER, OF_S3 = "AmazonSageMaker", "AmazonS3"
AGREE = 0.05
"""The tolerance between memory sizes for the price of a GB-second, as a share: AWS rounds each size's price."""
UNITS: Mapping[str, frozenset[str]] = {
    HOUR: frozenset({"hrs", "hours", "hour"}),
    GB_SECOND: frozenset({"seconds", "second"}),
    GB: frozenset({"gb"}),
    GB_MONTH: frozenset({"gb-mo", "gb-month"}),
    REQUEST: frozenset({"requests", "request"}),
}
"""By the unit of a quote: what AWS's files write for it, in small letters."""


@dataclass(frozen=True)
class Taken:
    """A rule for lines to take: the pattern of their usage type, and the item and unit of their price."""

    usage: re.Pattern[str]  # the group is the instance type, the GB of memory, or the direction
    item: str  # for instances: what stands before the type
    unit: str

    @property
    def by_memory(self) -> bool:
        return self.unit == GB_SECOND

    def item_of(self, group: str) -> str:
        return f"{self.item}{group}" if self.unit == HOUR else self.item


TAKEN = (
    Taken(re.compile(r"(?:^|-)Host:(ml\.[\w-]+\.\w+)$"), "", HOUR),
    Taken(re.compile(r"(?:^|-)(?:Tsform|BatchTransform):(ml\.[\w-]+\.\w+)$"), TRANSFORM, HOUR),
    Taken(re.compile(r"(?:^|-)ServerlessInf:Mem-(\d+)GB$"), SERVERLESS, GB_SECOND),
    Taken(re.compile(r"ProvisionedConcurrency:Usage-(\d+)GB$"), PROVISIONED, GB_SECOND),
    Taken(re.compile(r"ProvisionedConcurrency:Mem-(\d+)GB$"), PROVISIONED_PROCESSING, GB_SECOND),
    Taken(re.compile(r"(?:^|-)Ho?st:Data-Bytes-(In|Out)$"), DATA_MOVED, GB),
    Taken(re.compile(r"(?:^|-)Host:(VolumeUsage)\.gp2$"), VOLUME, GB_MONTH),
)
TAKEN_OF_S3 = (
    Taken(re.compile(r"(?:^|-)(TimedStorage)-ByteHrs$"), S3_STORED, GB_MONTH),
    Taken(re.compile(r"(?:^|-)Requests-(Tier1)$"), S3_PUTS, REQUEST),
    Taken(re.compile(r"(?:^|-)Requests-(Tier2)$"), S3_GETS, REQUEST),
)
OFFERS = {OFFER: TAKEN, OF_S3: TAKEN_OF_S3}
JOB = re.compile(r"(ml\.[\w-]+\.\w+)-Batch ?Transform$", re.IGNORECASE)
"""The attribute instanceType of a job's instances, whatever their usage type is called."""


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

    A file of S3's gives a list with S3's items only. Raises OSError, or PriceFileRefused, which says what is wrong with
    the file, and what to do.
    """
    path = Path(path)
    offer = read_offer(path, _wanted)
    if offer.code not in OFFERS:
        told = f"is the price list of {offer.code}: name AWS's file of {OFFER}, or of {OF_S3} for the prices of S3"
        raise PriceFileRefused(path, told)
    matched = [one for line in offer.lines if (one := _matched(line.attributes, OFFERS[offer.code], line))]
    place = _region(path, offer, {one.line.region for one in matched}, region)
    prices = [_price(path, one) for one in matched if one.line.region == place]
    charged = [price for price in prices if price.usd > 0]  # free lines are other offers: a trial, a reservation
    return PriceList(
        place,
        offer.published[:10],
        f"AWS Price List, offer {offer.code}, {place}, {path.name}",
        tuple(price.quote(path.name) for price in _current(path, charged)),
        tuple(_further_types(charged)),
    )


def read_savings(path: str | Path) -> tuple[SavingsRate, ...]:
    """The rates of SageMaker's savings plans, from AWS's file of them. Raises OSError, PriceFileRefused."""
    path = Path(path)
    with refusing(path):
        if not is_json(path):
            raise PriceFileRefused(path, "is no JSON: name AWS's JSON file of a region's savings plans")
        return savings_rates(path, _item_of)


# -- inside --------------------------------------------------------------------------------------------------------
def _item_of(usage_type: str) -> str | None:
    """The item of instances with this usage type; None for any other usage."""
    for taken in TAKEN:
        if taken.unit == HOUR and (found := taken.usage.search(usage_type)):
            return taken.item_of(found[1])
    return None


def _wanted(attributes: Attributes) -> bool:
    usage = attributes.get("usagetype", "")
    return any(taken.usage.search(usage) for rules in OFFERS.values() for taken in rules) or bool(
        JOB.search(attributes.get("instancetype", ""))
    )


def _matched(attributes: Attributes, rules: Iterable[Taken], line: PriceLine) -> _MatchedLine | None:
    for taken in rules:
        found = taken.usage.search(line.usage_type)
        if found is None and taken.item == TRANSFORM:
            found = JOB.search(attributes.get("instancetype", ""))
        if found is not None:
            return _MatchedLine(line, taken, found[1])
    return None


def _region(path: Path, offer: Offer, found: set[str], requested: str | None) -> str:
    if not found:
        items = "objects and requests" if offer.code == OF_S3 else "hosting or serverless inference"
        raise PriceFileRefused(path, f"has no prices for {items}: name AWS's whole file of a region")
    if requested is None and len(found) > 1:
        raise PriceFileRefused(path, f"has prices of {', '.join(sorted(found))}: name one of them (region=, --region)")
    place = next(iter(found)) if requested is None else requested
    if place not in found:
        raise PriceFileRefused(path, f"has no prices of {place}, only of {', '.join(sorted(found))}: name one of them")
    return place


def _price(path: Path, one: _MatchedLine) -> _Price:
    line, taken = one.line, one.taken
    if line.unit.lower() not in UNITS[taken.unit]:
        raise PriceFileRefused(path, f"{one} is priced by {line.unit!r}, not by the {taken.unit}: Torpor cannot use it")
    if line.currency != USD:
        currency = line.currency or "no currency"
        raise PriceFileRefused(path, f"{one} is priced in {currency}, not in US dollars: name another region's file")
    try:
        usd, tier = float(line.amount), float(line.starting_range)
    except ValueError:
        raise PriceFileRefused(path, f"{one} has no price in US dollars: fetch it from AWS again") from None
    per = int(one.group) if taken.by_memory else 1
    if not (isfinite(usd) and isfinite(tier) and usd >= 0 and per):
        raise PriceFileRefused(path, f"{one} has the price {line.amount}, which is not possible: fetch it again")
    return _Price(line, taken.item_of(one.group), taken.unit, per, usd)


def _current(path: Path, prices: Iterable[_Price]) -> list[_Price]:
    """One current price for each item, the instances first."""
    by_item: dict[tuple[str, int], list[_Price]] = defaultdict(list)
    for price in prices:
        by_item[price.item, price.per].append(price)
    newest = [max(same, key=lambda price: price.rank) for same in by_item.values()]
    by_memory: dict[str, list[_Price]] = defaultdict(list)
    for price in sorted(newest, key=lambda price: price.per):
        if price.unit == GB_SECOND:
            by_memory[price.item].append(price)
    for item, sizes in by_memory.items():
        rates = [price.usd / price.per for price in sizes]
        if max(rates) > min(rates) * (1 + AGREE):
            raise PriceFileRefused(path, f"its prices of {item} do not grow with the memory: Torpor cannot use them")
    others = [price for price in newest if price.unit != GB_SECOND]
    others.sort(key=lambda price: (price.unit != HOUR, price.item))
    # Of the memory sizes the largest, whose price lost the least in rounding.
    return [*others, *(sizes[-1] for sizes in by_memory.values())]


def _further_types(prices: Iterable[_Price]) -> Iterator[InstanceType]:
    """The sizes of the instance types that the file describes and Torpor does not know."""
    hosted = {price.item: price for price in prices if price.unit == HOUR and not price.item.startswith(TRANSFORM)}
    for name, price in hosted.items():
        if name not in CATALOGUE and (size := _size(name, price.line.attributes)) is not None:
            yield size


def _size(name: str, attributes: Mapping[str, str]) -> InstanceType | None:
    vcpus, memory = attributes.get("vcpu", ""), re.fullmatch(r"([\d.,]+) GiB", attributes.get("memory", ""))
    if not vcpus.isdecimal() or memory is None:
        return None
    gpus = attributes.get("gpu", "")
    mib = round(float(memory[1].replace(",", "")) * 1024)
    return InstanceType(name, int(vcpus), mib, int(gpus) if gpus.isdecimal() else 0)
