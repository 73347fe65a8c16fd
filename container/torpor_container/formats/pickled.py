"""Loads models that were pickled, by pickle or joblib: the type of the object decides which format serves it.

A pickle runs code as it loads. An artifact is trusted as far as the container that runs it; `.skops` files run no code.
"""

import pickle
from pathlib import Path
from typing import Any

from torpor_container.errors import LoadFailed, LoadOutOfMemory
from torpor_container.formats.format import SAFE_FILES, Conventions, ServableModel
from torpor_container.formats.frameworks import inherits, is_xgboost_booster, is_xgboost_estimator
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn import estimators
from torpor_container.formats.xgboost import boosters, older_versions
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.processes.import_steps import Step, reach


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load a model. Raises LoadFailed with the exception, or if pickles are not allowed; LoadOutOfMemory."""
    try:
        native = opened(path, conventions)
    except older_versions.OldModel as old:
        return boosters.serve_members([older_versions.read(path, conventions, str(old))], conventions)
    return adopt(native, conventions)


def member(path: Path, conventions: Conventions) -> Member:
    """The booster in a pickle, for use with others. Raises LoadFailed, LoadOutOfMemory."""
    try:
        native = opened(path, conventions)
    except older_versions.OldModel as old:
        return older_versions.read(path, conventions, str(old))
    if is_xgboost_estimator(native):
        return Member(native.get_booster(), native.missing, pickled=True)
    if is_xgboost_booster(native):
        return Member(native, pickled=True)
    raise LoadFailed(f"{path.name} holds an object of type {type(native).__name__}, which is not a booster of XGBoost")


def opened(path: Path, conventions: Conventions) -> Any:
    """Unpickle the object. Raises LoadFailed, also if pickles are not allowed; LoadOutOfMemory; and OldModel for a
    booster that this XGBoost does not read."""
    check_allowed(path, conventions)
    reach(Step.WHOLE)
    try:
        return _unpickle(path)
    except MemoryError as error:
        raise LoadOutOfMemory(f"out of memory while loading {path.name}") from error
    except Exception as error:  # unpickling runs foreign code, which may raise anything
        if inherits(error, "xgboost", "XGBoostError") or _misses_xgboost(error):
            raise older_versions.OldModel.pickled(path, error) from error
        raise LoadFailed(f"{path.name} cannot be unpickled: {type(error).__name__}: {error}") from error


def check_allowed(path: Path, conventions: Conventions) -> None:
    """Raise LoadFailed if pickles are not allowed."""
    if forbids := conventions.forbids_pickles:
        raise LoadFailed(
            f"{path.name} is a pickle, which runs code as it loads, and {forbids} forbids it: {SAFE_FILES}"
        )


def _misses_xgboost(error: Exception) -> bool:
    """Whether a class is gone from XGBoost, such as the label encoder that classifiers had up to 1.x."""
    return isinstance(error, AttributeError | ImportError) and "xgboost" in str(error)


def adopt(native: Any, conventions: Conventions) -> ServedModel[Any]:
    """Serve a model object: a booster, an XGBoost estimator, or anything with `predict`. Raises LoadFailed."""
    if is_xgboost_estimator(native):
        return boosters.serve(native.get_booster(), conventions, native.missing, pickled=True)
    if is_xgboost_booster(native):
        return boosters.serve(native, conventions, pickled=True)
    if not callable(getattr(native, "predict", None)):
        raise LoadFailed(f"an object of type {type(native).__name__} has no predict method")
    return estimators.serve(native, conventions)


def _unpickle(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except UnicodeDecodeError:  # joblib takes a pickle of Python 2 for one of its own
        with path.open("rb") as file:
            return pickle.load(file, encoding="latin1")
