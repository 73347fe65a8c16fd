"""The steps in which a process imports the libraries of models: each has what the steps before it have.

`import xgboost` draws in scikit-learn where that is installed, which takes three times as long as XGBoost itself. So
XGBoost is imported without it first. Its estimators, which have scikit-learn's interface, are then not the real ones,
which pickles, pipelines and scripts need: `reach` puts that right once a process goes on to the last step.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module, reload
from threading import Lock


class Step(IntEnum):
    """What a process has imported."""

    BARE = 0
    """numpy, and this container."""
    BOOSTERS = 1
    """XGBoost, without scikit-learn."""
    WHOLE = 2
    """scikit-learn, and XGBoost with its interface."""


SCIKIT_LEARN = ("sklearn.ensemble", "sklearn.linear_model", "sklearn.pipeline")
WITH_ITS_INTERFACE = ("xgboost.compat", "xgboost.sklearn", "xgboost.training", "xgboost.plotting", "xgboost")
"""The modules of XGBoost that differ where scikit-learn is installed, in the order of their imports."""


class _Process:
    """How far this process has come. The lock is held while a module is hidden, which another thread would not find."""

    def __init__(self) -> None:
        self.step = Step.BARE
        self.importing = Lock()


_PROCESS = _Process()


def reached() -> Step:
    """The step that this process is at."""
    return _PROCESS.step


def reach(step: Step) -> None:
    """Import what this process lacks of the step. A step counts once all its modules are whole."""
    if _PROCESS.step >= step:
        return
    with _PROCESS.importing:
        if _PROCESS.step < step:
            if step is Step.WHOLE:
                _import_whole()
            else:
                _import_boosters()
            _PROCESS.step = step


def _import_boosters() -> None:
    with _hidden("sklearn"):
        import_module("xgboost")


def _import_whole() -> None:
    """scikit-learn draws in pandas, and pandas decides now, once and for all, whether there is pyarrow: without it,
    nothing unpickles a frame with text of pandas 3."""
    for name in (*SCIKIT_LEARN, "xgboost"):
        import_module(name)
    if _lacks_interface():
        for name in WITH_ITS_INTERFACE:
            reload(sys.modules[name])


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    """Nothing finds these modules meanwhile, unless they are imported already."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's own way to forbid an import
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _lacks_interface() -> bool:
    """Whether XGBoost, which is imported, was imported without scikit-learn."""
    return not sys.modules["xgboost.compat"].SKLEARN_INSTALLED
