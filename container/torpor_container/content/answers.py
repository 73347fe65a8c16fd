"""Encodes predictions to the media type that the caller accepts, as each of three containers does.

SageMaker's containers differ, and clients rely on each of them:

| | default | application/json | text/csv |
|---|---|---|---|
| inference toolkit, scikit-learn | JSON | `[1.5, 2.5]` | one row a line |
| XGBoost, one model | CSV | `{"predictions": [{"score": 1.5}]}` | one row a line |
| XGBoost, multi-model (it runs under the toolkit there) | JSON | `[1.5, 2.5]` | all on one line |

A map, such as an ONNX classifier's from class to probability, is JSON in one cell of CSV, and JSON as text in npy. What
else a prediction may be is the table of `plain`. Several outputs are an object by name in JSON, and in CSV the columns
of all beside each other; npy holds one array.

| | cells | rows |
|---|---|---|
| JSON, JSON Lines | numbers, truths, text, null, lists, objects | any depth |
| CSV | the same without lists; a missing one is empty; Decimal | a number or text a line, or flat rows |
| npy | numbers, or text (and maps as JSON) | rows of one length, any depth |

What another type can carry, the caller must ask for otherwise (406). Anything else is the model's error: no value is
written in Python's own notation.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.content.accept import choose
from torpor_container.content.media import CSV, JSON, JSONLINES, NPY, media_type
from torpor_container.content.plain import Outputs, Unwritable, listed, opened, plain, refused
from torpor_container.errors import NotAcceptable, PredictionFailed
from torpor_container.frozen_class import frozen

Encoder = Callable[[Any], bytes]

MANY = 4096
"""More numbers than this are written in pieces of this many."""
NUMBER = (float, int)
PLAIN_KINDS = "fiubUO"
"""numpy's letters for the types of arrays whose cells are plain values, or are checked one by one."""


def _opened(value: Any) -> Any:
    return opened(value, JSON, named=True)


_encode = json.JSONEncoder(default=_opened).encode


def write_json(value: Any) -> str:
    """The value as JSON. Raises Unwritable."""
    try:
        return _encode(value)
    except Unwritable:
        raise
    except (TypeError, ValueError):  # keys that are not plain values, or a list that contains itself
        return _encode(_depth_bound(value))


def _depth_bound(value: Any) -> Any:
    try:
        return plain(value, JSON, named=True)
    except RecursionError:
        raise Unwritable("a prediction that contains itself cannot be written as JSON") from None


@frozen
class Answers:
    """How one kind of container answers: an encoder by media type, the default first."""

    encoders: Mapping[str, Encoder]

    def choose(self, accept: str) -> str:
        """Raises NotAcceptable."""
        return choose(accept, self.kinds) if accept else self.kinds[0]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The media types, the default first."""
        return tuple(self.encoders)

    def encode(self, prediction: Any, kind: str) -> bytes:
        """Raises NotAcceptable for a prediction that only other types can carry, PredictionFailed for one that none
        can; and what an object of a framework raises as it is written."""
        encoder = self.encoders[kind]
        try:
            if isinstance(prediction, np.ndarray) and prediction.size > MANY and encoder in AROUND:
                return _in_pieces(prediction, encoder)
            return encoder(prediction)
        except Unwritable as error:
            raise (NotAcceptable if error.elsewhere else PredictionFailed)(str(error)) from None

    def preferring(self, default_accept: str) -> "Answers":
        """The same with another default (SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT), if there is an encoder for it."""
        kind = media_type(default_accept)
        if kind not in self.encoders:
            return self
        return replace(self, encoders={kind: self.encoders[kind], **self.encoders})


# -- JSON --------------------------------------------------------------------------------------------------------------
def json_list(prediction: Any) -> bytes:
    """Python writes numbers in lists as JSON does, save those that are none (nan, inf), and in half the time."""
    if type(prediction) is not np.ndarray or prediction.dtype.kind not in PLAIN_KINDS:
        return write_json(prediction).encode()
    values = prediction.tolist()
    if prediction.dtype == np.float32 and "n" not in (text := str(values)):
        return text.encode()
    return write_json(values).encode()


def json_scores(prediction: Any) -> bytes:
    return write_json({"predictions": _scores(prediction)}).encode()


def jsonlines_scores(prediction: Any) -> bytes:
    return b"".join(write_json(score).encode() + b"\n" for score in _scores(prediction))


def jsonlines_list(prediction: Any) -> bytes:
    return b"".join(write_json(row).encode() + b"\n" for row in _items(prediction))


def _scores(prediction: Any) -> list[dict[str, Any]]:
    return [{"score": score} for score in _items(prediction)]


def _items(prediction: Any) -> Sequence[Any]:
    """A value for each row, with the names of a frame and of several outputs."""
    if type(prediction) is Outputs:
        return [dict(zip(prediction, row, strict=True)) for row in zip(*_parallel(prediction, JSONLINES), strict=True)]
    simple = type(prediction) is np.ndarray
    values = listed(prediction, JSONLINES) if simple else plain(prediction, JSONLINES, named=True)
    return values if isinstance(values, list) else [values]


# -- CSV ---------------------------------------------------------------------------------------------------------------
def csv_lines(prediction: Any) -> bytes:
    return "".join([f"{_csv_line(row)}\n" for row in _rows(prediction)]).encode()


def csv_one_line(prediction: Any) -> bytes:
    """Not CSV where there are several rows, "only retained for backwards compatibility", says its container."""
    return ",".join(map(_csv_item, _rows(prediction))).encode()


def _csv_line(row: Any) -> str:
    if type(row) is float:
        return str(row)
    if not isinstance(row, list):
        return '""' if row is None else _csv_cell(row)  # many readers skip an empty line
    return ",".join(map(_csv_cell, row))


def _csv_item(row: Any) -> str:
    if not isinstance(row, list):
        return _csv_line(row)
    if any(isinstance(cell, list) for cell in row):
        raise _too_deep()
    return str(row)


def _csv_cell(value: Any) -> str:
    if isinstance(value, NUMBER):
        return str(value)
    if value is None:
        return ""
    if isinstance(value, list):
        raise _too_deep()
    if not isinstance(value, str | dict):
        if isinstance(value, Decimal):
            return str(value)
        raise refused(value, CSV)
    text = _text(value)
    if any(special in text for special in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _nothing(kind: str) -> Unwritable:
    return Unwritable(f"a prediction of None cannot be written as {kind}: predict_fn returned nothing")


def _too_deep() -> Unwritable:
    return Unwritable.here(
        f"a prediction of more than two dimensions cannot be written as {CSV}: ask for {JSON} or {NPY}, or return rows"
    )


# -- npy ---------------------------------------------------------------------------------------------------------------
def npy(prediction: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, _array(prediction), allow_pickle=False)
    return stream.getvalue()


def _array(prediction: Any) -> NDArray[Any]:
    """Raises Unwritable."""
    is_array = isinstance(prediction, np.ndarray | np.generic) and not isinstance(prediction, np.ma.MaskedArray)
    if is_array and not prediction.dtype.hasobject:
        return np.asarray(prediction)
    if type(prediction) is Outputs:
        raise Unwritable.here(
            f"{NPY} holds one array, and the model has the outputs {', '.join(prediction)}: {ONE_OUTPUT}"
        )
    if prediction is None:
        raise _nothing(NPY)
    values = plain(prediction, NPY)
    try:
        array = np.array(values, dtype=object)
        cells = array.ravel().tolist()
        if any(isinstance(cell, list) for cell in cells):
            raise ValueError("its rows are not of one length")
        if all(cell is None or isinstance(cell, NUMBER) for cell in cells):
            return np.array(values, dtype=float if None in cells else None)
        if all(isinstance(cell, str | dict) for cell in cells):
            return _texts(array)
    except ValueError as error:
        text = f"a prediction of type {type(prediction).__name__} is not an array: {error}: ask for {JSON} or {CSV}"
        raise Unwritable.here(text) from None
    raise Unwritable.here(
        f"a prediction of type {type(prediction).__name__} cannot be written as {NPY}: an array holds numbers or text, "
        f"not both, nor anything else: ask for {JSON} or {CSV}"
    )


ONE_OUTPUT = "name one in Accept, as in 'application/x-npy; output=NAME'"


def _texts(array: NDArray[Any]) -> NDArray[np.str_]:
    return np.array([_text(cell) for cell in array.ravel().tolist()], dtype=str).reshape(array.shape)


# -- all ---------------------------------------------------------------------------------------------------------------
def _text(value: Any) -> str:
    return write_json(value) if isinstance(value, dict) else str(value)


def _rows(prediction: Any) -> Any:
    if prediction is None:
        raise _nothing(CSV)
    rows = _beside(prediction) if type(prediction) is Outputs else listed(prediction, CSV)
    return rows if isinstance(rows, list) else [rows]


def _beside(outputs: Outputs) -> list[list[Any]]:
    """The columns of all outputs beside each other; a map from class to probability is a column for each class."""
    rows = zip(*_parallel(outputs, CSV), strict=True)
    return [[cell for part in row for cell in _cells(part)] for row in rows]


def _cells(part: Any) -> Iterable[Any]:
    if isinstance(part, dict):
        return list(part.values())
    return part if isinstance(part, list) else [part]


def _parallel(outputs: Outputs, kind: str) -> list[list[Any]]:
    """Each output as a list with a value for each row. Raises Unwritable."""
    parts = [listed(value, kind) for value in outputs.values()]
    if not all(isinstance(part, list) for part in parts) or len({len(part) for part in parts}) > 1:
        raise Unwritable.here(
            f"the outputs {', '.join(outputs)} have not one value for each row, as {kind} needs: ask for {JSON}"
        )
    return parts


AROUND: Mapping[Encoder, tuple[bytes, bytes, bytes]] = {
    json_list: (b"[", b", ", b"]"),
    json_scores: (b'{"predictions": [', b", ", b"]}"),
    jsonlines_list: (b"", b"", b""),
    jsonlines_scores: (b"", b"", b""),
    csv_lines: (b"", b"", b""),
    csv_one_line: (b"", b",", b""),
}
"""What an encoder writes before, between and after rows."""


def _in_pieces(prediction: NDArray[Any], encoder: Encoder) -> bytes:
    """The same bytes, a few rows at a time: as Python's objects numbers take many times the space of their text."""
    before, between, after = AROUND[encoder]
    rows = max(1, MANY * len(prediction) // prediction.size)
    written = io.BytesIO()
    written.write(before)
    for start in range(0, len(prediction), rows):
        if start:
            written.write(between)
        piece = encoder(prediction[start : start + rows])
        written.write(piece[len(before) : len(piece) - len(after)])
    written.write(after)
    return written.getvalue()


TOOLKIT = Answers({JSON: json_list, CSV: csv_lines, JSONLINES: jsonlines_list, NPY: npy})
XGBOOST = Answers({CSV: csv_lines, JSON: json_scores, JSONLINES: jsonlines_scores, NPY: npy})
XGBOOST_MULTI_MODEL = Answers({JSON: json_list, CSV: csv_one_line, JSONLINES: jsonlines_scores, NPY: npy})
