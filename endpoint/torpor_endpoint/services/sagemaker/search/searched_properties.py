"""Reads the names of properties, InputDataConfig.ChannelName or Tags.team, by the shape of the record."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from torpor_account.aws.service_models import Shape
from torpor_endpoint.core.search.record_property import PropertyType, RecordProperty
from torpor_endpoint.services.sagemaker import errors
from torpor_endpoint.services.sagemaker.search.searched_kinds import SearchedKind

TYPES: Final[Mapping[str, PropertyType]] = {
    "string": PropertyType.TEXT,
    "integer": PropertyType.NUMBER,
    "long": PropertyType.NUMBER,
    "float": PropertyType.NUMBER,
    "double": PropertyType.NUMBER,
    "boolean": PropertyType.BOOLEAN,
    "timestamp": PropertyType.TIME,
}
TAGS, METRICS = "Tags", "Metrics"
METRIC_LIST: Final = "FinalMetricDataList"
BY_NAME: Final = "."
"""Ends the step of a list that is seen as a mapping from the names in it to their values: no member has it."""


def property_of(kind: SearchedKind, name: str) -> RecordProperty:
    """The property that callers call so. It may begin with the member of SearchRecord that has the record. Raises
    ValidationException."""
    found = _found(kind.shape, name)
    if found is None and kind.part:
        within = _found(kind.shape.members[kind.part], name)
        found = within and ((kind.part, *within[0]), within[1])
    if found is None and name.startswith(f"{kind.member}."):
        found = _found(kind.shape, name.removeprefix(f"{kind.member}."))
    if found is None:
        raise errors.INVALID(f"Unknown property name '{name}': {kind.resource} has no such property.")
    return RecordProperty(name, *found)


def list_of(kind: SearchedKind, name: str) -> tuple[tuple[str, ...], Shape]:
    """The steps to a list, and the shape of its items. Raises ValidationException."""
    shape, steps = kind.shape, tuple(name.split("."))
    for step in steps:
        shape = shape.member if shape.type_name == "list" else shape
        shape = shape.members.get(step) if shape.type_name == "structure" else None
        if shape is None:
            break
    if shape is None or shape.type_name != "list" or shape.member.type_name != "structure":
        raise errors.INVALID(f"NestedPropertyName '{name}' is no list of structures that {kind.resource} has.")
    return steps, shape.member


def property_within(item: Shape, of: str, name: str) -> RecordProperty:
    """A property of the items of a list, by its whole name. Raises ValidationException."""
    found = _found(item, name.removeprefix(f"{of}.")) if name.startswith(f"{of}.") else None
    if found is None:
        raise errors.INVALID(f"Unknown property name '{name}': in NestedFilters it begins with '{of}.'.")
    return RecordProperty(name, *found)


def comparable(kind: SearchedKind, record: dict[str, Any]) -> dict[str, Any]:
    """The record with its tags and its metrics by their names."""
    part = record.get(kind.part, {}) if kind.part else record
    seen = {
        **part,
        TAGS + BY_NAME: {tag["Key"]: tag["Value"] for tag in part.get(TAGS, ())},
        METRICS + BY_NAME: {one["MetricName"]: one["Value"] for one in part.get(METRIC_LIST, ())},
    }
    return {**record, kind.part: seen} if kind.part else seen


def named_values(kind: SearchedKind, records: Iterable[dict[str, Any]]) -> set[str]:
    """The names of all hyperparameters, tags and metrics of these records."""
    found = set[str]()
    for record in records:
        part = record.get(kind.part, {}) if kind.part else record
        for title, by_name in (("HyperParameters",) * 2, (TAGS, TAGS + BY_NAME), (METRICS, METRICS + BY_NAME)):
            found |= {f"{title}.{name}" for name in part.get(by_name, ())}
    return found


def _found(shape: Shape, name: str) -> tuple[tuple[str, ...], PropertyType] | None:
    """The steps from a record of this shape; None where it has no such property."""
    if shape.type_name == "list":
        return _found(shape.member, name)
    if not name:
        return (), TYPES.get(shape.type_name, PropertyType.WHOLE)
    if shape.type_name == "map":
        written = shape.name == "HyperParameters"
        return (name,), PropertyType.WRITTEN_NUMBER if written else TYPES.get(shape.value.type_name, PropertyType.WHOLE)
    if shape.type_name != "structure":
        return None
    first, _, rest = name.partition(".")
    if rest and first == TAGS and TAGS in shape.members:
        return (TAGS + BY_NAME, rest), PropertyType.TEXT
    if rest and first == METRICS and METRIC_LIST in shape.members:
        return (METRICS + BY_NAME, rest), PropertyType.NUMBER
    below = _found(shape.members[first], rest) if first in shape.members and not name.endswith(".") else None
    return below and ((first, *below[0]), below[1])
