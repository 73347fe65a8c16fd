"""How a model wants its rows, and the check that they are so."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.content.kinds import NUMBERS, Kind, inexact, kind_of
from torpor_container.errors import BadInput

Rows = NDArray[Any]

NAMES_SHOWN = 10


def _nameless() -> None:
    return None


@dataclass(frozen=True)
class Layout:
    """The cells' type, and how many columns a row has where the model says so."""

    dtype: Any = np.float32
    columns: int | None = None
    absent: float = nan
    """What a cell means that a sparse row leaves out: missing for trees, zero for linear models."""
    table: bool = True
    """Rows by columns. Otherwise a tensor of any rank, which the model itself checks."""
    names: Callable[[], Sequence[str] | None] = _nameless
    """The model's names for its columns, in order. None where it has none."""

    def array(self, values: object) -> Rows:
        """An array of this type. Raises ValueError, TypeError or OverflowError, as numpy finds them."""
        if self._plain:
            return np.array(values, dtype=self.dtype)
        return self.cast(self.kind.gather(values))

    def of_floats(self, cells: object) -> Rows:
        """An array of cells that were read as floats, whatever they are. ValueError where these do not tell them."""
        if self._plain:
            return np.array(cells, dtype=self.dtype)
        array = np.array(cells)
        if inexact(array):
            raise ValueError("a whole number is too large for a float")
        return self.cast(array)

    def cast(self, array: Rows) -> Rows:
        """Another array as one of this type: itself, where it is one already. Raises ValueError."""
        try:
            return self.kind.cast(array, self.dtype)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(self.kind.refusal) from None

    @cached_property
    def kind(self) -> Kind:
        """What may stand in a cell."""
        return kind_of(self.dtype)

    @cached_property
    def _plain(self) -> bool:
        return self.kind is NUMBERS

    def fit(self, rows: Rows) -> Rows:
        """Two-dimensional rows with the right number of columns. Raises BadInput."""
        if not self.table:
            return rows
        if rows.ndim == 1:
            rows = rows.reshape(1, -1)
        if rows.ndim != 2 or not rows.size:
            raise BadInput(f"rows of numbers are wanted, and the body holds an array of shape {rows.shape}")
        if self.columns is not None and rows.shape[1] != self.columns:
            raise BadInput.of_rows(f"the model takes {self.columns} columns, and the rows have {rows.shape[1]}")
        return rows

    def ordered(self, rows: Rows, given: Sequence[object]) -> Rows:
        """Rows whose columns were given by name, in the model's order if it knows its names.

        Raises BadInput, which tells the names that are unknown, missing or there twice.
        """
        known = self.names()
        if known is None:
            return rows
        names = [str(name) for name in given]
        if sorted(names) == sorted(known):
            places = {name: place for place, name in enumerate(names)}
            return np.take(replace(self, columns=len(known)).fit(rows), [places[name] for name in known], axis=1)
        if given == list(range(len(given))):  # pandas counts the columns of a frame without names
            return rows
        raise BadInput.of_rows(_misnamed(names, known))


def _misnamed(given: Sequence[str], known: Sequence[str]) -> str:
    wrong = {
        "unknown": set(given) - set(known),
        "missing": set(known) - set(given),
        "more than once": [name for name, count in Counter(given).items() if count > 1],
    }
    said = "; ".join(f"{what}: {_listed(names)}" for what, names in wrong.items() if names)
    return f"the names of the columns are not the model's: {said}"


def _listed(names: Iterable[str]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:NAMES_SHOWN]) + (" and more" if len(shown) > NAMES_SHOWN else "")
