"""Looks up what a model says of its columns, once, and only when a body needs it: a load does not."""

import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

Names = Sequence[str] | None
T = TypeVar("T")


def _on_this_thread(work: Callable[[], T]) -> T:
    return work()


def names_lazily(
    native: Any, ask: Callable[[Any], Any], on: Callable[[Callable[[], Names]], Names] = _on_this_thread
) -> Callable[[], Names]:
    """A function that asks for names as `lazily` does: a list of texts, or None."""
    return lazily(native, lambda asked: _texts(ask(asked)), on)


def lazily(
    native: Any, ask: Callable[[Any], T | None], on: Callable[[Callable[[], T | None]], T | None] = _on_this_thread
) -> Callable[[], T | None]:
    """A function that asks the framework's object once, by way of `on`. It holds the object weakly, so that a closed
    model is freed."""
    if not type(native).__weakrefoffset__:
        return lambda: None
    held = weakref.ref(native)

    @cache
    def found() -> T | None:
        return on(lambda: None if (asked := held()) is None else ask(asked))

    return found


def _texts(found: Any) -> Names:
    return None if found is None else [str(name) for name in found]
