"""Loads models that were pickled, by pickle or joblib: the type of the object decides which format serves it.

A pickle runs code as it loads. An artifact is trusted as far as the container that runs it; `.skops` files run no code.
"""

import io
import pickle
import re
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from torpor_container.errors import LoadFailed, LoadOutOfMemory
from torpor_container.formats.contents import HEAD_BYTES, PICKLED, packed_as, pickled_class
from torpor_container.formats.format import SAFE_FILES, Conventions, Mapped, ServableModel
from torpor_container.formats.frameworks import inherits, is_xgboost_booster, is_xgboost_estimator
from torpor_container.formats.served import ServedModel
from torpor_container.formats.sklearn import estimators, flat_estimators
from torpor_container.formats.xgboost import boosters, flat_serving, older_versions
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.processes.import_steps import Step, reach
from torpor_container.trees.flat_trees import is_wide

JOBLIB_ARRAYS = b"ArrayWrapper"
"""Ends the names of the classes by which joblib marks its arrays, of all its versions."""

LACKED = re.compile(r"Can't get attribute '([^']+)' on ")
"""How Python begins to say that a module lacks the class of an object in a pickle."""


def load(path: Path, conventions: Conventions) -> ServableModel:
    """Load a model. Raises LoadFailed with the exception, or if pickles are not allowed; LoadOutOfMemory."""
    try:
        native = opened(path, conventions)
    except older_versions.OldModel as old:
        return boosters.serve_members([older_versions.read(path, conventions, str(old))], conventions)
    return adopt(native, conventions)


def load_content(content: bytes, path: Path, conventions: Conventions) -> ServableModel:
    """Load a model from the bytes of its file, which is not read. Raises as `load`."""
    return adopt(_opened(path, conventions, lambda: _unpickle_content(content)), conventions)


def member(path: Path, conventions: Conventions) -> Member:
    """The booster in a pickle, for use with others. Raises LoadFailed, LoadOutOfMemory."""
    try:
        native = opened(path, conventions)
    except older_versions.OldModel as old:
        return older_versions.read(path, conventions, str(old))
    if (found := _booster(native)) is not None:
        return found
    raise LoadFailed(f"{path.name} holds an object of type {type(native).__name__}, which is not a booster of XGBoost")


def converted(path: Path, conventions: Conventions) -> bytes:
    """The file of flat trees of a pickled booster or estimator. Raises NotFlat, and as `load`."""
    from torpor_container.formats.sklearn import estimators_to_trees  # an instance makes none itself
    from torpor_container.formats.xgboost import flat_conversion

    try:
        native = opened(path, conventions)
    except older_versions.OldModel as old:
        return flat_conversion.converted(older_versions.read(path, conventions, str(old)))
    booster = _booster(native)
    return estimators_to_trees.converted(native) if booster is None else flat_conversion.converted(booster)


def from_trees(file: Any, mapped: Mapped, path: Path, conventions: Conventions) -> ServableModel:
    """Serve what was pickled from its flat trees: those of estimators alone have wide nodes. Raises UnsoundTrees, and
    LoadFailed if pickles are not allowed."""
    check_allowed(path, conventions)
    serve = flat_estimators.serve if is_wide(file) else flat_serving.serve
    return serve(file, mapped, conventions)


def _booster(native: Any) -> Member | None:
    if is_xgboost_estimator(native):
        return Member(native.get_booster(), native.missing, pickled=True)
    return Member(native, pickled=True) if is_xgboost_booster(native) else None


def opened(path: Path, conventions: Conventions) -> Any:
    """Unpickle the object. Raises LoadFailed, also if pickles are not allowed; LoadOutOfMemory; and OldModel for a
    booster that this XGBoost does not read."""
    return _opened(path, conventions, lambda: _unpickle(path))


def _opened(path: Path, conventions: Conventions, unpickle: Callable[[], Any]) -> Any:
    check_allowed(path, conventions)
    reach(Step.WHOLE)
    try:
        return unpickle()
    except MemoryError as error:
        raise LoadOutOfMemory(f"out of memory while loading {path.name}") from error
    except Exception as error:  # unpickling runs foreign code, which may raise anything
        if inherits(error, "xgboost", "XGBoostError") or _misses_xgboost(error):
            raise older_versions.OldModel.pickled(path, error) from error
        if packed := _packed_otherwise(path):
            raise LoadFailed(f"{path.name} is {packed} that holds no pickle: pack what it holds itself") from error
        raise LoadFailed(f"{path.name} cannot be unpickled: {_why(error)}") from error


def _packed_otherwise(path: Path) -> str | None:
    """What the file is, if it is compressed and what it holds is no pickle."""
    with path.open("rb") as file:
        packed = packed_as(file.read(HEAD_BYTES))
    return None if packed is None or pickled_class(path) is not None else packed


def _why(error: Exception) -> str:
    """The error, and what to do where the code that the object needs is not here."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, part = error.name.partition(".")
        if part and package in packages_distributions():
            return (
                f"{said}: another version of {package} wrote it; pickle the model anew with the one that is installed"
            )
        return f"{said}: install it beside Torpor, or pack code/inference.py and a code/requirements.txt that lists it"
    if isinstance(error, AttributeError) and (name := _lacked_by_main(error)):
        return (
            f"it needs {name} of the program that wrote it (__main__): move {name} to a module, import it from there, "
            "pickle the model anew, and pack the module as code/ with an inference.py"
        )
    return said


def _lacked_by_main(error: AttributeError) -> str:
    """What a pickle looks for in the program that runs; empty if it looks elsewhere."""
    main, said = sys.modules["__main__"], str(error)
    if error.obj is main:
        return error.name or ""
    lacks = LACKED.match(said)
    return lacks[1] if lacks and said.endswith(f" on {main!r}") else ""


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
    if (booster := _booster(native)) is not None:
        return boosters.serve_members([booster], conventions)
    if not callable(getattr(native, "predict", None)):
        raise LoadFailed(f"an object of type {type(native).__name__} has no predict method")
    return estimators.serve(native, conventions)


def _unpickle(path: Path) -> Any:
    """The object in a pickle of joblib or of pickle itself."""
    with path.open("rb") as file:
        if file.peek(1)[:1] == PICKLED:
            with mmap(file.fileno(), 0, access=ACCESS_READ) as whole:
                if whole.find(JOBLIB_ARRAYS) < 0:
                    return _unpickle_plain(whole)
                from torpor_container.formats.sklearn import joblib_dumps

                if joblib_dumps.is_read(whole):
                    return joblib_dumps.load(file)
    import joblib

    return joblib.load(path)


def _unpickle_content(content: bytes) -> Any:
    """The object in the bytes of such a file."""
    if content[:1] == PICKLED:
        if content.find(JOBLIB_ARRAYS) < 0:
            return _unpickle_plain(content)
        from torpor_container.formats.sklearn import joblib_dumps

        if joblib_dumps.is_read(content):
            return joblib_dumps.load(io.BytesIO(content))
    import joblib

    return joblib.load(io.BytesIO(content))


def _unpickle_plain(content: bytes | mmap) -> Any:
    """The object in a file in which nothing is joblib's. From memory, Python reads each instruction as it stands, which
    is what `formats/sound` proves. From a file, it leaves out the begin of an instruction that a frame cuts."""
    try:
        return pickle.loads(content)
    except UnicodeDecodeError:  # a text of Python 2, or an array
        return pickle.loads(content, encoding="latin1")
