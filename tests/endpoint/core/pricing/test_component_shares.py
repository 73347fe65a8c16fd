"""The money of instances with inference components: divided by what copies reserve, the rest by itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.ledger_with_pages import life
from torpor_endpoint.core.ledger import Sums
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.pricing.accounts import ModelTraffic, Window, accounts
from torpor_endpoint.core.pricing.component_shares import UNRESERVED
from torpor_endpoint.core.pricing.costs import VariantCosts, costs
from torpor_endpoint.core.pricing.prices import PRICES

HOUR_S = 3600.0
WINDOW = Window(0.0, HOUR_S)


def instance(number: int = 1, size: str = "ml.m5.xlarge", until_s: float = HOUR_S) -> InstanceLife:
    return life(0.0, until_s, instance=f"i-{number}", variant="v", size=size)


def copy(name: str, mib: float = 4096, cores: float = 0, gpus: float = 0, until_s: float = HOUR_S) -> InstanceLife:
    copied = life(0.0, until_s, instance=f"c-{name}", variant=f"component.{name}", size="")
    return replace(copied, placed_on="v", reserved_mib=mib, reserved_cores=cores, reserved_accelerators=gpus)


def of(*lives: InstanceLife, traffic: tuple[ModelTraffic, ...] = ()) -> VariantCosts:
    return next(costs(one, WINDOW, PRICES) for one in accounts(lives, traffic, WINDOW) if one.variant == "v")


def parts(found: VariantCosts) -> dict[str, float]:
    return {one.component: one.share for one in found.components}


def test_an_hour_of_two_components_is_divided_by_the_most_that_each_takes() -> None:
    """Of 16 GiB and 4 cores: 4 GiB are a quarter, 4 GiB with 2 cores a half, and a quarter is left."""
    found = of(instance(), copy("small"), copy("busy", cores=2))
    assert parts(found) == pytest.approx({"busy": 0.5, "small": 0.25, UNRESERVED: 0.25})
    hour_usd = 0.23 + 30 * 0.14 / 730
    assert [one.usd for one in found.components] == pytest.approx([hour_usd / 2, hour_usd / 4, hour_usd / 4])


def test_a_copy_counts_for_as_long_as_it_is_there_and_both_copies_of_a_component_together() -> None:
    second = replace(copy("a", until_s=HOUR_S / 2), instance="c-2", variant="component.a.2")
    found = of(instance(1), instance(2), copy("a"), second)
    assert parts(found) == pytest.approx({"a": (1 + 0.5) / 4 / 2, UNRESERVED: 1 - 1.5 / 8})
    assert found.components[0].copy_s == 1.5 * HOUR_S


def test_an_accelerator_is_reserved_as_a_whole() -> None:
    found = of(instance(size="ml.g5.12xlarge"), copy("one", mib=1024, gpus=1))
    assert parts(found) == pytest.approx({"one": 0.25, UNRESERVED: 0.75})


def test_without_copies_or_a_price_there_is_no_amount() -> None:
    assert of(instance()).components == ()
    assert [one.usd for one in of(instance(size="ml.m4.xlarge"), copy("a")).components] == [None, None]


def test_the_data_of_a_component_is_in_its_own_bill() -> None:
    sums = Sums(1, request_bytes=2**30)
    called = ModelTraffic("houses", "component.a", "", "", sums)
    own = [costs(one, WINDOW, PRICES) for one in accounts([instance(), copy("a")], [called], WINDOW)]
    assert {one.variant: round(one.usd or 0.0, 4) for one in own} == {"component.a": 0.016, "v": 0.2358}


reserved = st.tuples(st.floats(0, 16_384), st.floats(0, 4), st.floats(1, 3600))


@given(st.lists(reserved, min_size=1, max_size=8), st.integers(1, 3))
def test_the_parts_are_the_whole(copies: list[tuple[float, float, float]], instances: int) -> None:
    held = [instance(number) for number in range(instances)]
    some = [
        replace(copy(f"c{number}", mib, cores, until_s=until_s), instance=f"c-{number}")
        for number, (mib, cores, until_s) in enumerate(copies)
    ]
    found = of(*held, *some)
    assert sum(one.share for one in found.components) == pytest.approx(1.0)
    assert sum(one.usd or 0.0 for one in found.components) == pytest.approx(found.usd)
    assert all(one.share >= -1e-12 for one in found.components)
