"""Makes records of any kind from its annotations, for properties that hold for each kind of record."""

import dataclasses
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from hypothesis import strategies as st

TEXT = st.text(max_size=5)
PLAIN = {
    str: TEXT,
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=3),
    type(None): st.none(),
}
JSON = st.recursive(
    st.one_of(*(PLAIN[kind] for kind in (str, int, float, bool, type(None)))),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


@cache
def record_values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a kind of record, or of an annotation that a record may have. Raises TypeError for any other.

    Hypothesis looks through each new strategy before it draws from it: records that have a kind in common share one.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if kind in (Any, object):
        return JSON
    if origin in (Union, types.UnionType):
        return st.one_of(*map(record_values, arguments))
    if origin in (NotRequired, Required):
        return record_values(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (tuple, list, frozenset, Sequence):
        return _many(origin, arguments)
    if origin in (dict, Mapping):
        return st.dictionaries(record_values(arguments[0]), record_values(arguments[1]), max_size=2)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    return _record(kind)


def _many(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is tuple and arguments[-1] is not Ellipsis:
        return st.tuples(*map(record_values, arguments))
    values = st.lists(record_values(arguments[0]), max_size=2)
    return values.map({tuple: tuple, frozenset: frozenset}.get(origin, list))


def _record(kind: Any) -> st.SearchStrategy[Any]:
    annotations = annotations_of(kind)
    if is_typeddict(kind):
        required = {name: record_values(annotations[name]) for name in kind.__required_keys__}
        optional = {name: record_values(annotations[name]) for name in kind.__optional_keys__}
        return st.fixed_dictionaries(required, optional=optional)
    made = get_origin(kind) or kind
    if dataclasses.is_dataclass(made):
        names = [one.name for one in dataclasses.fields(made) if one.init]
    elif hasattr(made, "_fields"):
        names = list(made._fields)
    else:
        raise TypeError(f"no record has a field of the kind {kind}")
    return st.builds(made, **{name: record_values(annotations[name]) for name in names})


def annotations_of(kind: Any) -> Mapping[str, Any]:
    """Those of a class, with the types that its bases, or its own brackets, give to their variables."""
    made = get_origin(kind) or kind
    given: dict[Any, Any] = {}
    for generic in (kind, *getattr(made, "__orig_bases__", ())):
        parameters = getattr(get_origin(generic), "__parameters__", ())
        given |= dict(zip(parameters, get_args(generic), strict=False))
    return {name: _filled(one, given) for name, one in get_type_hints(made, include_extras=True).items()}


def _filled(annotation: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(annotation, TypeVar):
        return given[annotation]
    parameters = getattr(annotation, "__parameters__", ())
    return annotation[tuple(given[one] for one in parameters)] if parameters else annotation
