"""The values of a definition: what refers to parameters, to the execution, to steps and to files that steps wrote."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FUNCTIONS: Final = ("Get", "Std:Join", "Std:JsonGet")
EXECUTION: Final = (
    "PipelineName", "PipelineArn", "PipelineExecutionId", "PipelineExecutionArn", "StartDateTime", "CurrentDateTime",
)  # fmt: skip
PATH: Final = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
NAMED: Final = ("OutputName", "InputName", "ChannelName", "Name")
"""The members by whose values a path picks an item of a list."""


class BadExpression(ValueError):
    """A value that Torpor does not understand, or that has no value. The text says which."""


@dataclass(frozen=True)
class ValueScope:
    """What values refer to. `properties` are those of steps that have succeeded, as the Describe operation shows them;
    `property_files` are the addresses of files by step and name, and `files` the JSON of each that was read."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    property_files: Mapping[tuple[str, str], str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)


def references(value: Any) -> tuple[set[str], set[str]]:
    """The names of the steps and of the parameters that a value refers to. Raises BadExpression for a value that Torpor
    does not understand."""
    steps: set[str] = set()
    parameters: set[str] = set()
    for name, argument in _calls(value):
        if name == "Get":
            kind, path = _got(argument)
            if kind == "Steps":
                steps.add(path[0])
            elif kind == "Parameters":
                parameters.add(path[0])
        else:
            _check_members(name, argument)
    return steps, parameters


def evaluated(value: Any, scope: ValueScope) -> Any:
    """The value with all references resolved. Raises BadExpression for one that has no value."""
    if isinstance(value, list):
        return [evaluated(one, scope) for one in value]
    if not isinstance(value, Mapping):
        return value
    if (function := _function(value)) is None:
        return {name: evaluated(one, scope) for name, one in value.items()}
    return _FUNCTIONS[function](value[function], scope)


def files_of(value: Any, scope: ValueScope) -> tuple[str, ...]:
    """The addresses of the files that must be read before the value can be evaluated."""
    addresses = [_address(argument, scope) for name, argument in _calls(value) if name == "Std:JsonGet"]
    return tuple(dict.fromkeys(addresses))


def at_path(value: Any, path: tuple[str | int, ...]) -> Any:
    """What is at this path. Raises KeyError if there is nothing."""
    for part in path:
        if isinstance(value, list):
            value = _item(value, part)
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            raise KeyError(part)
    return value


def parsed_path(text: str) -> tuple[str | int, ...]:
    """The parts of a path such as `Outputs['out'].S3Uri` or `[0].name`. Raises BadExpression."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        found = PATH.match(text, at)
        if found is None:
            raise BadExpression(f"{text!r} is no path.")
        plain, index, *quoted = found.groups()
        parts.append(int(index) if index is not None else plain or next(one for one in quoted if one is not None))
        at = found.end()
    return tuple(parts)


def _item(items: list[Any], part: str | int) -> Any:
    if isinstance(part, int) and part < len(items):
        return items[part]
    for item in items:
        if isinstance(item, Mapping) and any(item.get(name) == part for name in NAMED):
            return item
    raise KeyError(part)


def _function(value: Mapping[str, Any]) -> str | None:
    """The function of a value, if it is one. Raises BadExpression for one that Torpor does not know."""
    if len(value) != 1:
        return None
    (name,) = value
    if name.startswith("Std:") and name not in FUNCTIONS:
        raise BadExpression(f"the function {name} is not supported by Torpor, which knows {', '.join(FUNCTIONS)}.")
    return name if name in FUNCTIONS else None


def _calls(value: Any) -> Iterator[tuple[str, Any]]:
    """The functions in a value with their arguments, from outside to inside."""
    if isinstance(value, Mapping):
        function = _function(value)
        if function is not None:
            yield function, value[function]
        for one in value.values():
            yield from _calls(one)
    elif isinstance(value, list):
        for one in value:
            yield from _calls(one)


def _check_members(function: str, argument: Any) -> None:
    """Raises BadExpression for a function without what it needs, or with what Torpor does not know."""
    match function, argument:
        case "Std:Join", {"Values": list(), "On": str(), **more} | {"Values": list(), **more} if not more:
            return
        case "Std:JsonGet", {"Path": str(), **more} if more.keys() in ({"PropertyFile"}, {"S3Uri"}):
            return
    raise BadExpression(f"{function} must have {_NEEDS[function]}, and nothing else.")


_NEEDS: Final = {
    "Std:Join": "a list of Values and may have a text On",
    "Std:JsonGet": "a text Path and either a PropertyFile or an S3Uri",
}


def _got(argument: Any) -> tuple[str, tuple[Any, ...]]:
    """The kind of what `Get` refers to, and its path."""
    kind, *path = parsed_path(argument) if isinstance(argument, str) and argument else (None,)
    known = {"Parameters": len(path) == 1, "Steps": len(path) > 1, "Execution": bool(path) and path[0] in EXECUTION}
    if not known.get(str(kind)):
        raise BadExpression(f"Get {argument!r} is not supported by Torpor.")
    return str(kind), tuple(path)


def _get(argument: Any, scope: ValueScope) -> Any:
    kind, path = _got(argument)
    known = {"Parameters": scope.parameters, "Execution": scope.execution, "Steps": scope.properties}[kind]
    try:
        return at_path(known, path)
    except KeyError:
        raise BadExpression(f"{argument} has no value.") from None


def _join(argument: Any, scope: ValueScope) -> str:
    values = evaluated(argument["Values"], scope)
    return str(argument.get("On", "")).join(map(_text, values))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json_get(argument: Any, scope: ValueScope) -> Any:
    address = _address(argument, scope)
    path: str = argument["Path"]
    try:
        return at_path(scope.files[address], parsed_path(path.removeprefix("$")))
    except KeyError:
        raise BadExpression(f"The file {address} has nothing at the path {path}.") from None


def _address(argument: Any, scope: ValueScope) -> str:
    if "S3Uri" in argument:
        return str(evaluated(argument["S3Uri"], scope))
    reference = argument["PropertyFile"]
    path = _got(reference["Get"])[1] if isinstance(reference, Mapping) and "Get" in reference else ()
    if (
        len(path) != 3
        or path[1] != "PropertyFiles"
        or (address := scope.property_files.get((path[0], path[2]))) is None
    ):
        raise BadExpression(f"Std:JsonGet: {reference} is no property file of a step.")
    return address


_FUNCTIONS: Final[Mapping[str, Callable[[Any, ValueScope], Any]]] = {
    "Get": _get,
    "Std:Join": _join,
    "Std:JsonGet": _json_get,
}
