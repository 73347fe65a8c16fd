"""AWS's published savings of multi-model endpoints, to the dollar, and the assumptions that the blog does not mention.

"Save on inference costs by using Amazon SageMaker multi-model endpoints", 2019-11-26, and its twin for GPUs of 2023.
"""

from dataclasses import replace

from torpor.simulator.costs.comparing import Comparison, Published, Side
from torpor.simulator.costs.ways_to_serve import CostTerms, HeldInstances
from torpor_endpoint.core.pricing.price_list import SHIPPED, PriceList
from torpor_endpoint.core.pricing.quotes import HOUR, Quote

BLOG_MONTH_H = 720.0
"""24 hours, 30 days."""

_TIMES_EC2 = "EC2's price x 1.4, which was SageMaker's rule until its prices were cut"
PRICES_2019 = PriceList(
    "us-east-1",
    "2019-11-26",
    "what AWS's blog of this day was reckoned with",
    (
        Quote("ml.c5.large", 0.119, HOUR, "2019-11-26", f"with the blog's figures; {_TIMES_EC2}: $0.085"),
        Quote("ml.c5.xlarge", 0.238, HOUR, "2019-11-26", f"derived: {_TIMES_EC2}: $0.170"),
        Quote("ml.m4.xlarge", 0.28, HOUR, "2019-11-26", "a public table, not AWS's own"),
        Quote(
            "ml.r5.2xlarge", 0.706, HOUR, "2019-11-26", "inferred: of all types it alone fits the blog to the dollar"
        ),
    ),
)
PRICES_2023 = PriceList(
    "us-east-1",
    "2023-09",
    "AWS's and PyTorch's blog on multi-model endpoints with GPUs",
    (Quote("ml.g5.2xlarge", 1.52, HOUR, "2023-09", "the blog's own table; the list price was $1.515"),),
)


THOUSAND_MODELS = Comparison(
    "as published in 2019",
    1000,
    Side(1000, HeldInstances("ml.c5.large", 2)),
    Side(1, HeldInstances("ml.r5.2xlarge", 2)),
    CostTerms(PRICES_2019.prices, BLOG_MONTH_H, volumes=False),
    Published(171_360, 1_017, None, 0.99),
)
THOUSAND_MODELS_TODAY = replace(
    THOUSAND_MODELS,
    what=f"at the prices of {SHIPPED.dated}",
    terms=CostTerms(SHIPPED.prices, BLOG_MONTH_H, volumes=False),
    published=None,
)

HIDDEN = (
    replace(
        THOUSAND_MODELS,
        what="one instance an endpoint, as the headline reads: the published sums have two",
        apart=Side(1000, HeldInstances("ml.c5.large", 1)),
        together=Side(1, HeldInstances("ml.r5.2xlarge", 1)),
        published=None,
    ),
    replace(
        THOUSAND_MODELS,
        what="the same instance class on both sides: the published sums change it",
        together=Side(1, HeldInstances("ml.c5.large", 2)),
        published=None,
    ),
    replace(
        THOUSAND_MODELS,
        what="a month of 730 hours, as AWS's calculators count: the published sums have 720",
        terms=CostTerms(PRICES_2019.prices, volumes=False),
        published=None,
    ),
    THOUSAND_MODELS_TODAY,
)
"""The published comparison with one unstated assumption changed each. None counts loads, storage or latency."""


def _ten(size: str, instances: int) -> Comparison:
    return Comparison(
        f"{instances} x {size}",
        10,
        Side(10, HeldInstances(size, instances)),
        Side(1, HeldInstances(size, instances)),
        CostTerms(PRICES_2019.prices, BLOG_MONTH_H, volumes=False),
        Published(None, None, 3_000, 0.90),
    )


TEN_MODELS = tuple(_ten(size, count) for size in ("ml.c5.large", "ml.c5.xlarge", "ml.m4.xlarge") for count in (1, 2))
"""The headline, $3,000 a month and 90 % saved by 10 models on one endpoint, with instances that it may be based on.

90 % is 9 of 10, with any instance. Which instance gave the dollars is not known: the blog's sample notebook deploys one
ml.m4.xlarge; two ml.c5.xlarge come nearest.
"""

GPU_TWIN = Comparison(
    "as published in 2023, with GPUs: 25 endpoints of four models, not one",
    100,
    Side(100, HeldInstances("ml.g5.2xlarge", 2)),
    Side(25, HeldInstances("ml.g5.2xlarge", 2)),
    CostTerms(PRICES_2023.prices, BLOG_MONTH_H, volumes=False),
    Published(218_880, 54_720, None, 0.75),
)
