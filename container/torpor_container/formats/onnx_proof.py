"""Proves that an ONNX model with mapped weights answers as the model itself does, up to the last digits.

ONNX Runtime multiplies with weights as they are, or with a copy that it packed: the order of sums differs, and so do
the last bits of an answer. Rows of zeros and of random numbers, alone and many together, go through both sessions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torpor_container.formats import onnx
from torpor_container.formats.format import Conventions, Mapped

FURTHEST = 1e-5
"""Two answers are close if no value differs by more than this part of the output's largest value."""
ROWS = (1, 33)
"""The sizes of batches: another multiplication serves each."""
CELLS_MAX = 1_000_000


class FarApart(Exception):
    """The message says which output differs, and how."""


def prove(arguments: Mapping[str, str], descriptors: Sequence[int]) -> dict[str, str]:
    """An `Afterwork`: whether the form in `file` answers as the model in `path`."""
    file = Path(arguments["file"])
    whole: Any = onnx.load(Path(arguments["path"]), Conventions())
    mapped: Any = onnx.open_mapped(Path(arguments["path"]), Mapped(str(file), file.stat().st_size), Conventions())
    try:
        furthest = max(distance(whole.native, mapped.native, rows) for rows in ROWS)
    except FarApart as error:
        return {"refused": str(error)}
    return {"note": f"answers differ by at most {furthest:.1g} of their largest value"}


def distance(whole: Any, mapped: Any, rows: int) -> float:
    """The largest difference of two sessions' answers, as part of an output's largest value. Raises FarApart."""
    names = [output.name for output in whole.get_outputs()]
    furthest = 0.0
    for feed in _feeds(whole, rows):
        for name, one, other in zip(names, whole.run(names, feed), mapped.run(names, feed), strict=True):
            furthest = max(furthest, _difference(name, one, other))
    return furthest


def _feeds(session: Any, rows: int) -> list[dict[str, Any]]:
    """Zeros, and random numbers, for every input; dimensions without a size are `rows` first, and 1."""
    dice, zeros, drawn = np.random.default_rng(7), dict[str, Any](), dict[str, Any]()
    for source in session.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in source.shape]
        if source.shape and not isinstance(source.shape[0], int):
            shape[0] = rows
        if np.prod(shape) > CELLS_MAX:
            raise FarApart(f"the input {source.name} has more than {CELLS_MAX:,} cells: it was not tried")
        kind = onnx.DTYPES[source.type]
        text = kind is np.object_
        zeros[source.name] = np.full(shape, "", kind) if text else np.zeros(shape, kind)
        floats = not text and np.issubdtype(kind, np.floating)
        drawn[source.name] = dice.normal(size=shape).astype(kind) if floats else zeros[source.name]
    return [zeros, drawn]


def _difference(name: str, one: Any, other: Any) -> float:
    if not isinstance(one, np.ndarray) or one.dtype == np.object_:
        raise FarApart(f"the output {name} is no tensor of numbers: it was not compared")
    if not np.issubdtype(one.dtype, np.floating):
        if np.array_equal(one, other):
            return 0.0
        raise FarApart(f"the output {name} has other values")
    if not np.array_equal(np.isfinite(one), np.isfinite(other)):
        raise FarApart(f"the output {name} has infinite or missing values elsewhere")
    finite = np.isfinite(one)
    largest = float(np.abs(one[finite]).max(initial=0.0))
    apart = float(np.abs(one[finite] - other[finite]).max(initial=0.0))
    if apart > FURTHEST * largest:
        raise FarApart(f"the output {name} differs by {apart:.2g}, and its largest value is {largest:.2g}")
    return apart / largest if largest else 0.0
