"""Looks up the names of a model's columns, once, and only when a body names its own: a load does not need them."""

import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

Names = Sequence[str] | None


def _on_this_thread(work: Callable[[], Names]) -> Names:
    return work()


def lazily(
    native: Any, ask: Callable[[Any], Names], on: Callable[[Callable[[], Names]], Names] = _on_this_thread
) -> Callable[[], Names]:
    """A function that asks the framework's object once, by way of `on`. It holds the object weakly, so that a closed
    model is freed."""
    if not type(native).__weakrefoffset__:
        return lambda: None
    held = weakref.ref(native)

    @cache
    def names() -> Names:
        return on(lambda: _asked(held(), ask))

    return names


def _asked(native: Any, ask: Callable[[Any], Names]) -> Names:
    found = None if native is None else ask(native)
    return None if found is None else [str(name) for name in found]
