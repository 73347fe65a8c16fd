"""How many instances hold the copies of components, placed one after another as the live endpoint places them."""

from dataclasses import replace
from typing import Final

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.scenario import BadScenario
from torpor_endpoint.core.packing.copy_placement import place_most

MOST: Final = 100
"""The most instances that are tried."""


def copies_fit(scenario: ComponentScenario) -> bool:
    """Whether the copies that the scenario begins with have room, in the order of its components."""
    copies = [one.copy(number) for one in scenario.components for number in range(one.copies)]
    return not place_most(copies, scenario.empty)[1]


def fewest_instances(scenario: ComponentScenario) -> ComponentScenario:
    """The scenario with the fewest instances that hold all copies: a component without copies counts as one. Where the
    number of instances follows the copies, it is the largest that they may have. Raises BadScenario."""
    one_each = scenario.altered(
        components=tuple(replace(one, copies=max(1, one.copies), changes=()) for one in scenario.components),
        strict=False,
        instances_min=None,
        instances_max=None,
    )
    found = next((count for count in range(1, MOST + 1) if copies_fit(one_each.altered(instances=count))), None)
    if found is None:
        raise BadScenario(
            f"instances: {MOST} x {'/'.join(scenario.types)} do not hold all copies: take a larger instance_type"
        )
    if not scenario.managed:
        return scenario.altered(instances=found)
    most = found if scenario.instances_max is None else scenario.instances_max
    return scenario.altered(instances_max=max(most, scenario.least, 1))
