"""Reads the line of `--shadow`: a shadow variant for the commands that simulate."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from torpor.cli.commands.studies import choices
from torpor.cli.exit_codes import UsageRefused

if TYPE_CHECKING:
    from torpor.simulator.shadow_variant import ShadowVariant
    from torpor.simulator.simulation_inputs import SimulationInputs

OWN = ("weight", "production_weight", "profiles")
"""What a line may have beside the fields of a scenario."""
WORDS: dict[str, bool | None] = {"true": True, "false": False, "none": None}


def shadow_of(line: str, inputs: "SimulationInputs") -> "ShadowVariant":
    """The shadow variant of a line as `weight=0.5,instances=2`. What the line does not name is as in the scenario of
    the inputs, or as the ledger of its own `profiles` has it. Raises UsageRefused, BadScenario, BadTrace."""
    from torpor.simulator.shadow_variant import ShadowVariant
    from torpor.simulator.simulation_inputs import load

    values = dict(_value(part) for part in choices.several("--shadow", line))
    *weighted, profiled_by = OWN
    weights = {name: values.pop(name) for name in weighted if name in values}
    profiles, like = values.pop(profiled_by, None), inputs.scenario
    if profiles is not None:
        file = choices.profiles_file(Path(str(profiles)), "--shadow")
        profiles = str(file)
        read = load(inputs.trace, file)
        profiled = read.scenario
        like = like if profiled == type(profiled)() else profiled
    if "containers" in values:
        containers = values["containers"]  # none: a single one
        values["containers"] = ()
        values |= choices.containers_change(None if containers is None else Path(str(containers)), "--shadow")
    known = like.__dataclass_fields__
    if unknown := [name for name in values if name not in known]:
        raise UsageRefused(f"--shadow has no {unknown[0]}: it has {', '.join((*OWN, *known))}")
    return ShadowVariant(like.altered(**values), **weights, profiles=profiles)


def _value(part: str) -> tuple[str, Any]:
    """A name, and the value as the number, the word or the text that it is."""
    name, equals, text = (piece.strip() for piece in part.partition("="))
    if not equals or not text:
        raise UsageRefused(f"--shadow: {part!r} is not NAME=VALUE, as weight=0.5 or instance_type=ml.c5.large")
    if text.lower() in WORDS:
        return name, WORDS[text.lower()]
    for kind in (int, float):
        try:
            return name, kind(text)
        except ValueError:
            pass
    return name, text
