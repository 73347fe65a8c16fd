"""Which instance comes for a copy without room: of the best type that helps, and never one too many."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.core.packing.helpers.packed import SIZE, copies, copy
from tests.helpers.example_counts import tries
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.further_instances import FurtherInstance, further_instance, next_pool
from torpor_endpoint.core.packing.packed_instances import PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool


def test_the_next_instance_is_of_the_best_pool_that_there_is_and_that_has_room() -> None:
    first, second, third = InstanceTypePool("b", 1), InstanceTypePool("a", 2), InstanceTypePool("c", 3)
    pools = (third, first, second)
    needs, sizes = dict.fromkeys("abc", ComputeAmount(4)), dict.fromkeys("abc", SIZE)
    assert next_pool(pools, needs, sizes) == first
    assert next_pool(pools, {"c": ComputeAmount(4), "a": ComputeAmount(4)}, sizes) == second
    assert next_pool(pools, {**needs, "b": ComputeAmount(9), "a": ComputeAmount(9)}, sizes) == third
    assert next_pool(pools, {"c": ComputeAmount(9)}, sizes) is None
    assert next_pool(pools, needs, {"c": SIZE}) == third


POOLS = tuple(InstanceTypePool(kind, priority) for priority, kind in enumerate(("small", "large", "huge"), start=1))
SIZES = {"small": ComputeAmount(8, 4, 2), "large": ComputeAmount(16, 4, 2), "huge": ComputeAmount(64, 32, 2)}


@st.composite
def of_pools(draw: st.DrawFn) -> list[PackedInstance]:
    """Instances of several types, some with copies."""
    kinds = draw(st.lists(st.sampled_from(sorted(SIZES)), max_size=4))
    found = []
    for number, kind in enumerate(kinds):
        one = PackedInstance(number, SIZES[kind], instance_type=kind)
        for present in draw(copies(3, prefix=f"present-{number}-")):
            one = one.holding(present) if one.has_room(present) else one
        found.append(one)
    return found


@settings(max_examples=tries(40))
@given(st.integers(1, 70), st.sampled_from((None, *SIZES)), of_pools(), st.integers(0, 5))
def test_a_further_instance_is_of_the_best_pool_that_helps_and_only_an_empty_one_makes_way(
    memory: int, only: str | None, instances: list[PackedInstance], most: int
) -> None:
    wanted = replace(copy("c", 0, memory), instance_type=only)
    found = further_instance(wanted, instances, POOLS, SIZES, most)
    helping = [one.instance_type for one in POOLS if _new(one.instance_type).has_room(wanted)]
    empty = {one.number for one in instances if not one.copies and one.instance_type not in helping[:1]}
    if found is None:
        assert not helping or (len(instances) >= most and not empty)
        return
    assert found.instance_type == helping[0]
    assert (found.instead_of is None) == (len(instances) < most)
    assert found.instead_of is None or found.instead_of in empty


def test_one_more_instance_comes_while_there_are_fewer_than_there_may_be() -> None:
    present = [PackedInstance(0, SIZES["small"], instance_type="small")]
    assert further_instance(copy("c", 0, 9), present, POOLS, SIZES, 2) == FurtherInstance("large")
    only_huge = replace(copy("c", 0, 9), instance_type="huge")
    assert further_instance(only_huge, present, POOLS, SIZES, 2) == FurtherInstance("huge")
    assert further_instance(copy("c", 0, 65), present, POOLS, SIZES, 2) is None


def _new(kind: str) -> PackedInstance:
    return PackedInstance(99, SIZES[kind], instance_type=kind)


@pytest.mark.parametrize(
    ("kinds", "leaves"),
    [
        (("large", "small"), 0),  # of the pool with the lower priority
        (("small", "small", "huge"), 1),  # one of the type that comes stays; of equals the last one leaves
        (("large", "other", "small"), 1),  # it is of no pool
        (("huge", "huge"), None),
    ],
)
def test_the_empty_instance_that_is_of_least_use_makes_way(kinds: tuple[str, ...], leaves: int | None) -> None:
    instances = [PackedInstance(at, SIZES.get(kind, SIZE), instance_type=kind) for at, kind in enumerate(kinds)]
    found = further_instance(copy("c", 0, 60), instances, POOLS, SIZES, len(kinds))
    assert found == (None if leaves is None else FurtherInstance("huge", leaves))
    pools = tuple(replace(one, priority=one.priority * 10) for one in POOLS)
    assert further_instance(copy("c", 0, 60), instances, pools, SIZES, len(kinds)) == found
