"""Inference components as one way of a plan: the cheapest instances that hold a copy of each model, and more of some.

Copies are placed by the live endpoint's own rules, in the order of the scenario: the largest first. A component whose
requests are late gets another copy where there is room, on an instance of its own.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.simulator.components.components_result import ComponentsResult
from torpor.simulator.components.components_run import one_for_each, run_components
from torpor.simulator.components.fewest_instances import copies_fit
from torpor.simulator.costs.single_models import Apart
from torpor.simulator.engine.call_records import SimulatedCall
from torpor.simulator.planning.late_requests import Hopeless
from torpor.simulator.planning.search import LATE_MAX, Search
from torpor.simulator.scenario import BadScenario

SIMULATED_MAX: Final = 12
"""The most scenarios that are simulated for it."""
ROUNDS_MAX: Final = 4
"""How often further copies are tried on the same instances."""


def component_ways(search: Search) -> dict[str, Apart]:
    """The cheapest always-on components that meet the goal, and the same ones asleep; otherwise the cheapest that hold
    a copy of each model. Nothing where no instances of the space do, or the models are no components: a pipeline's, or
    of an asynchronous variant."""
    like = search.space.like
    if like.containers or like.asynchronous or search.too_large():
        return {}
    found = _always_on(search)
    if found is None:
        return {}
    ways = {found.scenario.name: _apart(search, found)}
    if search.goal.met(found) and not search.space.aws_strict:
        asleep = _asleep(search, found.scenario)
        if asleep is not None:
            ways[asleep.scenario.name] = _apart(search, asleep)
    return ways


# -- inside ------------------------------------------------------------------------------------------------------------
def _always_on(search: Search) -> ComponentsResult | None:
    """The first that meets the goal, from cheap to dear; otherwise the one with fewest late requests."""
    best, left = None, SIMULATED_MAX
    for scenario in _holding(search):
        for result, late in _with_more_copies(search, scenario):
            left -= 1
            if result is not None and search.goal.met(result):
                return result
            if result is not None and (best is None or late < best[0]):
                best = late, result
            if not left:
                break
        if not left or _too_slow(search):
            break
    return None if best is None else best[1]


def _too_slow(search: Search) -> bool:
    """Whether too many predictions are late by themselves, on any instances."""
    return search.floor.count - search.floor.within(search.goal.slo_s) > search.late_max


def _holding(search: Search) -> Iterator[ComponentScenario]:
    """The scenarios of the space whose instances hold a copy of each model, the cheapest first. Where only what AWS
    has is tried, copies have as little of an instance as they were seen to have there."""
    like = search.space.like
    setups = one_for_each(search.inputs, like.own_bytes)
    for one in search.space.always_on(search.prices):
        for binpack in (False, True):
            try:
                scenario = ComponentScenario(
                    tuple(replace(setup, binpack=binpack) for setup in setups),
                    one.instance_type,
                    one.instances,
                    strict=search.space.aws_strict,
                    wake_s=like.wake_s,
                    overhead_s=like.overhead_s,
                    own_bytes=like.own_bytes,
                )
            except BadScenario:  # the largest has no room
                break
            if copies_fit(scenario):
                yield scenario
                break


def _with_more_copies(search: Search, scenario: ComponentScenario) -> Iterator[tuple[ComponentsResult | None, int]]:
    """The results with one copy of each, and then with more of those whose requests are late, as far as they have room.
    None for one that was stopped early, since too many requests were late."""
    for _ in range(ROUNDS_MAX):
        search.says(scenario.name)
        result, late = _played(search, scenario)
        yield result, late.total()
        more = _with_copies(scenario, late)
        if more is None:
            return
        scenario = more


def _played(search: Search, scenario: ComponentScenario) -> tuple[ComponentsResult | None, Counter[str]]:
    """The result, and the late requests of each model: of a long trace, first of its busiest stretch. None if it was
    stopped early."""
    peak, late_s = search.peak, search.goal.late_s - scenario.overhead_s
    if peak is not None:
        late = _LateByModel(late_s, peak.late_max, peak.since_s)
        try:
            run_components(peak.inputs, scenario, late)
        except Hopeless:
            return None, late.by_model
    late = _LateByModel(late_s, search.late_max * LATE_MAX)
    try:
        return run_components(search.inputs, scenario, late), late.by_model
    except Hopeless:
        return None, late.by_model


def _with_copies(scenario: ComponentScenario, late: Counter[str]) -> ComponentScenario | None:
    """The scenario with one more copy of each component with late requests, the latest first, as far as they have room
    and an instance of their own. None where none has."""
    setups = {one.serves: one for one in scenario.components}
    grown = scenario
    for model, _ in late.most_common():
        one = setups[model]
        if one.copies >= scenario.instances:
            continue
        trial = grown.altered(components=_replaced(grown.components, replace(one, copies=one.copies + 1)))
        if copies_fit(trial):
            grown = trial
    return None if grown is scenario else grown


def _replaced(setups: Sequence[ComponentSetup], changed: ComponentSetup) -> tuple[ComponentSetup, ...]:
    return tuple(changed if one.name == changed.name else one for one in setups)


def _asleep(search: Search, scenario: ComponentScenario) -> ComponentsResult | None:
    """The same components without copies of their own, by the shortest keep-alive of the space that meets the goal: a
    longer one has fewer late requests, and costs more. None if none meets it."""
    for idle_s in sorted(search.space.idle_s):
        setups = tuple(replace(one, copies=0, idle_s=idle_s) for one in scenario.components)
        asleep = scenario.altered(components=setups, instances_min=0, instances_max=scenario.instances, instances=1)
        search.says(f"{asleep.name} after {idle_s:g} s")
        late = _LateByModel(search.goal.late_s - scenario.overhead_s, search.late_max)
        try:
            found = run_components(search.inputs, asleep, late)
        except Hopeless:
            continue
        if search.goal.met(found):
            return found
    return None


class _LateByModel:
    """Counts late requests of each model, and stops the simulation when there are too many."""

    def __init__(self, late_s: float, late_max: int, since_s: float = 0.0) -> None:
        """Requests before `since_s` do not count."""
        self.by_model = Counter[str]()
        self._late_s = late_s
        self._late_max = late_max
        self._since_s = since_s

    def __call__(self, calls: list[SimulatedCall]) -> None:
        late_s, since_s = self._late_s, self._since_s
        late = [call for call in calls if call.failed or call.done_s - call.arrived_s > late_s]
        self.by_model.update(call.model for call in late if call.arrived_s >= since_s)
        if self.by_model.total() > self._late_max:
            raise Hopeless


def _apart(search: Search, result: ComponentsResult) -> Apart:
    cost = result.cost(search.prices)
    return Apart(cost, result.duration_s, result.requests, result.cold, result.latencies, components=result.scenario)
