"""Profiles of the same models under several values of TORPOR_TREES, so that a tuning may choose among them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from torpor.simulator.scenario import TREES, BadScenario
from torpor.simulator.simulation_inputs import Profiles, SimulationInputs, load, names_of
from torpor.workloads.profile import ModelProfile

MeasuredTrees = Mapping[str, Profiles | Path | str]
"""By value of TORPOR_TREES, the profiles of the models as they were measured with it."""

LEAST = (
    "memory_bytes", "disk_bytes", "mapped_bytes", "artifact_bytes", "download_s", "unpack_s", "load_s", "unload_s",
    "predict_s", "unpack_delay_s", "load_delay_s", "predict_delay_s",
)  # fmt: skip


def with_trees(inputs: SimulationInputs, measured: MeasuredTrees | None) -> SimulationInputs:
    """The inputs with these profiles beside their own, which are those of the value in their scenario.

    What is reckoned before anything is chosen takes the least figures of each model, so that no value is given up for
    another's figures. Raises BadScenario, BadTrace.
    """
    if not measured:
        return inputs
    usual = inputs.scenario.trees
    for value in measured:
        if value not in TREES:
            raise BadScenario(f"trees: TORPOR_TREES is one of {', '.join(TREES)}, not {value!r}")
        if value == usual:
            raise BadScenario(f"trees: the profiles of {value!r} are those of the trace or of profiles")
    if inputs.redrawn:
        raise BadScenario(f"trees: the profiles with TORPOR_TREES={usual} are drawn: give profiles that were measured")
    every = {usual: inputs, **{value: _measured(inputs, one) for value, one in measured.items()}}
    names = names_of(inputs.trace)
    least = {name: _least([one.profile(name) for one in every.values()]) for name in names}
    return replace(inputs, profiles={**inputs.profiles, **least}, by_trees=every)


def _measured(inputs: SimulationInputs, profiles: Profiles | Path | str) -> SimulationInputs:
    found = load(inputs.trace, profiles, seed=inputs.seed)
    if not inputs.source.trace or not isinstance(profiles, Path | str):
        return found
    return replace(found, source=replace(inputs.source, profiles=f"{profiles}"))


def _least(profiles: Iterable[ModelProfile]) -> ModelProfile:
    first, *others = profiles
    return replace(first, **{name: min(getattr(one, name) for one in (first, *others)) for name in LEAST})
