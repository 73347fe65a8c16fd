"""Reads a model of a known format into this process, and says by how much the process has grown."""

import os
from pathlib import Path
from typing import NamedTuple

from torpor_container.errors import ContainerError, LoadFailed, NoMemoryNow, machine_faults
from torpor_container.formats import Conventions, Format, ServableModel
from torpor_container.formats.probing import seconds_of_a_row
from torpor_container.formats.sound.one_reading import Contents
from torpor_container.formats.xgboost.boosters import XGBOOST
from torpor_container.frozen_class import frozen
from torpor_container.mapped.mapped_folder import MappedFile
from torpor_container.mapped.mapped_forms import MappableFile
from torpor_container.measuring.effort import CLOCKS, Effort
from torpor_container.measuring.memory_gauge import MemoryGauge
from torpor_container.models.loader import Placed
from torpor_container.models.quarantine import Version
from torpor_container.processes.import_steps import Step
from torpor_container.processes.memory import no_memory

MAPPED_SIZE = " mapped"
"""Ends the names of model and format under which the size of a mapped form is known."""


@frozen
class Recognised:
    """A model on disk before its load: its format, its file, its bytes on disk, what must be imported before, the
    version that was tried, and the bytes that are predicted in memory."""

    placed: Placed
    format: Format
    path: Path
    disk_bytes: int
    step: Step
    tried: Version | None
    mapped: bool = False
    """Whether to load its mapped form, if it is still there."""
    refused: str = ""
    """Why it can have no mapped form; empty if that is not known."""
    is_hot: bool = False
    """Whether it is called so often that its framework's own form serves it."""
    predicted_bytes: int = 0

    @property
    def file(self) -> MappableFile:
        assert self.tried is not None, "a script has no other form"
        return MappableFile(self.format, self.path, self.tried.key, self.disk_bytes)

    @property
    def needs(self) -> tuple[Step, tuple[str, ...]]:
        """What must be imported before the load: a mapped form may need no framework."""
        alone = self.mapped and self.file.form.alone
        return (Step.BARE, ()) if alone else (self.step, self.format.frameworks)

    @property
    def sized_as(self) -> tuple[str, str]:
        """The names of model and format under which its size in memory is known: each form has a size of its own."""
        ending = MAPPED_SIZE if self.mapped else ""
        return self.placed.model_id + ending, self.format.name + ending


class ReadModel(NamedTuple):
    """A model in this process: the bytes by which the process has grown meanwhile, if that was measured; what its load
    took; and the processor seconds of a row, if one was predicted, else 0."""

    model: ServableModel
    grown_bytes: int
    effort: Effort
    predicted_s: float


def read_and_measure(
    found: Recognised, held: MappedFile | None, conventions: Conventions, gauge: MemoryGauge | None
) -> ReadModel:
    """`gauge` measures the growth. A row is predicted where no trial has done so, since none was needed. Raises as
    `read`."""
    effort = CLOCKS.start()
    proved = found.tried.proved if found.tried is not None else None
    contents = proved.take() if proved is not None else None  # held until it is known by how much the process has grown
    grown = gauge.grown(found.format.by_malloc) if gauge is not None else int
    model = read(found, held, contents, conventions)
    grown_bytes, took = grown(), effort()
    untried = held is None and proved is not None
    return ReadModel(model, grown_bytes, took, _row_s(found, model) if untried else 0.0)


def _row_s(found: Recognised, model: ServableModel) -> float:
    try:
        return seconds_of_a_row(model)
    except MemoryError as error:
        raise NoMemoryNow(f"out of memory while {found.path.name} predicted a row") from error


def read(
    found: Recognised, held: MappedFile | None, contents: Contents | None, conventions: Conventions
) -> ServableModel:
    """`held` is the mapped form to serve; None for the framework's own. `contents` are those that were proved, if they
    were held. Raises LoadFailed, NoMemoryNow."""
    try:
        with machine_faults():
            if held is None:
                model = _of_framework(found, contents, conventions)
            else:
                model = found.file.form.open(found.path, held.mapped, conventions)
        if conventions.inference_output and model.format != XGBOOST:
            raise LoadFailed(
                f"SAGEMAKER_INFERENCE_OUTPUT is set, which selects the output of XGBoost models, and {found.path.name} "
                f"is a {model.format} model: unset it"
            )
        return model
    except LoadFailed as error:
        if error.__cause__ is not None and no_memory(error.__cause__):
            raise NoMemoryNow(f"out of memory while loading {found.path.name}") from error
        raise
    except ContainerError:
        raise
    except MemoryError as error:
        raise NoMemoryNow(f"out of memory while loading {found.path.name}") from error
    except BaseException as error:  # a pickle runs foreign code as it loads, which may raise anything, even SystemExit
        raise LoadFailed(f"{found.path.name} failed to load: {type(error).__name__}: {error}") from error


def _of_framework(found: Recognised, contents: Contents | None, conventions: Conventions) -> ServableModel:
    """What was tried is read from its file; what was proved is loaded from the very bytes that were."""
    proof = found.format.proof
    if proof is None or found.tried is None or found.tried.proved is None:
        return found.format.load(found.path, conventions)
    if contents is None and (contents := proof.prove(found.path)) is None:
        raise LoadFailed(f"{found.path.name} was changed while it waited for its load: send the request again")
    return proof.load(contents, found.path, conventions)


def folder_bytes(directory: str | Path) -> int:
    """The bytes of all files in a folder and below it."""
    size_bytes = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_file():
                size_bytes += entry.stat().st_size
            elif entry.is_dir(follow_symlinks=False):
                size_bytes += folder_bytes(entry.path)
    return size_bytes
