"""`frozen` makes what `dataclass(frozen=True)` makes: both make the same classes here, and are asked the same."""

import pickle
import sys
from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from torpor_container.frozen_class import frozen

Make = Callable[[type], type]
MADE_BY: dict[str, Make] = {"dataclass": dataclass(frozen=True), "frozen": frozen}


def plain(make: Make) -> Any:
    class Plain:
        kind: ClassVar[str] = "plain"
        first: int
        second: float = 2.0
        names: list[str] = field(default_factory=list, hash=False)

    return make(Plain)


def single(make: Make) -> Any:
    class Single:
        only: object

    return make(Single)


def empty(make: Make) -> Any:
    class Empty:
        """It has no field."""

    return make(Empty)


def hidden(make: Make) -> Any:
    class Hidden:
        shown: int
        secret: str = field(default="s", repr=False)
        cached: int = field(default=0, compare=False)
        made: list[int] = field(init=False, default_factory=list, compare=False)
        kept: int = field(init=False, default=7)
        late: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "late", self.shown + 1)

    return make(Hidden)


def own(make: Make) -> Any:
    class Own:
        a: int
        b: int = 1

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.a == other.a

        def __repr__(self) -> str:
            return "mine"

    return make(Own)


def own_hash(make: Make) -> Any:
    class OwnHash:
        a: int

        def __hash__(self) -> int:
            return 5

    return make(OwnHash)


def below(make: Make) -> Any:
    class Above:
        a: int
        b: int = 1

    above = make(Above)

    class Below(above):  # type: ignore[misc, valid-type]  # it is made here
        c: int = 2
        b: int = 3

    return make(Below)


CASES: dict[str, tuple[Callable[[Make], Any], tuple[tuple[tuple[Any, ...], dict[str, Any]], ...]]] = {
    "plain": (
        plain,
        (((1,), {}), ((1, 3.0), {}), ((), {"first": 1, "names": ["a"]}), ((2,), {}), ((), {}), ((1, 2, [], 4), {})),
    ),
    "single": (single, (((1,), {}), ((float("nan"),), {}), (([],), {}), ((), {"other": 1}))),
    "empty": (empty, (((), {}), ((1,), {}))),
    "hidden": (hidden, (((1,), {}), ((1, "t"), {}), ((1, "s", 4), {}), ((1,), {"made": []}))),
    "own": (own, (((1,), {}), ((1, 2), {}), ((2,), {}))),
    "own hash": (own_hash, (((1,), {}), ((2,), {}))),
    "below": (below, (((1,), {}), ((1, 2, 3), {}), ((1, 2), {"c": 3}), ((), {}))),
}


def told(ask: Callable[..., Any], *args: Any, **given: Any) -> Any:
    """What is answered, or the kind of the refusal and its words."""
    try:
        return ask(*args, **given)
    except (TypeError, FrozenInstanceError) as error:
        return type(error), str(error)


def answers(cls: Any, calls: Iterable[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
    """What a class says of itself, and what its instances say."""
    instances = [told(cls, *args, **given) for args, given in calls]
    found: list[Any] = [[(one.name, one.init, one.repr) for one in fields(cls)], cls.__match_args__, instances]
    name = fields(cls)[0].name if fields(cls) else "x"
    for one in instances:
        if isinstance(one, cls):
            found += [
                asdict(one),
                vars(one),
                [one == other for other in [*instances, object()]],
                told(hash, one),
                told(setattr, one, name, 9),
                told(setattr, one, "other", 9),
                told(delattr, one, name),
                told(replace, one, **{name: 9}),
            ]
    return found


@pytest.mark.parametrize("case", CASES)
def test_it_makes_what_dataclass_makes(case: str) -> None:
    make, calls = CASES[case]

    by_dataclass, by_frozen = (repr(answers(make(decorator), calls)) for decorator in MADE_BY.values())

    assert by_frozen == by_dataclass


@frozen
class Pickled:
    a: int
    b: tuple[int, ...] = ()


@pytest.mark.parametrize("above", MADE_BY.values())
@pytest.mark.parametrize("under", MADE_BY.values())
def test_a_class_inherits_from_one_that_was_made_otherwise(above: Make, under: Make) -> None:
    class Below(single(above)):  # type: ignore[misc]  # it is made here
        more: int = 0

    made = under(Below)(1, 2)

    assert (made.only, made.more) == (1, 2)
    with pytest.raises(FrozenInstanceError):
        made.only = 2


def test_a_class_that_is_not_frozen_inherits_from_none_that_is() -> None:
    class Below(single(frozen)):  # type: ignore[misc]  # it is made here
        more: int = 0

    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclass(Below)


def test_an_instance_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


def test_a_class_that_contains_itself_is_shown() -> None:
    inner: list[Any] = []
    outer = single(frozen)(inner)
    inner.append(outer)

    assert repr(outer).endswith("Single(only=[...])")


def test_nothing_is_compiled_before_the_first_instance() -> None:
    compiled = []

    def look(frame: object, event: str, function: object) -> None:
        if event == "c_call" and function is exec:
            compiled.append(function)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        made = plain(frozen)
        at_import = len(compiled)
        made(1)
        at_first = len(compiled)
        made(2)
    finally:
        sys.setprofile(before)

    assert (at_import, at_first, len(compiled)) == (0, 1, 1)
