"""Predicts one harmless row with a loaded model, to see whether that ends. The answer does not count."""

import time
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from torpor_container.errors import OutOfMemory
from torpor_container.formats.format import ServableModel
from torpor_container.formats.onnx import DTYPES, ONNX, SessionCall
from torpor_container.formats.sklearn import estimators
from torpor_container.formats.xgboost.soundness import prove_booster, prove_estimator
from torpor_container.invocation import Invocation
from torpor_container.processes.memory import no_memory

COLUMNS_MAX = 1_000_000
"""The most columns of a row to predict. Wider models are checked without a prediction."""


def probe(model: ServableModel) -> float:
    """Check a model, and predict once. The processor seconds of that; 0 if it did not predict. Raises LoadFailed if it
    is unsound, MemoryError."""
    native = getattr(model, "native", None)
    return PROBES.get(model.format, _any)(model, native)


def seconds_of_a_row(model: Any) -> float:
    """The processor seconds of one prediction of a model that was found sound; 0 if it did not predict, or its format
    takes no rows of numbers. Raises MemoryError."""
    if model.format == ONNX:
        return _onnx(model, model.native)
    columns = getattr(getattr(model, "layout", None), "columns", None) or 0
    return _tried(model.predict, np.zeros((1, columns), np.float32)) if 0 < columns <= COLUMNS_MAX else 0.0


def _boosters(model: Any, boosters: list[Any]) -> float:
    """Several boosters can answer as one model."""
    for booster in boosters:
        prove_booster(booster)
    columns = max(booster.num_features() for booster in boosters)
    return _tried(model.predict, np.zeros((1, columns), np.float32)) if columns <= COLUMNS_MAX else 0.0


def _estimator(model: Any, estimator: Any) -> float:
    prove_estimator(list(estimators.parts_of(estimator)))
    columns = getattr(estimator, "n_features_in_", 1)
    if isinstance(columns, int) and 0 < columns <= COLUMNS_MAX:
        return _tried(model.predict, np.zeros((1, columns)))
    return 0.0


def _onnx(model: Any, session: Any) -> float:
    feed = {}
    for source in session.get_inputs():
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in source.shape]
        if prod(shape) > COLUMNS_MAX or source.type not in DTYPES:
            return 0.0
        kind = DTYPES[source.type]
        feed[source.name] = np.full(shape, "", kind) if kind is np.object_ else np.zeros(shape, kind)
    return _tried(model.predict, SessionCall(feed, [output.name for output in session.get_outputs()]))


def _text(model: Any, native: object) -> float:
    """A text model of LightGBM, whose trees were checked as it was loaded."""
    return _tried(model.predict, np.zeros((1, model.layout.columns)))


def _any(model: ServableModel, native: object) -> float:
    """A model of a format that another package added."""
    return _tried(model.invoke, Invocation(b"0", "text/csv"))


def _tried(predict: Callable[[Any], object], inputs: Any) -> float:
    """The processor seconds of a prediction; 0 if it fails."""
    began_s = time.thread_time()  # a process under RLIMIT_CPU knows its own time by the clock tick only
    try:
        predict(inputs)
    except (MemoryError, OutOfMemory):
        raise MemoryError("it predicted") from None
    except Exception as error:  # noqa: BLE001  a model may raise anything, and its answer does not count
        if no_memory(error):
            raise MemoryError("it predicted") from None
        return 0.0
    return time.thread_time() - began_s


PROBES: dict[str, Callable[[Any, Any], float]] = {
    "xgboost": _boosters,
    "scikit-learn": _estimator,
    "onnx": _onnx,
    "lightgbm": _text,
}
"""The probe of each format."""
