"""Reads components from a CSV file: a row for each, with the fields of a `ComponentSetup` that it gives.

A row with a `base` is an adapter. `models` has the patterns of a multi-model container's models, with spaces between.
"""

import csv
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from torpor.simulator.components.component_setup import AdapterSetup, ComponentSetup, CopyScaling
from torpor.simulator.scenario import BadScenario

WHOLE: Final = frozenset(
    {"memory_mib", "memory_max_mib", "copies", "concurrency", "copies_min", "copies_max", "loads_max"}
)
MODELS, BASE = "models", "base"
WORDS: Final = frozenset({"name", "model", "keep_alive", "metric", MODELS, BASE, "policy", "model_keep_alive"})
SWITCHES: Final = frozenset({"binpack"})
TIMES: Final = frozenset(
    {
        "cores", "accelerators", "idle_s", "wake_s", "target", "scale_out_cooldown_s", "scale_in_cooldown_s",
        "model_idle_s", "room_mib", "disk_mib",
    }
)  # fmt: skip
SCALING: Final = frozenset(CopyScaling.__dataclass_fields__)
COLUMNS: Final = (*sorted(WHOLE | WORDS | SWITCHES | TIMES),)
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


class ReadComponents(NamedTuple):
    """The rows of a file."""

    components: tuple[ComponentSetup, ...]
    adapters: tuple[AdapterSetup, ...]


def read_components(path: Path, called: Sequence[str] = (), **fields: Any) -> ReadComponents:
    """The components of a file. `called` are the models of the trace, for patterns. An empty cell leaves its field as
    it is in `fields`, which holds for all rows. Raises BadScenario, which names the file and the row."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if unknown := [name for name in reader.fieldnames or () if name not in COLUMNS]:
            raise BadScenario(f"{path}: there is no column {unknown[0]!r}: a component has {', '.join(COLUMNS)}")
        if "name" not in (reader.fieldnames or ()):
            raise BadScenario(f"{path}: it has no column 'name', with the names of the components")
        found = [_row(path, number, row, fields, called) for number, row in enumerate(reader, 1)]
    components = tuple(one for one in found if isinstance(one, ComponentSetup))
    if not components:
        raise BadScenario(f"{path} has no component")
    return ReadComponents(components, tuple(one for one in found if isinstance(one, AdapterSetup)))


def setup_of(values: dict[str, Any]) -> ComponentSetup:
    """A component of these fields, and of those of its scaling if they have a `target`. Raises BadScenario."""
    scaling = {name: values.pop(name) for name in SCALING & values.keys()}
    if scaling and "target" not in scaling:
        raise BadScenario(f"{sorted(scaling)[0]} goes with target, of the metric that copies follow")
    return ComponentSetup(**values, scaling=CopyScaling(**scaling) if scaling else None)


def matching(patterns: str, called: Sequence[str]) -> tuple[str, ...]:
    """The models whose names match one of the patterns, as `company_a/*`. Raises BadScenario where none does."""
    wanted = patterns.split()
    found = tuple(name for name in called if any(fnmatchcase(name, pattern) for pattern in wanted))
    if not found:
        raise BadScenario(f"models: no model of the trace matches {patterns!r}")
    return found


def value_of(column: str, text: str) -> Any:
    """The value of a field, from its text. Raises BadScenario."""
    try:
        if column in WHOLE:
            return int(text)
        if column in TIMES:
            return float(text)
    except ValueError:
        raise BadScenario(f"{column} is a number, not {text!r}") from None
    if column not in SWITCHES:
        return text
    if text.lower() not in TRUE + FALSE:
        raise BadScenario(f"{column} is true or false, not {text!r}")
    return text.lower() in TRUE


# -- inside ------------------------------------------------------------------------------------------------------------
def _row(
    path: Path, number: int, row: dict[str, str], fields: dict[str, Any], called: Sequence[str]
) -> ComponentSetup | AdapterSetup:
    try:
        if None in row or None in row.values():
            raise BadScenario("it has more or fewer cells than the header")
        given = {name: value_of(name, text.strip()) for name, text in row.items() if text.strip()}
        if BASE in given:
            if other := sorted(given.keys() - AdapterSetup.__dataclass_fields__.keys()):
                raise BadScenario(f"an adapter has no {other[0]}: it has name, base and model")
            return AdapterSetup(**given)
        if MODELS in given:
            given[MODELS] = matching(given[MODELS], called)
        return setup_of({**fields, **given})
    except BadScenario as error:
        raise BadScenario(f"{path}: row {number}: {error}") from error
