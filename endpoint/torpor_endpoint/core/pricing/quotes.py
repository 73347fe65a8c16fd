"""Quotes: what AWS bills, in which unit, and the dated price of each with its source. They hold values only."""

from dataclasses import dataclass

SERVERLESS = "serverless inference, processing"
PROVISIONED = "provisioned concurrency, kept ready"
PROVISIONED_PROCESSING = "provisioned concurrency, processing"
DATA_MOVED = "data in and out of endpoints"
VOLUME = "volumes of instances"
S3_STORED = "S3, storage"
S3_GETS = "S3, GET requests"
S3_PUTS = "S3, PUT requests"

HOUR, GB_SECOND, GB, GB_MONTH, REQUEST = "hour", "GB-second", "GB", "GB-month", "request"

UNITS = {
    SERVERLESS: GB_SECOND,
    PROVISIONED: GB_SECOND,
    PROVISIONED_PROCESSING: GB_SECOND,
    DATA_MOVED: GB,
    VOLUME: GB_MONTH,
    S3_STORED: GB_MONTH,
    S3_GETS: REQUEST,
    S3_PUTS: REQUEST,
}
"""The unit of each item. The items of instances, which are `ml.*` types, have the unit HOUR."""

TRANSFORM = "batch transform, "


def transform_item(size: str) -> str:
    """The item of a batch transform job's instances. AWS prices a job's instances apart from an endpoint's."""
    return f"{TRANSFORM}{size}"


@dataclass(frozen=True)
class SavingsRate:
    """The price of an hour of instances under a savings plan."""

    plan: str  # as AWS describes it: `1 year No Upfront SageMaker Savings Plan`
    item: str
    usd: float


@dataclass(frozen=True)
class Quote:
    """One figure of a price list."""

    item: str  # an ml.* type for the instances of endpoints, `transform_item` of one, or a name above
    usd: float
    unit: str  # the price is for one of these
    dated: str  # since when it is valid, or when it was read
    source: str
