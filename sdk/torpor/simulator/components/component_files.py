"""Reads components from a CSV file: a row for each, with the fields of a `ComponentSetup` that it gives."""

import csv
from pathlib import Path
from typing import Any, Final

from torpor.simulator.components.component_setup import ComponentSetup, CopyScaling
from torpor.simulator.scenario import BadScenario

WHOLE: Final = frozenset({"memory_mib", "memory_max_mib", "copies", "concurrency", "copies_min", "copies_max"})
WORDS: Final = frozenset({"name", "model", "keep_alive", "metric"})
SWITCHES: Final = frozenset({"binpack"})
TIMES: Final = frozenset(
    {"cores", "accelerators", "idle_s", "wake_s", "target", "scale_out_cooldown_s", "scale_in_cooldown_s"}
)
SCALING: Final = frozenset(CopyScaling.__dataclass_fields__)
COLUMNS: Final = (*sorted(WHOLE | WORDS | SWITCHES | TIMES),)
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def read_components(path: Path, **fields: Any) -> tuple[ComponentSetup, ...]:
    """The components of a file. An empty cell leaves its field as it is in `fields`, which holds for all rows. Raises
    BadScenario, which names the file and the row."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if unknown := [name for name in reader.fieldnames or () if name not in COLUMNS]:
            raise BadScenario(f"{path}: there is no column {unknown[0]!r}: a component has {', '.join(COLUMNS)}")
        if "name" not in (reader.fieldnames or ()):
            raise BadScenario(f"{path}: it has no column 'name', with the names of the components")
        found = [_component(path, number, row, fields) for number, row in enumerate(reader, 1)]
    if not found:
        raise BadScenario(f"{path} has no component")
    return tuple(found)


def setup_of(values: dict[str, Any]) -> ComponentSetup:
    """A component of these fields, and of those of its scaling if they have a `target`. Raises BadScenario."""
    scaling = {name: values.pop(name) for name in SCALING & values.keys()}
    if scaling and "target" not in scaling:
        raise BadScenario(f"{sorted(scaling)[0]} goes with target, of the metric that copies follow")
    return ComponentSetup(**values, scaling=CopyScaling(**scaling) if scaling else None)


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
def _component(path: Path, number: int, row: dict[str, str], fields: dict[str, Any]) -> ComponentSetup:
    try:
        if None in row or None in row.values():
            raise BadScenario("it has more or fewer cells than the header")
        given = {name: value_of(name, text.strip()) for name, text in row.items() if text.strip()}
        return setup_of({**fields, **given})
    except BadScenario as error:
        raise BadScenario(f"{path}: row {number}: {error}") from error
