"""AWS price list files of SageMaker, made small, in the shape that AWS documents: one product a line."""

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = {
    "FormatVersion": "v1.0",
    "Disclaimer": "This pricing list is for informational purposes only.",
    "Publication Date": "2026-11-03T02:56:06Z",
    "Version": "20261103025606",
    "OfferCode": "AmazonSageMaker",
}


@dataclass(frozen=True)
class Product:
    usage_type: str
    usd: str
    unit: str = "Hrs"
    region: str = "eu-west-1"
    begins: str = "0"
    effective: str = "2026-11-01T00:00:00Z"
    term: str = "OnDemand"
    currency: str = "USD"
    attributes: dict[str, str] = field(default_factory=dict)


COLUMNS = (
    *("SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate", "StartingRange"),
    *(
        "EndingRange",
        "Unit",
        "PricePerUnit",
        "Currency",
        "usageType",
        "Region Code",
        "vCPU",
        "Memory",
        "GPU",
        "Instance Type",
    ),
)

HOUSE = (
    Product("EU-Host:ml.r5.2xlarge", "0.6720000000", attributes={"vCpu": "8", "memory": "64 GiB", "gpu": "N/A"}),
    Product("EU-Host:ml.g9.xlarge", "1.5000000000", attributes={"vCpu": "4", "memory": "1,536 GiB", "gpu": "1"}),
    Product("EU-Train:ml.r5.2xlarge", "0.6720000000"),
    Product("EU-ServerlessInf:Mem-1GB", "0.0000223000", "seconds"),
    Product("EU-ServerlessInf:Mem-4GB", "0.0000890000", "seconds"),
    Product("EU-Hst:Data-Bytes-In", "0.0160000000", "GB"),
    Product("EU-Hst:Data-Bytes-Out", "0.0160000000", "GB"),
)


def as_json(path: Path, *products: Product, **head: str) -> Path:
    told = {**HEAD, **head}
    terms: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(products):
        price = {"unit": one.unit, "beginRange": one.begins, "pricePerUnit": {one.currency: one.usd}}
        offer = {"effectiveDate": one.effective, "priceDimensions": {f"S{number}.T.R": price}}
        terms.setdefault(one.term, {})[f"S{number}"] = {f"S{number}.T": offer}
    path.write_text(
        json.dumps(
            {
                "formatVersion": told["FormatVersion"],
                "offerCode": told["OfferCode"],
                "publicationDate": told["Publication Date"],
                "products": {f"S{number}": _product(number, one) for number, one in enumerate(products)},
                "terms": terms,
            }
        )
    )
    return path


def as_csv(path: Path, *products: Product, **head: str) -> Path:
    text = io.StringIO()
    out = csv.writer(text, quoting=csv.QUOTE_ALL)
    out.writerows({**HEAD, **head}.items())
    out.writerow(COLUMNS)
    for number, one in enumerate(products):
        codes = (f"S{number}", "T", f"S{number}.T.R", one.term, "a price,\nin two lines")
        price = (one.effective[:10], one.begins, "Inf", one.unit, one.usd, one.currency)
        sizes = (one.attributes.get(name, "") for name in ("vCpu", "memory", "gpu", "instanceType"))
        out.writerow([*codes, *price, one.usage_type, one.region, *sizes])
    path.write_text(text.getvalue())
    return path


def _product(number: int, one: Product) -> dict[str, Any]:
    attributes = {"usagetype": one.usage_type, "regionCode": one.region, **one.attributes}
    return {"sku": f"S{number}", "productFamily": "ML Instance", "attributes": attributes}
