"""Prices: the list that comes with Torpor, lists read from AWS's own files, and the source of each figure.

from torpor import prices

ireland = prices.read("AmazonSageMaker-eu-west-1.json")
ireland.prices.usd_per_hour("ml.r5.2xlarge")
"""

from torpor.prices.aws_price_list import read
from torpor.prices.current_list import current, reset, update
from torpor.prices.offers import PriceFileRefused
from torpor_endpoint.core.pricing.price_list import SHIPPED, PriceList
from torpor_endpoint.core.pricing.quotes import DATA_MOVED, SERVERLESS, Quote

__all__ = [
    "DATA_MOVED",
    "SERVERLESS",
    "SHIPPED",
    "PriceFileRefused",
    "PriceList",
    "Quote",
    "current",
    "read",
    "reset",
    "update",
]
