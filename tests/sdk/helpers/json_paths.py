"""The paths of the keys in JSON, as docs/reference/cli.md writes them: `endpoints[].name`."""

from collections.abc import Iterator
from typing import Any

from torpor.cli.json_records import OUTPUTS, keys


def paths(value: Any, above: str = "") -> Iterator[str]:
    """The path of each value that is no object and no list."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from paths(one, f"{above}.{key}" if above else key)
    elif isinstance(value, list):
        for one in value:
            yield from paths(one, f"{above}[]")
    else:
        yield above


def undocumented(command: str, value: Any) -> set[str]:
    """The paths in a command's output that its documentation lacks. What is below an object without keys is its own."""
    known = dict(keys(OUTPUTS[command]))
    free = tuple(f"{path}." for path, kind in known.items() if kind.startswith("object"))
    return {path for path in paths(value) if path not in known and not path.startswith(free)}
