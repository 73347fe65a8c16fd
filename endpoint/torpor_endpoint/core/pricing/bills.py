"""Makes a bill of what was used: a line for each item, with its quantity, its unit, and the dated price of one.

The live endpoint, the simulator and the planner all make their bills here, so that one price list and one set of rules
holds for all of them. The rules are AWS's, of SageMaker's pricing page and developer guide:

- An instance costs its price for an hour, by the second, from its start to its end, and its volume besides.
- Serverless inference costs each millisecond of processing, by the memory. AWS does not say whether it bills the start
  of an instance and the loading of its model: Torpor bills neither, in every bill.
- Provisioned concurrency costs the time for which it is kept ready, by the memory, and processing on it has a price of
  its own.
- Data in and out costs its GB, of endpoints of every kind. A batch transform job's data costs nothing here.
- S3 costs its GB-months and its requests, one for each artifact that is fetched for a load; moving data to an instance
  of the same region costs nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from torpor_endpoint.core.pricing.prices import HOUR_S, Prices
from torpor_endpoint.core.pricing.quotes import (
    DATA_MOVED,
    HOUR,
    PROVISIONED,
    PROVISIONED_PROCESSING,
    S3_GETS,
    S3_PUTS,
    S3_STORED,
    SERVERLESS,
    UNITS,
    VOLUME,
    transform_item,
)

BYTES_PER_GB = 2**30
MONTH_S = 730 * HOUR_S
"""The seconds of a month, by which a GB-month is counted. AWS's calculators count 730 hours."""
BESIDE = frozenset({DATA_MOVED, VOLUME, S3_STORED, S3_GETS, S3_PUTS})
"""The items without whose price a bill still has a sum, beside which they are named."""


@dataclass(frozen=True)
class Usage:
    """What a variant or a job used. Seconds, bytes and requests are sums over its instances and requests."""

    size: str = ""  # an ml.* type; "" for what is billed by memory, or reached no instance
    memory_gb: float = 0.0  # of a serverless instance
    instance_s: float = 0.0  # of instances that are billed by the hour
    volume_gb_s: float = 0.0  # the GB of their volumes times their seconds
    processing_ms: int = 0  # of serverless instances on demand, rounded up for each request
    provisioned_s: float = 0.0  # for which provisioned concurrency was kept ready, all of it together
    provisioned_ms: int = 0  # as `processing_ms`, of requests that provisioned concurrency took
    moved_bytes: int = 0
    stored_byte_s: float = 0.0  # of objects in S3: their bytes times the seconds
    gets: int = 0
    puts: int = 0
    job: bool = False  # a batch transform job


@dataclass(frozen=True)
class BillLine:
    """One line of a bill. `rate_usd` and `usd` are None where the price is not known."""

    item: str
    quantity: float
    unit: str
    rate_usd: float | None
    usd: float | None
    dated: str = ""  # of the price
    source: str = ""  # of the price


@dataclass(frozen=True)
class Bill:
    """The lines of a bill."""

    lines: tuple[BillLine, ...] = ()

    @property
    def usd(self) -> float | None:
        """The sum of the lines whose price is known; None if instances or processing have no price."""
        if any(line.usd is None and line.item not in BESIDE for line in self.lines):
            return None
        return sum(line.usd or 0.0 for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The items without a price. They are not in `usd`."""
        return tuple(line.item for line in self.lines if line.usd is None)

    def usd_of(self, *items: str) -> float:
        """The sum of the lines of these items, as far as their price is known."""
        return sum(line.usd or 0.0 for line in self.lines if line.item in items)

    def times(self, factor: float) -> "Bill":
        """The bill of so many times the usage, such as that of a month."""
        return Bill(tuple(_times(line, factor) for line in self.lines))


def bill(used: Usage, prices: Prices) -> Bill:
    """The bill of what was used. Beside instances or processing, what was not used has no line."""
    main = _main(used)
    lines = (_line(item, quantity, prices) for item, quantity in _quantities(used) if quantity or item == main)
    return Bill(tuple(lines))


def together(bills: Iterable[Bill]) -> Bill:
    """One bill of several, with one line for each item."""
    found: dict[str, BillLine] = {}
    for line in (line for one in bills for line in one.lines):
        had = found.get(line.item)
        found[line.item] = line if had is None else _added(had, line)
    return Bill(tuple(found.values()))


def unit_of(item: str) -> str:
    """The unit of an item; an hour for instances."""
    return UNITS.get(item, HOUR)


# -- inside --------------------------------------------------------------------------------------------------------
def _main(used: Usage) -> str:
    """The item of the instances, or of processing; "" where nothing ran."""
    if used.memory_gb:
        return SERVERLESS
    return transform_item(used.size) if used.job and used.size else used.size


def _quantities(used: Usage) -> Iterator[tuple[str, float]]:
    """Each item with its quantity, in the order of a bill."""
    if used.size:
        yield _main(used), used.instance_s / HOUR_S
    yield SERVERLESS, used.memory_gb * used.processing_ms / 1000
    yield PROVISIONED, used.memory_gb * used.provisioned_s
    yield PROVISIONED_PROCESSING, used.memory_gb * used.provisioned_ms / 1000
    yield VOLUME, used.volume_gb_s / MONTH_S
    yield DATA_MOVED, 0.0 if used.job else used.moved_bytes / BYTES_PER_GB
    yield S3_STORED, used.stored_byte_s / BYTES_PER_GB / MONTH_S
    yield S3_GETS, used.gets
    yield S3_PUTS, used.puts


def _line(item: str, quantity: float, prices: Prices) -> BillLine:
    quote = prices.quotes.get(item)
    if quote is None:
        return BillLine(item, quantity, unit_of(item), None, None)
    return BillLine(item, quantity, quote.unit, quote.usd, quote.usd * quantity, quote.dated, quote.source)


def _added(one: BillLine, other: BillLine) -> BillLine:
    usd = None if one.usd is None or other.usd is None else one.usd + other.usd
    return replace(one, quantity=one.quantity + other.quantity, usd=usd)


def _times(line: BillLine, factor: float) -> BillLine:
    usd = None if line.usd is None else line.usd * factor
    return replace(line, quantity=line.quantity * factor, usd=usd)


NOTHING = Bill()
