"""Reads AWS's price list files, in JSON or CSV, as lines of one kind. It does not interpret the lines.

AWS, on its service price list files: "The first five rows of the CSV file contain the metadata for the price list file.
The sixth row has the column names"; in the JSON, "the product details and pricing details are in separate sections".
A file of all regions has hundreds of megabytes: a JSON file is in memory once, as it is, and only the lines of wanted
products are made.
"""

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError, json

from torpor.errors import TorporError

ON_DEMAND = "OnDemand"
USD = "USD"
AGAIN = "fetch it from AWS again"
TRUNCATED = "truncated"
"""What msgspec says of a document that ends before its end."""

D = TypeVar("D")
Attributes = Mapping[str, str]
"""A product's, by name in lower-case letters only: `usagetype`, `regioncode`."""


class PriceFileRefused(TorporError, ValueError):
    """The file is not a price list of AWS's that Torpor can use."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True)
class PriceLine:
    """One on-demand price of one product."""

    sku: str
    amount: str
    currency: str
    unit: str
    starting_range: str
    effective: str
    attributes: Attributes

    @property
    def usage_type(self) -> str:
        return self.attributes.get("usagetype", "")

    @property
    def region(self) -> str:
        """The region's code; in files from before there were codes, its name."""
        return self.attributes.get("regioncode") or self.attributes.get("location", "")


@dataclass(frozen=True)
class Offer:
    """A price list file: its service, its date, and its wanted lines."""

    code: str
    published: str
    lines: tuple[PriceLine, ...]


class CutShort(ValueError):
    """The file ends before its end."""


def read_offer(path: Path, wanted: Callable[[Attributes], bool]) -> Offer:
    """Read a file, with the lines of the products that are wanted. Raises OSError, or PriceFileRefused for a file in
    neither format."""
    with refusing(path):
        return _from_json(path, wanted) if is_json(path) else _from_csv(path, wanted)


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """What goes wrong with the file inside the with-statement becomes PriceFileRefused."""
    try:
        yield
    except PriceFileRefused:
        raise
    except CutShort:
        raise PriceFileRefused(path, f"is cut short: {AGAIN}") from None
    except UnicodeDecodeError as exc:
        raise PriceFileRefused(path, "is not text: unpack a compressed file first") from exc
    except KeyError as exc:
        raise PriceFileRefused(path, f"is not an AWS price list: it has no {exc}: name AWS's own JSON or CSV") from exc
    except (AttributeError, TypeError, ValueError, csv.Error) as exc:
        raise PriceFileRefused(path, f"is not an AWS price list, or is cut short ({exc}): {AGAIN}") from exc


def is_json(path: Path) -> bool:
    """Whether the file looks like JSON. Raises PriceFileRefused for an empty one."""
    with path.open(encoding="utf-8-sig") as file:
        begins = file.read(1024).lstrip()[:1]
    if not begins:
        raise PriceFileRefused(path, f"is empty: {AGAIN}")
    return begins in "{["


def document(path: Path, kind: type[D]) -> D:
    """The JSON document of a file. Raises CutShort, ValueError."""
    return decoded(path.read_bytes().removeprefix(BOM_UTF8), kind)


def decoded(text: bytes | Raw, kind: type[D]) -> D:
    """JSON as this kind. Raises CutShort, ValueError."""
    try:
        return json.decode(text, type=kind)
    except ValidationError as exc:
        raise ValueError(str(exc)) from None
    except DecodeError as exc:
        raise CutShort(str(exc)) if TRUNCATED in str(exc) else ValueError(str(exc)) from None


# -- inside ------------------------------------------------------------------------------------------------------------
class _OfferedProduct(Struct):
    attributes: dict[str, str]


class _OfferedPrice(Struct, rename="camel"):
    unit: str
    price_per_unit: dict[str, str]
    begin_range: str = "0"


class _OfferTerm(Struct, rename="camel"):
    price_dimensions: dict[str, _OfferedPrice]
    effective_date: str = ""


class _OfferFile(Struct, rename="camel"):
    """Each product, and each product's prices, stay text until they are wanted."""

    offer_code: str | None = None
    publication_date: str | None = None
    products: dict[str, Raw] | None = None
    terms: dict[str, dict[str, Raw]] | None = None


def _plain(name: str) -> str:
    """A name in lower case without spaces: AWS writes `usagetype`, `usageType` and `Usage Type`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _from_json(path: Path, wanted: Callable[[Attributes], bool]) -> Offer:
    found = document(path, _OfferFile)
    if found.products is None:
        raise KeyError("products")
    if found.terms is None:
        raise KeyError("terms")
    if found.offer_code is None or found.publication_date is None:
        raise KeyError("publicationDate" if found.offer_code else "offerCode")
    prices = found.terms.get(ON_DEMAND, {})
    lines: list[PriceLine] = []
    for sku, product in found.products.items():
        attributes = {_plain(name): value for name, value in decoded(product, _OfferedProduct).attributes.items()}
        if sku in prices and wanted(attributes):
            lines += _of_product(sku, attributes, decoded(prices[sku], dict[str, _OfferTerm]))
    return Offer(found.offer_code, found.publication_date, tuple(lines))


def _of_product(sku: str, attributes: Attributes, terms: Mapping[str, _OfferTerm]) -> Iterator[PriceLine]:
    for term in terms.values():
        for price in term.price_dimensions.values():
            currency, amount = next(iter(price.price_per_unit.items()))
            if USD in price.price_per_unit:
                currency, amount = USD, price.price_per_unit[USD]
            yield PriceLine(sku, amount, currency, price.unit, price.begin_range, term.effective_date, attributes)


def _from_csv(path: Path, wanted: Callable[[Attributes], bool]) -> Offer:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return _from_rows(csv.reader(file, strict=True), wanted)


def _from_rows(rows: Iterator[list[str]], wanted: Callable[[Attributes], bool]) -> Offer:
    head: dict[str, str] = {}
    for row in rows:
        if row and row[0] == "SKU":
            names = [_plain(name) for name in row]
            if "termtype" not in names:
                raise KeyError("termtype")
            lines = tuple(_rows(rows, names, wanted))
            return Offer(head["offercode"], head["publicationdate"], lines)
        if len(row) > 1:
            head[_plain(row[0])] = row[1]
    raise KeyError("SKU")


def _rows(rows: Iterator[list[str]], names: list[str], wanted: Callable[[Attributes], bool]) -> Iterator[PriceLine]:
    for values in rows:
        if not values:
            continue
        if len(values) != len(names):
            raise CutShort(f"a row has {len(values)} values, not {len(names)}")
        row = dict(zip(names, values, strict=True))
        if row["termtype"] == ON_DEMAND and wanted(row):
            begins, effective = row.get("startingrange", "0"), row.get("effectivedate", "")
            yield PriceLine(row["sku"], row["priceperunit"], row["currency"], row["unit"], begins, effective, row)
