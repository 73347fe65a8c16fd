"""Reads the rows that models are measured with from a CSV file, with their labels if a column has them."""

import csv
import io
from dataclasses import dataclass
from itertools import cycle, islice

from torpor.errors import TorporError

ROWS_MAX = 10_000


class BadSample(TorporError, ValueError):
    """The file has no rows that can be used. The message names the row or the column."""


@dataclass(frozen=True)
class SampleRows:
    """Rows without their labels, as lines of CSV, and the label of each; None if no column has labels."""

    rows: tuple[str, ...]
    labels: tuple[str, ...] | None = None

    def body(self, count: int, since: int = 0) -> bytes:
        """So many rows from a place on; after the last row comes the first again."""
        return "".join(f"{row}\n" for row in islice(cycle(self.rows), since, since + count)).encode()


def read_sample(text: str, label: str | None = None) -> SampleRows:
    """The rows of a CSV text. A first row without any number is a header. `label` is the name of the column of labels,
    or its number from 1. Raises BadSample."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    header = rows.pop(0) if rows and not any(map(_is_number, rows[0])) else None
    if not rows:
        raise BadSample("the sample has no rows")
    if len(rows) > ROWS_MAX:
        raise BadSample(f"the sample has {len(rows):,} rows: at most {ROWS_MAX:,} are used, so give fewer")
    width = len(header or rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise BadSample(f"row {number} of the sample has {len(row)} columns, and others have {width}")
    if label is None:
        return SampleRows(tuple(map(_line, rows)))
    place = _place(label, header, width)
    if width == 1:
        raise BadSample("the sample has the column of labels alone")
    without = tuple(_line([*row[:place], *row[place + 1 :]]) for row in rows)
    return SampleRows(without, tuple(row[place].strip() for row in rows))


def _place(label: str, header: list[str] | None, width: int) -> int:
    if header is not None and label in header:
        return header.index(label)
    if label.isascii() and label.isdigit() and 1 <= int(label) <= width:
        return int(label) - 1
    known = f"its header has {', '.join(header)}" if header else "it has no header"
    raise BadSample(f"the sample has no column {label!r}: {known}; give a name of it, or a number from 1 to {width}")


def _line(row: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
