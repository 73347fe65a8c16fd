"""Random copies come and go on a live endpoint and in the simulator: each stands on the same instance in both."""

import asyncio
from dataclasses import dataclass, replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.endpoint.fleet.components.test_component_copies import MANAGED, Shop, component, opened
from tests.endpoint.helpers.virtual_time import run
from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.simulated_endpoint import SimulatedEndpoint
from torpor.workloads.profile import ModelProfile
from torpor_endpoint.core.packing.packed_instances import PackedInstance
from torpor_endpoint.core.resource_records import InstanceTypePool, ScaleIn, ScaleInStrategy, Variant

IDLE = replace(MANAGED, instances_max=3, scale_in=ScaleIn(ScaleInStrategy.IDLE_RELEASE))
CONSOLIDATION = replace(IDLE, scale_in=ScaleIn(ScaleInStrategy.CONSOLIDATION, step_max=1, cooldown_s=300.0))
KEPT = replace(CONSOLIDATION, instances_min=2)
FIXED = replace(MANAGED, instances_min=None, instances_max=None, instance_count=2)
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Change:
    """After `gap_s`, this component has so many copies."""

    gap_s: float
    name: str
    copies: int


POOLED = replace(
    CONSOLIDATION,
    pools=tuple(InstanceTypePool(kind, rank) for rank, kind in enumerate(("ml.m5.large", "ml.m5.xlarge"), 1)),
)
Places = dict[int, tuple[str | None, ...]]
"""By the number of each instance, its type and its copies."""

changes = st.lists(
    st.builds(Change, st.sampled_from((7.0, 60.0, 350.0, 700.0)), st.sampled_from(NAMES), st.integers(0, 4)),
    min_size=3,
    max_size=8,
)


def kinds(*memory_mib: int) -> st.SearchStrategy[tuple[tuple[int, bool], ...]]:
    return st.tuples(*(st.tuples(st.sampled_from(memory_mib), st.booleans()) for _ in NAMES))


Kinds = tuple[tuple[int, bool], ...]


def shown(packed: list[PackedInstance]) -> Places:
    return {
        one.number: (one.instance_type, *sorted(f"{copy.name.component}/{copy.name.number}" for copy in one.copies))
        for one in packed
    }


def live(capacity: Variant, sizes: Kinds, story: list[Change]) -> list[Places]:
    """What the fleet has before each change, and at the end."""
    found: list[Places] = []

    def note(shop: Shop) -> None:
        (places,) = shop.components.places
        assert places.capacity is not None
        found.append(shown(places.instances(places.capacity)))

    async def lived() -> None:
        async with opened(capacity) as shop:
            for name, (memory_mib, binpack) in zip(NAMES, sizes, strict=True):
                one = component(name, 1, memory_mib)
                assert one.copies is not None
                await shop.components.become(replace(one, copies=replace(one.copies, binpack=binpack)))
            at_s = 5.5
            await asyncio.sleep(at_s - shop.clock())
            for change in story:
                shop.copies(change.name).scale(change.copies, "a test says so")
                at_s += change.gap_s
                await asyncio.sleep(at_s - shop.clock())
                note(shop)

    run(lived(), 48 * 3600.0)
    return found


def simulated(capacity: Variant, sizes: Kinds, story: list[Change]) -> list[Places]:
    setups = [
        ComponentSetup(name, memory_mib, binpack=binpack)
        for name, (memory_mib, binpack) in zip(NAMES, sizes, strict=True)
    ]
    scenario = ComponentScenario(
        tuple(setups),
        capacity.instance_type or "",
        capacity.instance_count,
        capacity.instances_min,
        capacity.instances_max,
        capacity.scale_in,
        capacity.pools,
    )
    endpoint = SimulatedEndpoint(scenario, {name: ModelProfile(name, 0, 0) for name in NAMES}, lambda calls: None)
    kernel, found = endpoint.kernel, list[Places]()
    at_s = 5.5
    kernel.run(at_s)
    for change in story:
        endpoint.component(change.name).scale(change.copies)
        at_s += change.gap_s
        kernel.run(at_s)
        found.append(shown(endpoint.capacity.packed))
    return found


@pytest.mark.parametrize(
    "capacity",
    [
        pytest.param(FIXED, id="fixed"),
        pytest.param(IDLE, id="idle", marks=pytest.mark.thorough),
        pytest.param(CONSOLIDATION, id="consolidation", marks=pytest.mark.thorough),
        pytest.param(KEPT, id="kept", marks=pytest.mark.thorough),
    ],
)
@settings(max_examples=3, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(kinds(1500, 2400, 3600), changes)
def test_copies_stand_where_the_live_endpoint_places_them(capacity: Variant, sizes: Kinds, story: list[Change]) -> None:
    assert simulated(capacity, sizes, story) == live(capacity, sizes, story)


@settings(max_examples=3, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(kinds(1500, 3600, 9000), changes)
def test_copies_bring_instances_of_the_pools_that_the_live_endpoint_takes(sizes: Kinds, story: list[Change]) -> None:
    assert simulated(POOLED, sizes, story) == live(POOLED, sizes, story)
