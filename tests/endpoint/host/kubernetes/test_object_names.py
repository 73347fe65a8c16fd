"""The names of an instance's objects in a cluster."""

import re

from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.host import Slot
from torpor_endpoint.host.kubernetes.object_names import annotations, deployment_name, labels, slot_of

NAMES = st.from_regex("[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", fullmatch=True).map(lambda name: name[:63].rstrip("-"))
SLOTS = st.builds(Slot, NAMES, NAMES, st.integers(0, 9999), st.integers(0, 14))


@given(SLOTS)
def test_a_name_is_a_dns_label_with_room_for_that_of_a_pod(slot: Slot) -> None:
    name = deployment_name(slot, "0123abcd")
    assert re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= 63 - len("-0123456789-01234")


@given(SLOTS, SLOTS)
def test_two_slots_have_two_names(one: Slot, other: Slot) -> None:
    assert (deployment_name(one, "0123abcd") == deployment_name(other, "0123abcd")) == (one == other)


def test_names_that_differ_in_upper_case_or_in_where_a_hyphen_is_are_different() -> None:
    slots = [Slot("Shop", "A", 0), Slot("shop", "A", 0), Slot("shop-A", "0", 0), Slot("shop", "A-0", 0)]
    assert len({deployment_name(slot, "0123abcd") for slot in slots}) == 4


def test_a_long_name_keeps_its_beginning_and_its_number() -> None:
    assert re.fullmatch(
        "torpor-0123abcd-recommendatio-12-[0-9a-f]{12}",
        deployment_name(Slot("Recommendations-Europe-West", "AllTraffic", 12), "0123abcd"),
    )


@given(SLOTS)
def test_the_slot_is_read_back(slot: Slot) -> None:
    assert slot_of({"annotations": annotations(slot)}) == slot
    assert slot_of({"labels": labels(slot, "0123abcd", "1")}) is None


def test_a_name_that_fits_no_label_is_in_annotations_alone() -> None:
    found = labels(Slot("e" * 64, "AllTraffic", 0), "0123abcd", "1")
    assert ("torpor/endpoint" in found, found["torpor/variant"]) == (False, "AllTraffic")
