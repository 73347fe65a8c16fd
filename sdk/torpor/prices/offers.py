"""Reads AWS's price list files, in JSON or CSV, as a stream of one kind of line. It does not interpret the lines.

AWS, on its service price list files: "The first five rows of the CSV file contain the metadata for the price list file.
The sixth row has the column names"; in the JSON, "the product details and pricing details are in separate sections".
A file of all regions has hundreds of megabytes: only the lines of wanted products are kept.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from torpor.errors import TorporError
from torpor.prices.json_stream import CutShort, JsonStream

ON_DEMAND = "OnDemand"
USD = "USD"
AGAIN = "fetch it from AWS again"

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


def read_offer(path: Path, wanted: Callable[[Attributes], bool]) -> Offer:
    """Read a file, with the lines of the products that are wanted. Raises OSError, or PriceFileRefused for a file in
    neither format."""
    with opened(path) as (file, is_json):
        return _from_json(JsonStream(file), wanted) if is_json else _from_csv(file, wanted)


@contextmanager
def opened(path: Path) -> Iterator[tuple[TextIO, bool]]:
    """The file, and whether it looks like JSON. What goes wrong inside the with-statement becomes PriceFileRefused."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            begins = file.read(1024).lstrip()[:1]
            file.seek(0)
            if not begins:
                raise PriceFileRefused(path, f"is empty: {AGAIN}")
            yield file, begins in "{["
    except CutShort:
        raise PriceFileRefused(path, f"is cut short: {AGAIN}") from None
    except UnicodeDecodeError as exc:
        raise PriceFileRefused(path, "is not text: unpack a compressed file first") from exc
    except KeyError as exc:
        raise PriceFileRefused(path, f"is not an AWS price list: it has no {exc}: name AWS's own JSON or CSV") from exc
    except (AttributeError, TypeError, ValueError, csv.Error) as exc:
        if isinstance(exc, PriceFileRefused):
            raise
        raise PriceFileRefused(path, f"is not an AWS price list, or is cut short ({exc}): {AGAIN}") from exc


# -- inside --------------------------------------------------------------------------------------------------------
def _plain(name: str) -> str:
    """A name in lower case without spaces: AWS writes `usagetype`, `usageType` and `Usage Type`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _from_json(stream: JsonStream, wanted: Callable[[Attributes], bool]) -> Offer:
    head: dict[str, Any] = {}
    products: dict[str, Attributes] = {}
    lines: list[PriceLine] = []
    for name in stream.members():
        if name == "products":
            products |= _products(stream, wanted)
            head[name] = True
        elif name == "terms":
            if "products" not in head:
                raise KeyError("products")  # AWS has them first
            lines += _terms(stream, products)
            head[name] = True
        else:
            head[name] = stream.value()
    stream.end()
    for name in ("products", "terms"):
        if name not in head:
            raise KeyError(name)
    return Offer(head["offerCode"], head["publicationDate"], tuple(lines))


def _products(stream: JsonStream, wanted: Callable[[Attributes], bool]) -> Iterator[tuple[str, Attributes]]:
    for sku in stream.members():
        found = stream.value()["attributes"]
        attributes = {_plain(name): value for name, value in found.items()}
        if wanted(attributes):
            yield sku, attributes


def _terms(stream: JsonStream, products: Mapping[str, Attributes]) -> Iterator[PriceLine]:
    for kind in stream.members():
        for sku in stream.members():
            offers = stream.value()
            if kind == ON_DEMAND and sku in products:
                yield from _of_product(sku, products[sku], offers)


def _of_product(sku: str, attributes: Attributes, offers: dict[str, Any]) -> Iterator[PriceLine]:
    for offer in offers.values():
        for price in offer["priceDimensions"].values():
            currency, amount = next(iter(price["pricePerUnit"].items()))
            if USD in price["pricePerUnit"]:
                currency, amount = USD, price["pricePerUnit"][USD]
            begins, effective = price.get("beginRange", "0"), offer.get("effectiveDate", "")
            yield PriceLine(sku, amount, currency, price["unit"], begins, effective, attributes)


def _from_csv(file: TextIO, wanted: Callable[[Attributes], bool]) -> Offer:
    rows = csv.reader(file, strict=True)
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
