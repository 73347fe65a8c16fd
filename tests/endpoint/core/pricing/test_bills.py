"""Bills against sums by hand: each expected amount is plain arithmetic from the rule that the row names."""

from dataclasses import replace
from typing import NamedTuple

import pytest

from torpor_endpoint.core.pricing.bills import Usage, bill, together
from torpor_endpoint.core.pricing.prices import PRICES, Prices
from torpor_endpoint.core.pricing.quotes import (
    DATA_MOVED,
    GB_SECOND,
    PROVISIONED,
    PROVISIONED_PROCESSING,
    S3_GETS,
    S3_PUTS,
    S3_STORED,
    SERVERLESS,
    VOLUME,
    Quote,
)

GB = 2**30
HOUR_S = 3600
MONTH_S = 730 * HOUR_S
MIB_64 = 64 * 2**20
READY = Prices(
    PRICES.types,
    {
        **PRICES.quotes,
        PROVISIONED: Quote(PROVISIONED, 0.000005, GB_SECOND, "2026", "made up for this test"),
        PROVISIONED_PROCESSING: Quote(PROVISIONED_PROCESSING, 0.0000115, GB_SECOND, "2026", "made up for this test"),
    },
    PRICES.priced_on,
    "the shipped list, with made-up prices of provisioned concurrency, of which no source is known",
)


class ByHand(NamedTuple):
    rule: str  # and its source
    used: Usage
    usd: float  # to the cent


INSTANCE = "AWS's pricing page: instances are billed by the second, at a price for an hour"
GP2 = "AWS's pricing page: $0.14 per GB-month of the attached volume; a month of 730 h as in its calculator"
MOVED = "AWS's worked example and a bill of AWS's samples: $0.016 per GB in and out"
MEMORY = "AWS's pricing page: each millisecond of processing, $0.00002 per second and GB"
READINESS = "Developer guide, serverless endpoints: memory x time for which it is provisioned x its number"
S3 = "S3's pricing page, us-east-1: $0.023 per GB-month, $0.0004 per 1,000 GET and $0.005 per 1,000 PUT requests"

BILLS = (
    ByHand(f"one small instance for a month. {INSTANCE}", Usage("ml.m5.large", instance_s=MONTH_S), 730 * 0.115),
    ByHand(
        f"AWS's blog at today's prices: 2 x ml.r5.2xlarge for 720 h. {INSTANCE}",
        Usage("ml.r5.2xlarge", instance_s=2 * 720 * HOUR_S),
        2 * 720 * 0.605,
    ),
    ByHand(
        f"a thousand endpoints of two ml.c5.large for 720 h. {INSTANCE}",
        Usage("ml.c5.large", instance_s=1000 * 2 * 720 * HOUR_S),
        1000 * 2 * 720 * 0.102,
    ),
    ByHand(f"an instance for 90 s. {INSTANCE}", Usage("ml.g5.48xlarge", instance_s=90), 90 / 3600 * 20.36),
    ByHand(
        f"a GPU for eight hours of each of 22 days. {INSTANCE}",
        Usage("ml.g4dn.xlarge", instance_s=22 * 8 * HOUR_S),
        22 * 8 * 0.7364,
    ),
    ByHand(
        f"an instance and its volume of 30 GB for a month. {GP2}",
        Usage("ml.m5.large", instance_s=MONTH_S, volume_gb_s=30 * MONTH_S),
        730 * 0.115 + 30 * 0.14,
    ),
    ByHand(
        f"two instances with 50 GB each for half a month. {GP2}",
        Usage("ml.m5.xlarge", instance_s=2 * MONTH_S / 2, volume_gb_s=2 * 50 * MONTH_S / 2),
        730 * 0.23 + 50 * 0.14,
    ),
    ByHand(
        f"an instance that sleeps two thirds of the month, and its volume with it. {GP2}",
        Usage("ml.c5.xlarge", instance_s=MONTH_S / 3, volume_gb_s=100 * MONTH_S / 3),
        (730 * 0.204 + 100 * 0.14) / 3,
    ),
    ByHand(
        f"ten million requests of 10 KiB and answers of 2 KiB, real time. {MOVED}",
        Usage("ml.m5.large", instance_s=MONTH_S, moved_bytes=10_000_000 * 12 * 1024),
        730 * 0.115 + 10_000_000 * 12 / 1024 / 1024 * 0.016,
    ),
    ByHand(
        f"a terabyte through an asynchronous endpoint that ran 40 h. {MOVED}",
        Usage("ml.g5.xlarge", instance_s=40 * HOUR_S, moved_bytes=1024 * GB),
        40 * 1.41 + 1024 * 0.016,
    ),
    ByHand(
        "AWS's example: 10 M requests of 100 ms on 2 GB, $0.00004 a second, are $40.00, and 10 GB at $0.016 are $0.16",
        Usage(memory_gb=2.0, processing_ms=10_000_000 * 100, moved_bytes=10 * GB),
        40.00 + 0.16,
    ),
    ByHand(
        f"a thousand requests of one second on 3 GB. {MEMORY}",
        Usage(memory_gb=3.0, processing_ms=1000 * 1000),
        1000 * 0.00006,
    ),
    ByHand(
        f"a million requests of 1 ms on 6 GB. {MEMORY}",
        Usage(memory_gb=6.0, processing_ms=1_000_000),
        1000 * 0.00012,
    ),
    ByHand(
        f"five environments of 4 GB kept ready for eight hours, unused. {READINESS}",
        Usage(memory_gb=4.0, provisioned_s=5 * 8 * HOUR_S),
        5 * 8 * 3600 * 4 * 0.000005,
    ),
    ByHand(
        f"one kept ready for a month, which took a million requests of 50 ms. {READINESS}",
        Usage(memory_gb=2.0, provisioned_s=MONTH_S, provisioned_ms=1_000_000 * 50),
        730 * 3600 * 2 * 0.000005 + 1_000_000 * 0.05 * 2 * 0.0000115,
    ),
    ByHand(
        f"two kept ready for a day, and 10,000 of 30,000 requests of 200 ms beyond them. {READINESS}",
        Usage(memory_gb=1.0, provisioned_s=2 * 86_400, provisioned_ms=20_000 * 200, processing_ms=10_000 * 200),
        2 * 86_400 * 0.000005 + 20_000 * 0.2 * 0.0000115 + 10_000 * 0.2 * 0.00002,
    ),
    ByHand(
        f"a transform job on 3 x ml.m5.xlarge for 20 minutes, whatever it read. {INSTANCE}",
        Usage("ml.m5.xlarge", instance_s=3 * 20 * 60, moved_bytes=500 * GB, job=True),
        3 * 20 / 60 * 0.23,
    ),
    ByHand(
        f"thirty nights of a job of 2 h on one ml.c5.xlarge. {INSTANCE}",
        Usage("ml.c5.xlarge", instance_s=30 * 2 * HOUR_S, job=True),
        30 * 2 * 0.204,
    ),
    ByHand(
        f"ten thousand models of 64 MiB in S3 for a month. {S3}",
        Usage(stored_byte_s=10_000.0 * MIB_64 * MONTH_S),
        10_000 * 64 / 1024 * 0.023,
    ),
    ByHand(
        f"a sleeping endpoint with all of it. {S3}",
        Usage(
            "ml.r5.large",
            instance_s=200 * HOUR_S,
            volume_gb_s=30 * 200 * HOUR_S,
            moved_bytes=100 * GB,
            stored_byte_s=1000.0 * MIB_64 * MONTH_S,
            gets=3_000_000,
            puts=200_000,
        ),
        200 * 0.151 + 30 * 200 / 730 * 0.14 + 1.60 + 62.5 * 0.023 + 3000 * 0.0004 + 200 * 0.005,
    ),
)


@pytest.mark.parametrize("by_hand", BILLS, ids=lambda one: one.rule.partition(". ")[0])
def test_a_bill_is_the_sum_by_hand_to_the_cent(by_hand: ByHand) -> None:
    found = bill(by_hand.used, READY)
    assert found.usd is not None
    assert round(found.usd, 2) == round(by_hand.usd, 2)
    assert found.usd == pytest.approx(by_hand.usd)
    assert found.unpriced == ()
    for line in found.lines:
        assert line.usd == pytest.approx((line.rate_usd or 0.0) * line.quantity)
        assert line.source


def test_twenty_bills_were_made_by_hand() -> None:
    assert len({one.rule for one in BILLS}) == 20


def test_what_was_not_used_has_no_line() -> None:
    assert [line.item for line in bill(Usage("ml.m5.large"), PRICES).lines] == ["ml.m5.large"]
    assert bill(Usage(), PRICES).lines == ()
    assert bill(Usage(), PRICES).usd == 0.0


def test_instances_without_a_price_leave_no_sum() -> None:
    found = bill(Usage("ml.m4.xlarge", instance_s=60.0, volume_gb_s=60.0), PRICES)
    assert (found.usd, found.unpriced) == (None, ("ml.m4.xlarge",))
    elsewhere = replace(PRICES, quotes={SERVERLESS: PRICES.quotes[SERVERLESS]})
    found = bill(Usage(memory_gb=2.0, provisioned_s=1.0), elsewhere)
    assert (found.usd, found.unpriced) == (None, (PROVISIONED,))


def test_a_side_item_without_a_price_is_named_and_not_added() -> None:
    bare = replace(PRICES, quotes={"ml.m5.large": PRICES.quotes["ml.m5.large"]})
    hour = Usage("ml.m5.large", instance_s=HOUR_S, volume_gb_s=1.0, moved_bytes=1, stored_byte_s=1.0, gets=1, puts=1)
    found = bill(hour, bare)
    assert found.usd == 0.115
    assert found.unpriced == (VOLUME, DATA_MOVED, S3_STORED, S3_GETS, S3_PUTS)


def test_bills_together_have_one_line_for_each_item() -> None:
    one, other = (bill(Usage("ml.m5.large", instance_s=hours * HOUR_S), PRICES) for hours in (1, 2))
    both = together([one, other, bill(Usage("ml.r5.large", instance_s=HOUR_S), PRICES)])
    assert [(line.item, line.quantity) for line in both.lines] == [("ml.m5.large", 3.0), ("ml.r5.large", 1.0)]
    assert both.usd == pytest.approx(3 * 0.115 + 0.151)
    assert both.times(2.0).usd == pytest.approx(2 * (3 * 0.115 + 0.151))
