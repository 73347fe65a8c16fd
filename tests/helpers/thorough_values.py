"""Values of a parametrised test that `make test` leaves to `make test-thorough`."""

from collections.abc import Iterable
from typing import Any

import pytest


def thorough(*values: Any) -> list[Any]:
    """Each value as one that only `make test-thorough` tries. A tuple has a value for each of several names."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.thorough) for value in values
    ]


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """All the values in their order, of which `make test` tries the first, and then each of so many."""
    return [value if number % count == 0 else thorough(value)[0] for number, value in enumerate(values)]
