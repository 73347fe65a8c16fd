"""Reads the line of `--components`: inference components, one for each model or for many, for the commands that
simulate."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor.cli.arguments import existing_file
from torpor.cli.commands.studies import choices
from torpor.cli.exit_codes import UsageRefused

if TYPE_CHECKING:
    from torpor.simulator.components.component_scenario import ComponentScenario
    from torpor.simulator.simulation_inputs import SimulationInputs

OPTION = "--components"
FILE, MODELS, POOLS, SCALE_IN, COOLDOWN = "file", "models", "pools", "scale_in", "cooldown_s"
WHOLE = ("instances", "instances_min", "instances_max")
TIMES = ("wake_s", "instance_wake_s", "overhead_s")
SWITCHES = ("strict",)
OF_ENDPOINT = ("instance_type", *WHOLE, *TIMES, *SWITCHES, POOLS, SCALE_IN, COOLDOWN)


def scenario_of(line: str, inputs: "SimulationInputs") -> "ComponentScenario":
    """The components of a line as `copies=2,cores=0.5,instance_type=ml.m5.xlarge`. Without `file`, each model of the
    trace has a component as large as the model and its process; with `models`, those that match are in one component
    with a multi-model container. Without `instances`, there are as many as hold all copies. Raises UsageRefused,
    BadScenario, BadTrace."""
    from torpor.simulator.components.component_scenario import ComponentScenario
    from torpor.simulator.components.components_run import one_for_each
    from torpor.simulator.components.fewest_instances import fewest_instances
    from torpor.simulator.simulation_inputs import names_of

    given = _given(line)
    around, each = _split(given)
    like = inputs.scenario
    adapters: tuple[Any, ...] = ()
    if FILE in given:
        from torpor.simulator.components.component_files import read_components

        file = Path(given[FILE])
        existing_file(OPTION, file)
        setups, adapters = read_components(file, names_of(inputs.trace), **each)
    elif MODELS in given:
        setups = _multi_model(given[MODELS], inputs, each)
    else:
        setups = one_for_each(inputs, like.own_bytes, **_with_scaling(each))
    own = {"instance_type": like.instance_type, "wake_s": like.wake_s, "overhead_s": like.overhead_s}
    scenario = ComponentScenario(setups, own_bytes=like.own_bytes, adapters=adapters, **{**own, **around})
    return scenario if "instances" in around else fewest_instances(scenario)


def altered(scenario: "ComponentScenario", line: str) -> "ComponentScenario":
    """The scenario of a ledger, with what the line changes of the endpoint and of each component. Raises UsageRefused,
    BadScenario."""
    given = _given(line)
    around, each = _split(given)
    if own := next((name for name in (FILE, MODELS) if name in given), None):
        raise UsageRefused(f"{OPTION} {own}=: the components are the ledger's own")
    changed = _with_scaling(each)
    if "copies" in changed or "scaling" in changed:
        changed["changes"] = ()
    setups = tuple(replace(one, **changed) for one in scenario.components)
    return scenario.altered(components=setups, **around)


# -- inside ------------------------------------------------------------------------------------------------------------
def _multi_model(patterns: str, inputs: "SimulationInputs", each: dict[str, Any]) -> tuple[Any, ...]:
    """One component for the models that match, and one for each other model."""
    from torpor.simulator.components.component_files import matching, setup_of
    from torpor.simulator.components.components_run import one_for_each
    from torpor.simulator.simulation_inputs import names_of

    many = matching(patterns, names_of(inputs.trace))
    alone = one_for_each(inputs, inputs.scenario.own_bytes, **_with_scaling(each))
    return setup_of({"name": MODELS, MODELS: many, **each}), *(one for one in alone if one.name not in many)


def _given(line: str) -> dict[str, str]:
    given = dict(_pair(part) for part in choices.several(OPTION, line))
    known = (FILE, MODELS, *OF_ENDPOINT, *_of_components())
    if unknown := [name for name in given if name not in known]:
        raise UsageRefused(f"{OPTION} has no {unknown[0]}: it has {', '.join(known)}")
    return given


def _pair(part: str) -> tuple[str, str]:
    name, equals, text = (piece.strip() for piece in part.partition("="))
    if not equals or not text:
        raise UsageRefused(f"{OPTION}: {part!r} is not NAME=VALUE, as copies=2 or instance_type=ml.m5.xlarge")
    return name, text


def _of_components() -> tuple[str, ...]:
    from torpor.simulator.components.component_files import COLUMNS

    return tuple(name for name in COLUMNS if name not in ("name", "model", MODELS, "base", *TIMES))


def _split(given: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of the endpoint, and those of each component. Raises UsageRefused, BadScenario."""
    from torpor.simulator.components.component_files import value_of

    around: dict[str, Any] = {}
    for name in [name for name in OF_ENDPOINT if name in given and name not in (POOLS, SCALE_IN, COOLDOWN)]:
        around[name] = _number(name, given[name]) if name in WHOLE + TIMES else given[name]
        if name in SWITCHES:
            around[name] = value_of("binpack", given[name])
    if POOLS in given:
        around[POOLS] = _pools(given[POOLS])
    if SCALE_IN in given:
        around[SCALE_IN] = _scale_in(given)
    elif COOLDOWN in given:
        raise UsageRefused(f"{OPTION}: {COOLDOWN} goes with {SCALE_IN}=consolidation")
    each = {name: value_of(name, given[name]) for name in _of_components() if name in given}
    return around, each


def _number(name: str, text: str) -> float:
    try:
        return int(text) if name in WHOLE else float(text)
    except ValueError:
        raise UsageRefused(f"{OPTION}: {name} is a number, not {text!r}") from None


def _pools(text: str) -> tuple[Any, ...]:
    from torpor_endpoint.core.resource_records import InstanceTypePool

    return tuple(InstanceTypePool(kind.strip(), priority) for priority, kind in enumerate(text.split("/"), 1))


def _scale_in(given: dict[str, str]) -> Any:
    from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

    strategy = given[SCALE_IN].upper()
    if strategy not in ScaleInStrategy.__members__:
        names = " or ".join(one.lower() for one in ScaleInStrategy.__members__)
        raise UsageRefused(f"{OPTION}: {SCALE_IN} is {names}, not {given[SCALE_IN]!r}")
    made = ScaleIn(ScaleInStrategy(strategy))
    return made if COOLDOWN not in given else replace(made, cooldown_s=_number(COOLDOWN, given[COOLDOWN]))


def _with_scaling(each: dict[str, Any]) -> dict[str, Any]:
    """The fields of a component, with its scaling as one of them."""
    from torpor.simulator.components.component_files import SCALING, setup_of

    if not SCALING & each.keys():
        return dict(each)
    made = setup_of({"name": "x", **each})
    own = {one.name for one in fields(made)} & each.keys()
    return {**{name: getattr(made, name) for name in own}, "scaling": made.scaling}
