"""Reads `text/libsvm`: `[label] index:value index:value ...`, one row a line; columns that a row leaves out are absent.

Indexes are taken as they are, as SageMaker's XGBoost container takes them: column 0 is `0:`, and a model that was
trained on files that count from 1 has one column more.
"""

from collections import Counter

import numpy as np

from torpor_container.content.kinds import TEXT, CellKind, OutOfRange, read_number
from torpor_container.content.layout import RowLayout, Rows
from torpor_container.errors import BadInput

CELLS_MAX = 2**25
"""A short sparse row can name a huge column; rows are dense here, so their size is bounded."""


def decode_libsvm(body: bytes, layout: RowLayout) -> Rows:
    """Dense rows, as wide as the model or as the highest index. Raises BadInput, which names the row."""
    if layout.kind is TEXT:
        raise BadInput(f"libsvm holds numbers, and {TEXT.refusal}")
    lines = enumerate(body.strip().split(b"\n"), start=1)
    rows = [_row(number, line.split(), layout.kind) for number, line in lines]
    width = max((index + 1 for row in rows for index in row), default=0)
    columns = layout.columns or width
    if width > columns:
        raise BadInput.of_rows(f"the model takes {columns} columns, and the rows have {width}{_counted(rows, columns)}")
    if len(rows) * columns > CELLS_MAX:
        raise BadInput(f"{len(rows)} rows of {columns} columns are too many for one request")
    dense = np.full((len(rows), columns), layout.absent, dtype=layout.dtype)
    for number, row in enumerate(rows, start=1):
        if row:
            dense[number - 1, list(row)] = _values(number, row, layout)
    return dense


def _counted(rows: list[dict[int, object]], columns: int) -> str:
    """A hint for rows that count their columns from 1. They are not shifted, since short rows do not show it."""
    indexes = {index for row in rows for index in row}
    if 0 in indexes or max(indexes) != columns:
        return ""
    return ": indexes count from 0, as in SageMaker's container, and these seem to count from 1"


def _values(number: int, row: dict[int, object], layout: RowLayout) -> Rows:
    try:
        return layout.array(list(row.values()))
    except OutOfRange:
        index, fault = next((index, fault) for index, cell in row.items() if (fault := layout.kind.fault(cell)))
        raise BadInput.of_rows(f"row {number}, index {index}: {fault}") from None
    except ValueError as error:
        raise BadInput(f"row {number}: {error}") from None


def _row(number: int, tokens: list[bytes], kind: CellKind) -> dict[int, object]:
    try:
        cells = [_feature(token, kind) for token in _features(tokens) if not token.startswith(b"qid:")]
        if len(row := dict(cells)) < len(cells):
            twice = next(index for index, count in Counter(index for index, _ in cells).items() if count > 1)
            raise ValueError(f"index {twice} is there more than once")
        return row
    except ValueError as error:
        raise BadInput(f"row {number}: {error}") from None


def _features(tokens: list[bytes]) -> list[bytes]:
    """The cells without the label. Raises ValueError if the label is not a number."""
    if not tokens or b":" in tokens[0]:
        return tokens
    try:
        read_number(tokens[0].decode())
    except ValueError:
        raise ValueError(f"{_shown(tokens[0])} is neither a label, which is a number, nor index:value") from None
    return tokens[1:]


def _feature(token: bytes, kind: CellKind) -> tuple[int, object]:
    index, colon, value = token.partition(b":")
    if not (colon and index.isdigit()):
        raise ValueError(f"{_shown(token)} is not index:value")
    try:
        return int(index), kind.read(value)
    except ValueError:
        raise ValueError(f"index {int(index)}: {kind.wrong.format(_shown(value))}") from None


def _shown(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))
