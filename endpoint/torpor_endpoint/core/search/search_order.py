"""Sorts found records by a property. A page can end between any two: every order ends with the record's name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_endpoint.core.search.record_property import PropertyType, RecordProperty, number_of

Position = tuple[bool, Any, str]
"""Whether the property is missing, its value, and the record's name. Values of one property compare with each other."""


@dataclass(frozen=True)
class SearchOrder:
    """By this property's first value. Records without one come last, in both directions."""

    property: RecordProperty
    descending: bool

    def position(self, name: str, record: Any) -> Position:
        value = next((one for one in self.property.of(record) if one == one), None)  # NaN has no place in an order
        if value is not None and self.property.type is PropertyType.WRITTEN_NUMBER:
            number = number_of(value)
            value = [number is None, number or 0, value]
        return value is None, value, name

    def page(
        self, positions: Iterable[Position], after: Position | None, limit: int
    ) -> tuple[Sequence[Position], bool]:
        """The positions of one page, which begins after this one, and whether more follow."""
        found = list(positions)
        with_value = sorted((one[1:] for one in found if not one[0]), reverse=self.descending)
        without = sorted((one[2] for one in found if one[0]), reverse=self.descending)
        rows: list[Position] = [*((False, *one) for one in with_value), *((True, None, name) for name in without)]
        if after is not None:
            rows = [row for row in rows if self._is_after(row, after)]
        return rows[:limit], len(rows) > limit

    def _is_after(self, row: Position, last: Position) -> bool:
        if row[0] != last[0]:
            return row[0]
        ours, theirs = (row[2:], last[2:]) if row[0] else (row[1:], last[1:])
        return ours < theirs if self.descending else ours > theirs
