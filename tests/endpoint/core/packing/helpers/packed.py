"""Copies and instances for the tests of packing, and a search that tries everything."""

from collections.abc import Sequence
from itertools import product

from hypothesis import strategies as st

from torpor_endpoint.core.components.component_records import PlacementStrategy
from torpor_endpoint.core.packing.compute_amounts import ComputeAmount
from torpor_endpoint.core.packing.packed_instances import CopyId, PackedCopy, PackedInstance

SIZE = ComputeAmount(8, 4, 2)
SPREAD, BINPACK = PlacementStrategy.SPREAD, PlacementStrategy.BINPACK


def copy(component: str, number: int, memory: float = 2, **more: float) -> PackedCopy:
    return PackedCopy(CopyId(component, number), ComputeAmount(memory, **more))


def instance(number: int, *copies: PackedCopy, size: ComputeAmount = SIZE) -> PackedInstance:
    return PackedInstance(number, size, copies)


amounts = st.builds(
    ComputeAmount, st.integers(1, 9), st.integers(0, 10).map(lambda quarters: quarters / 4), st.sampled_from((0, 0, 1))
)
strategies = st.sampled_from((SPREAD, BINPACK))


@st.composite
def copies(draw: st.DrawFn, most: int = 5, prefix: str = "c") -> list[PackedCopy]:
    """Copies of one to three components: those of one need the same."""
    kinds = draw(st.lists(st.tuples(amounts, strategies), min_size=1, max_size=3))
    picked = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=most))
    return [PackedCopy(CopyId(f"{prefix}{kind}", number), *kinds[kind]) for number, kind in enumerate(picked)]


@st.composite
def fleets(draw: st.DrawFn, most: int = 3) -> list[PackedInstance]:
    """Instances of one kind, with copies of other components that fit on them."""
    found = []
    for number in range(draw(st.integers(0, most))):
        one = instance(number)
        for present in draw(copies(3, prefix=f"present-{number}-")):
            one = one.holding(present) if one.has_room(present) else one
        found.append(one)
    return found


def feasible(wanted: Sequence[PackedCopy], instances: Sequence[PackedInstance]) -> bool:
    """Whether there is a way to place them all, found by trying every way."""
    return any(fit(wanted, instances, ways) for ways in product(range(len(instances)), repeat=len(wanted)))


def fit(wanted: Sequence[PackedCopy], instances: Sequence[PackedInstance], ways: Sequence[int]) -> bool:
    after = list(instances)
    for one, index in zip(wanted, ways, strict=True):
        if not one.needs.fits(after[index].room):
            return False
        after[index] = after[index].holding(one)
    return True
