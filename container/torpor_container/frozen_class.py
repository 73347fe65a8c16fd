"""Makes a class a frozen dataclass, as `dataclass(frozen=True)` does, in a small part of the time that this takes.

`dataclass` compiles six methods of each class as it is imported: half of the time in which an endpoint started. Here
`__init__` is compiled for the first instance, and the other methods are functions that know the names of the fields.
What `make compiled` compiles stays with `dataclass`, which its compiler knows.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

Values = Callable[[object], tuple[object, ...]]
Method = Callable[..., Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make this class a frozen dataclass, whose instances `fields` and `replace` take. A method that the class defines
    itself stays. Slots, variables of `__init__` alone and fields by keyword alone are left to `dataclass`."""
    own = {name for name, method in vars(cls).items() if method is not None}  # None: no hash, since it has `__eq__`
    all_fields = _made_dataclass(cls)
    names = frozenset(one.name for one in all_fields)
    methods: dict[str, Method] = {
        "__init__": _first_init(cls),
        "__repr__": _repr([one.name for one in all_fields if one.repr]),
        "__eq__": _eq(_values([one.name for one in all_fields if one.compare])),
        "__hash__": _hash(_values([one.name for one in all_fields if (one.compare if one.hash is None else one.hash)])),
        "__setattr__": _setattr(cls, names),
        "__delattr__": _delattr(cls, names),
    }
    for name, method in methods.items():
        if name not in own:
            method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)
    return cls


def _made_dataclass(cls: Any) -> tuple[Field[Any], ...]:
    """Makes it a dataclass without methods, and returns its fields. Its bases and the classes below may be made frozen
    by `dataclass`, which looks whether both are."""
    inherits = any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:])
    made = dataclass(init=False, repr=False, eq=False, frozen=inherits)(cls)
    made.__dataclass_params__.frozen = True
    return fields(made)


def _first_init(cls: Any) -> Method:
    """Compiles the class's `__init__`, which takes its place, and calls it."""

    def first_init(self: object, *args: object, **given: object) -> None:
        cls.__init__ = _compiled_init(cls)
        cls.__init__(self, *args, **given)

    return first_init


def _compiled_init(cls: Any) -> Method:
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    parameters, lines = ["self"], []
    for number, one in enumerate(fields(cls)):
        name, value = one.name, one.name
        if one.default_factory is not MISSING:
            known[f"_make{number}"] = one.default_factory
            value = f"_make{number}()" + (f" if {name} is _missing else {name}" if one.init else "")
        elif one.default is not MISSING:
            known[f"_default{number}"] = one.default
        if one.init:
            default = "_missing" if one.default_factory is not MISSING else f"_default{number}"
            parameters.append(name if one.default is one.default_factory is MISSING else f"{name}={default}")
        elif one.default_factory is MISSING:
            continue  # its default is the class's attribute, or `__post_init__` sets it
        lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
    made: Method = known["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _values(names: list[str]) -> Values:
    """What an instance has in these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _repr(names: list[str]) -> Method:
    @recursive_repr()
    def shown(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return shown


def _eq(values: Values) -> Method:
    def equal(self: object, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hash(values: Values) -> Method:
    def hashed(self: object) -> int:
        return hash(values(self))

    return hashed


def _setattr(cls: type, names: frozenset[str]) -> Method:
    """As with `dataclass`, an instance of a class below may get attributes that are no fields."""

    def assigned(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    return assigned


def _delattr(cls: type, names: frozenset[str]) -> Method:
    def deleted(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return deleted
