"""Defines a format: how to recognise its files, how to load one, and roughly how much memory it will take."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import translate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from torpor_container.content import TOOLKIT, XGBOOST, XGBOOST_MULTI_MODEL, Answers
from torpor_container.formats.sound.one_reading import Contents
from torpor_container.frozen_class import frozen
from torpor_container.invocation import Invocation, Reply
from torpor_container.processes.import_steps import Step
from torpor_container.settings import DEFAULTS

DATA = "data"
SAFE_FILES = "save the model as .json or .ubj (XGBoost), .skops (scikit-learn), .txt (LightGBM) or .onnx"
"""What to do about a model file that runs code."""


class Mapped(NamedTuple):
    """A file that a model maps read-only. All processes of the machine that map it share its pages."""

    path: str
    size_bytes: int


class ServableModel(Protocol):
    """A loaded model. Several threads may call `invoke` at the same time; it raises the container's errors.

    It answers an invocation once, since it may release its body.
    """

    format: str
    rowwise: bool
    """Whether a row has the same answer, to the bit, alone and among others."""
    foreign: bool
    """Whether it runs code that is not its framework's, and may hang with any row."""
    mapped: Mapped | None
    """The file that holds what it predicts with, beside the memory of this process; None if there is none."""

    def invoke(self, invocation: Invocation) -> Reply: ...

    def invoke_together(self, invocations: Sequence[Invocation]) -> list[Reply | Exception]:
        """One prediction for all, if the model is `rowwise`. Each has its own reply, or the error of `invoke`."""

    def give_way(self, other: Any) -> None:
        """Another form of the model, of the same class, answers from now on. It frees what this one holds: a call that
        is in progress predicts with the other one."""

    def close(self) -> None: ...


@frozen
class Conventions:
    """Which behaviour of SageMaker's containers an instance follows, for all its models."""

    multi_model: bool = True
    """Whether there are many models: SageMaker's XGBoost container answers differently on a multi-model endpoint."""
    default_accept: str = DEFAULTS.default_accept
    """SAGEMAKER_DEFAULT_INVOCATIONS_ACCEPT: the answer's type if the caller names none."""
    image: str = DEFAULTS.image
    """Which of AWS's images the container replaces: `xgboost`, `scikit-learn`, or empty for Torpor's own."""
    strict: bool = DEFAULTS.strict
    """Whether to follow AWS's image even where its answer is hardly intended (`--aws-strict`)."""
    ensemble: bool = DEFAULTS.ensemble
    """SAGEMAKER_INFERENCE_ENSEMBLE: whether several boosters answer together; else the first one answers alone."""
    inference_output: str = DEFAULTS.inference_output
    """SAGEMAKER_INFERENCE_OUTPUT: what the answer has for each row, by keys between commas. Empty: the prediction."""
    memory_bytes: int = DEFAULTS.memory_bytes
    """The memory limit of a process that reads a model for the instance."""
    older_xgboost: str = ""
    """The folder of the older XGBoost that reads old models; empty for the one that `make setup` fills."""

    pickles: bool = DEFAULTS.pickles
    """TORPOR_PICKLES: whether to load model files that run code as they load."""

    trust: str = DEFAULTS.trust
    """TORPOR_TRUST: `data` for model files that run no code."""

    def within(self, memory_bytes: int) -> "Conventions":
        """The same with this memory limit."""
        return replace(self, memory_bytes=memory_bytes)

    @property
    def forbids_pickles(self) -> str:
        """The setting that forbids to load a pickle; empty if none does."""
        if self.trust == DATA:
            return "TORPOR_TRUST=data"
        return "" if self.pickles else "TORPOR_PICKLES=refuse"

    @property
    def toolkit(self) -> Answers:
        """Answers as the inference toolkit and the scikit-learn container give them."""
        return TOOLKIT.preferring(self.default_accept)

    @property
    def xgboost(self) -> Answers:
        return (XGBOOST_MULTI_MODEL if self.multi_model else XGBOOST).preferring(self.default_accept)


class NotMapped(Exception):
    """A model has no mapped form, and is served by its framework as it is. The message says why."""


@frozen
class MappedForm:
    """Another form of a format's models, in one file that all instances of the machine map. It is made once for each
    version, after its first load, and used only once it was proved."""

    kind: str
    """Ends the names of its files. Another layout has another one."""
    least_bytes: int
    """A smaller model file is served as it is."""
    prove: str
    """`module:function`, an `Afterwork`. Its arguments are `path`, the model's file, and `file`, the form's, to which
    it may write by its only descriptor. Its result has `note`, how the form was proved, or `refused`, why there is
    none."""
    open: Callable[[Path, Mapped, Conventions], ServableModel]
    """Serves a model from its mapped form. Raises LoadFailed, and anything else that a damaged file may cause."""
    write: Callable[[Path, BinaryIO], object] | None = None
    """Writes the file, where that runs no code but this package's; None if `prove` does. The file has its final name
    already. Raises NotMapped."""
    until_hot: bool = False
    """Whether a model that is called often does better in its framework's own form."""
    alone: bool = False
    """Whether `open` needs none of the format's frameworks."""
    private_bytes: int | None = None
    """The memory that a model takes beside the file; None if it is to be measured."""


@frozen
class ByteProof:
    """How the bytes of a model alone show that its framework loads and walks it without harm: it needs no trial."""

    prove: Callable[[Path], Contents | None]
    """Reads the files of a model once each. Their contents if they show it, else None. Raises OSError."""
    load: Callable[[Contents, Path, Conventions], ServableModel]
    """Loads contents that were proved, and reads no file. The path names the model in errors. Raises as a load."""


@frozen
class Format:
    """One row of the table of formats."""

    name: str
    files: Callable[[Path], list[Path]]
    """Finds the files in a directory that it can load. It reads names and first bytes, and loads nothing."""
    load: Callable[[Path, Conventions], ServableModel]
    """Loads a model, and imports its frameworks. Raises LoadFailed or LoadOutOfMemory."""
    bytes_per_artifact_byte: float
    fixed_bytes: int
    """The memory that a model is expected to take until one is measured. The built-in numbers were measured."""
    frameworks: tuple[str, ...] = ()
    """Modules that `load` imports. They are imported before a load is measured, since they belong to the instance."""
    mapped: MappedForm | None = None
    by_malloc: bool = False
    """Whether all memory of a model comes from malloc, as with a framework in C++."""
    step: Callable[[Path], Step] = lambda path: Step.WHOLE
    """What a process must have imported before it loads this file. The last step has all that a pickle may need."""
    proof: ByteProof | None = None
    """None: each model is tried."""

    def recognise(self, directory: Path) -> Path | None:
        """The first file in the directory that it can load."""
        return next(iter(self.files(directory)), None)


def named(*patterns: str, beginning: bytes = b"") -> Callable[[Path], list[Path]]:
    """Recognises files at the top of a directory by name, and by how they begin."""

    fits = re.compile("|".join(map(translate, patterns))).match

    def files(directory: Path) -> list[Path]:
        names = sorted(name for name in os.listdir(directory) if not name.startswith(".") and fits(name.lower()))
        return [path for path in map(directory.joinpath, names) if _is_file(f"{path}", beginning)]

    return files


def _is_file(path: str, beginning: bytes) -> bool:
    return os.path.isfile(path) and (not beginning or _begins(path, beginning))


def _begins(path: str, beginning: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(beginning)) == beginning
