"""What a format is: how its files are recognised, how one is loaded, and what it will roughly weigh."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from torpor_container.content import TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL, Answers
from torpor_container.invocation import Invocation, Reply
from torpor_container.settings import DEFAULTS


class ServableModel(Protocol):
    """A loaded model. `invoke` may be called from several threads at once; it raises the container's errors.

    A call is answered once: its body may be gone afterwards.
    """

    format: str
    rowwise: bool
    """Whether a row's answer is the same alone and among others, to the bit."""
    foreign: bool
    """Whether code runs in it that is not its framework's: quick for one row, it may hang with the next."""

    def invoke(self, invocation: Invocation) -> Reply: ...

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        """One prediction for all, if the model is `rowwise`. Each has its own reply, or what `invoke` raises."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Conventions:
    """Which habits of SageMaker's containers an instance follows. One for all its models."""

    multi_model: bool = True
    """SageMaker's XGBoost container answers otherwise on a multi-model endpoint than on any other."""
    default_accept: str = DEFAULTS.default_accept
    """SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT: the answer's type where the caller names none."""
    image: str = DEFAULTS.image
    """Which of AWS's images the container stands for: `xgboost`, `scikit-learn`, or empty for Torpor's own."""
    strict: bool = DEFAULTS.strict
    """Whether AWS's image is followed also where it answers what was hardly meant (`--aws-strict`)."""
    ensemble: bool = DEFAULTS.ensemble
    """SAGEMAKER_INFERENCE_ENSEMBLE: whether several boosters answer together; else the first one answers alone."""
    inference_output: str = DEFAULTS.inference_output
    """SAGEMAKER_INFERENCE_OUTPUT: what each prediction tells, by keys between commas. Empty: the prediction."""
    memory_bytes: int = DEFAULTS.memory_bytes
    """What a process may take that reads a model on the instance's behalf."""
    older_xgboost: str = ""
    """The folder of the older XGBoost that reads old models; empty for the one that `make setup` fills."""

    pickles: bool = DEFAULTS.pickles
    """TORPOR_PICKLES: whether model files are loaded that run code as they load."""

    @property
    def toolkit(self) -> Answers:
        """What the inference toolkit and the scikit-learn container do."""
        return TOOLKIT.preferring(self.default_accept)

    @property
    def xgboost(self) -> Answers:
        return (XGBOOST_MULTI_MODEL if self.multi_model else XGBOOST).preferring(self.default_accept)


@dataclass(frozen=True)
class Format:
    """One row of the table of formats."""

    name: str
    files: Callable[[Path], list[Path]]
    """The files in a directory that it can load. It reads names and first bytes, and loads nothing."""
    load: Callable[[Path, Conventions], ServableModel]
    """Raises LoadFailed or LoadOutOfMemory. Frameworks are imported here, and not before."""
    bytes_per_artifact_byte: float
    fixed_bytes: int
    """What a model is taken to weigh in memory until the first was measured; the built-in numbers are measured too."""
    frameworks: tuple[str, ...] = ()
    """Modules that `load` imports, done before a load is measured: they are the instance's, not a model's."""
    by_malloc: bool = False
    """Whether all that a model takes in memory is asked of malloc, as by a framework in C++."""

    def recognise(self, directory: Path) -> Path | None:
        """The first file here that it can load."""
        return next(iter(self.files(directory)), None)


def named(*patterns: str, holding: bytes = b"") -> Callable[[Path], list[Path]]:
    """Recognises files at the top of a directory by name, and by what their first bytes hold."""

    def files(directory: Path) -> list[Path]:
        fitting = [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if _fits(name)]
        return [Path(path) for path in fitting if os.path.isfile(path) and (not holding or holding in _head(path))]

    def _fits(name: str) -> bool:
        return not name.startswith(".") and any(fnmatchcase(name.lower(), pattern) for pattern in patterns)

    return files


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(512)
