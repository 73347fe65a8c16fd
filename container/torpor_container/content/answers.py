"""Encodes predictions to the media type that the caller accepts: three sets of habits, each a table.

SageMaker's containers disagree, and clients rely on each, so each is kept:

| | default | application/json | text/csv |
|---|---|---|---|
| inference toolkit, scikit-learn | JSON | `[1.5, 2.5]` | one row a line |
| XGBoost, one model | CSV | `{"predictions": [{"score": 1.5}]}` | one row a line |
| XGBoost, multi-model (it runs under the toolkit there) | JSON | `[1.5, 2.5]` | all on one line |

A map, such as an ONNX classifier's from class to probability, is JSON in one cell of CSV, and JSON as text in npy.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torpor_container.content.accept import choose
from torpor_container.content.media import CSV, JSON, JSONLINES, NPY, media_type

Encoder = Callable[[Any], bytes]

MANY = 4096
"""More numbers are written in pieces of so many."""


def _plain(value: Any) -> Any:
    if not hasattr(value, "tolist"):
        raise TypeError(f"a prediction of type {type(value).__name__} cannot be written as JSON")
    return value.tolist()


write_json = json.JSONEncoder(default=_plain).encode


@dataclass(frozen=True)
class Answers:
    """How one kind of container answers: an encoder by media type, the default first."""

    encoders: Mapping[str, Encoder]

    def choose(self, accept: str) -> str:
        """Raises NotAcceptable."""
        return choose(accept, tuple(self.encoders))

    def encode(self, prediction: Any, kind: str) -> bytes:
        encoder = self.encoders[kind]
        if isinstance(prediction, np.ndarray) and prediction.size > MANY and encoder in AROUND:
            return _in_pieces(prediction, encoder)
        return encoder(prediction)

    def preferring(self, default_accept: str) -> "Answers":
        """The same with another default (SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT), if it is one that can be given."""
        kind = media_type(default_accept)
        if kind not in self.encoders:
            return self
        return replace(self, encoders={kind: self.encoders[kind], **self.encoders})


def listed(prediction: Any) -> Any:
    """A list of plain Python values; a float32 becomes the float that it exactly is, as in SageMaker's containers."""
    return prediction.tolist() if hasattr(prediction, "tolist") else prediction


def json_list(prediction: Any) -> bytes:
    """Python writes numbers in lists as JSON does, save those that are none (nan, inf), and in half the time."""
    values = listed(prediction)
    if getattr(prediction, "dtype", None) == np.float32 and "n" not in (text := str(values)):
        return text.encode()
    return write_json(values).encode()


def json_scores(prediction: Any) -> bytes:
    return write_json({"predictions": _scores(prediction)}).encode()


def jsonlines_scores(prediction: Any) -> bytes:
    return b"".join(write_json(score).encode() + b"\n" for score in _scores(prediction))


def jsonlines_list(prediction: Any) -> bytes:
    return b"".join(write_json(row).encode() + b"\n" for row in _rows(prediction))


def csv_lines(prediction: Any) -> bytes:
    return "".join(f"{_csv_line(row)}\n" for row in _rows(prediction)).encode()


def csv_one_line(prediction: Any) -> bytes:
    """Not CSV where there are several rows, "only retained for backwards compatibility", says its container."""
    return ",".join(map(str, _rows(prediction))).encode()


def npy(prediction: Any) -> bytes:
    array = np.asarray(prediction)
    stream = io.BytesIO()
    np.save(stream, _texts(array) if array.dtype.hasobject else array, allow_pickle=False)
    return stream.getvalue()


def _texts(array: NDArray[Any]) -> NDArray[np.str_]:
    return np.array([_text(cell) for cell in array.ravel().tolist()], dtype=str).reshape(array.shape)


def _text(value: Any) -> str:
    return write_json(value) if isinstance(value, dict) else str(value)


def _rows(prediction: Any) -> Any:
    rows = listed(prediction)
    return rows if isinstance(rows, list | tuple) else [rows]


def _scores(prediction: Any) -> list[dict[str, Any]]:
    return [{"score": score} for score in _rows(prediction)]


def _csv_line(row: Any) -> str:
    return ",".join(map(_csv_cell, row)) if isinstance(row, list | tuple) else _csv_cell(row)


def _csv_cell(value: Any) -> str:
    if not isinstance(value, str | dict):
        return str(value)
    text = _text(value)
    if any(special in text for special in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


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
