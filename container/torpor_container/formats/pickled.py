"""Models that were pickled, by pickle or joblib: what comes out decides who serves it.

A pickle runs code as it loads. An artifact is trusted as far as the container that runs it; `.skops` files are the way
out for those who want none of that.
"""

import pickle
from pathlib import Path
from typing import Any

from torpor_container.errors import LoadFailed, LoadOutOfMemory
from torpor_container.formats import boosters, estimators
from torpor_container.formats.format import Conventions, Model
from torpor_container.formats.served import ServedModel


def load(path: Path, conventions: Conventions) -> Model:
    """Raises LoadFailed with what went wrong inside, or where no pickles are allowed; LoadOutOfMemory."""
    if not conventions.pickles:
        raise LoadFailed(
            f"{path.name} is a pickle, which runs code as it loads, and TORPOR_PICKLES=refuse forbids it: save the "
            "model as .json or .ubj (XGBoost), .skops (scikit-learn) or .onnx"
        )
    try:
        native = _unpickle(path)
    except MemoryError as error:
        raise LoadOutOfMemory(f"out of memory while loading {path.name}") from error
    except Exception as error:  # unpickling runs foreign code, which may raise anything
        raise LoadFailed(f"{path.name} cannot be unpickled: {type(error).__name__}: {error}") from error
    return adopt(native, conventions)


def adopt(native: Any, conventions: Conventions) -> ServedModel[Any]:
    """Serve a model object: a booster, an XGBoost estimator, or anything with `predict`. Raises LoadFailed."""
    if type(native).__module__.partition(".")[0] == "xgboost":
        if hasattr(native, "get_booster"):
            return boosters.serve(native.get_booster(), conventions, native.missing)
        return boosters.serve(native, conventions)
    if not callable(getattr(native, "predict", None)):
        raise LoadFailed(f"an object of type {type(native).__name__} has no predict method")
    return estimators.serve(native, conventions)


def _unpickle(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except UnicodeDecodeError:  # joblib takes a pickle of Python 2 for its own
        with path.open("rb") as file:
            return pickle.load(file, encoding="latin1")
