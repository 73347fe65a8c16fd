"""Reads AWS's price list files, in JSON or CSV, into one kind of line. It does not interpret the lines.

AWS, on its service price list files: "The first five rows of the CSV file contain the metadata for the price list file.
The sixth row has the column names"; in the JSON, "the product details and pricing details are in separate sections".
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor.errors import TorporError

ON_DEMAND = "OnDemand"
USD = "USD"


class PriceFileRefused(TorporError, ValueError):
    """The file is not an AWS price list of SageMaker, or its prices cannot be used."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True)
class PriceLine:
    """One on-demand price of one product."""

    sku: str
    usd: str  # empty if the price is in another currency
    unit: str
    starting_range: str
    effective: str
    attributes: Mapping[str, str]  # the product's, by name in lower-case letters only: `usagetype`, `regioncode`

    @property
    def usage_type(self) -> str:
        return self.attributes.get("usagetype", "")

    @property
    def region(self) -> str:
        """The region's code; in files from before there were codes, its name."""
        return self.attributes.get("regioncode") or self.attributes.get("location", "")


@dataclass(frozen=True)
class Offer:
    """A price list file: its service, its date, and its lines."""

    code: str
    published: str
    lines: tuple[PriceLine, ...]


def read_offer(path: Path) -> Offer:
    """Read a file. Raises OSError, or PriceFileRefused for a file in neither format."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _from_json(json.loads(text)) if text.lstrip().startswith("{") else _from_csv(text)
    except UnicodeDecodeError as exc:
        raise PriceFileRefused(path, "is not text; unpack a compressed file first") from exc
    except json.JSONDecodeError as exc:
        raise PriceFileRefused(path, f"is incomplete, or not JSON: {exc}") from exc
    except KeyError as exc:
        raise PriceFileRefused(path, f"is not an AWS price list: it has no {exc}") from exc
    except (AttributeError, TypeError, csv.Error) as exc:
        raise PriceFileRefused(path, f"is not an AWS price list: {exc}") from exc


# -- inside --------------------------------------------------------------------------------------------------------
def _plain(name: str) -> str:
    """A name in lower case without spaces: AWS writes `usagetype`, `usageType` and `Usage Type`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _from_json(document: dict[str, Any]) -> Offer:
    products, terms = document["products"], document["terms"].get(ON_DEMAND, {})
    return Offer(
        document["offerCode"],
        document["publicationDate"],
        tuple(line for sku, offers in terms.items() for line in _of_product(sku, products[sku], offers)),
    )


def _of_product(sku: str, product: dict[str, Any], offers: dict[str, Any]) -> Iterator[PriceLine]:
    attributes = {_plain(name): value for name, value in product["attributes"].items()}
    for offer in offers.values():
        for price in offer["priceDimensions"].values():
            yield PriceLine(
                sku,
                price["pricePerUnit"].get(USD, ""),
                price["unit"],
                price.get("beginRange", "0"),
                offer.get("effectiveDate", ""),
                attributes,
            )


def _from_csv(text: str) -> Offer:
    rows = csv.reader(io.StringIO(text, newline=""))
    head: dict[str, str] = {}
    for row in rows:
        if row and row[0] == "SKU":
            names = [_plain(name) for name in row]
            lines = tuple(_of_row(dict(zip(names, values, strict=False))) for values in rows if values)
            return Offer(head["offercode"], head["publicationdate"], tuple(line for line in lines if line is not None))
        if len(row) > 1:
            head[_plain(row[0])] = row[1]
    raise KeyError("SKU")


def _of_row(row: dict[str, str]) -> PriceLine | None:
    if row["termtype"] != ON_DEMAND:
        return None
    usd = row["priceperunit"] if row["currency"] == USD else ""
    return PriceLine(row["sku"], usd, row["unit"], row.get("startingrange", "0"), row.get("effectivedate", ""), row)
