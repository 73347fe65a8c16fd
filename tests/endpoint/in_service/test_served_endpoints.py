"""Which instances may serve a variant."""

from dataclasses import replace

import pytest

from torpor_endpoint.core.resource_records import Container, CopyNeeds, Serverless, Variant
from torpor_endpoint.in_service.served_endpoints import machine_digest, same_machine

SHOP = Variant("v", "m", (Container("torpor", "s3://b/m"),), instance_type="ml.m5.large")
(CONTAINER,) = SHOP.containers
KEY = b"k" * 32

OTHERS = [
    (replace(SHOP, weight=2.0, instance_count=3, model_name="other", startup_timeout_s=60.0), True),
    (replace(SHOP, serverless=Serverless(1024, 5), instance_type=None), False),
    (replace(SHOP, instance_type="ml.m5.xlarge"), False),
    (replace(SHOP, direct=True), False),
    (replace(SHOP, containers=(CONTAINER, CONTAINER)), False),
    (replace(SHOP, containers=(replace(CONTAINER, environment={"A": "1"}),)), False),
    (replace(SHOP, containers=(replace(CONTAINER, role="arn:aws:iam::123456789012:role/r"),)), False),
    (replace(SHOP, containers=(replace(CONTAINER, multi_model=True),)), False),
    (replace(SHOP, copies=CopyNeeds("c", "v", 1024)), False),
]


@pytest.mark.parametrize(("other", "same"), OTHERS)
def test_a_digest_is_that_of_another_variant_of_the_same_machine_alone(other: Variant, same: bool) -> None:
    assert same_machine(SHOP, other) is same
    assert (machine_digest(SHOP, KEY) == machine_digest(other, KEY)) is same


def test_a_copy_with_other_bounds_is_another_machine_and_one_set_aside_for_it_is_not() -> None:
    copies = CopyNeeds("c", "v", 1024, 2048)
    shop = replace(SHOP, copies=copies)
    assert not same_machine(shop, replace(SHOP, copies=replace(copies, memory_max_mib=4096)))
    assert not same_machine(shop, replace(SHOP, copies=replace(copies, cores=1.0)))
    assert same_machine(shop, replace(SHOP, copies=replace(copies, memory_mib=512, binpack=True)))


def test_a_digest_stays_the_same_in_later_releases() -> None:
    """Otherwise the first start after an upgrade would end every instance."""
    assert machine_digest(SHOP, KEY) == "8334e58d128272b8"


def test_a_digest_says_nothing_to_who_lacks_the_key() -> None:
    assert machine_digest(SHOP, KEY) != machine_digest(SHOP, b"")
