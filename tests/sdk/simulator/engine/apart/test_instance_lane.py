"""How many requests one instance has at most, while others are played on."""

import numpy as np
import pytest

from torpor.simulator.engine.apart.busy_bounds import BoundedRequests
from torpor.simulator.engine.apart.instance_lane import ArrivalWindow, InstanceLane
from torpor.simulator.engine.simulated_variant import Simulation
from torpor.simulator.engine.variant.variant_plan import Machine, VariantPlan

IN_FLIGHT = 3
NUMBERS = [4, 7, 9]
"""Of its requests, among all of the window."""


def lane(bounded: bool) -> InstanceLane:
    simulation = Simulation(VariantPlan(Machine(100, 200), begun=True), {}, lambda calls: None)
    (instance,) = simulation.handovers.ready
    instance.in_flight = IN_FLIGHT
    made = InstanceLane(0, instance, instance.kernel)
    made.begin(0, len(NUMBERS))
    made.bounded = bounded
    return made


@pytest.mark.parametrize(("bounded", "most"), [(False, [3, 4, 5, 6]), (True, [3, 1, 2, 2])])
def test_it_has_no_more_than_came_since_nor_than_its_bounds_allow(bounded: bool, most: list[int]) -> None:
    window = ArrivalWindow([0.1, 0.2, 0.3], ["a"] * 3, NUMBERS, BoundedRequests([], [], np.array([0, 1, 1])))
    one = lane(bounded)
    assert [one.in_flight_max(window, number) for number in (4, 5, 8, 10)] == most
