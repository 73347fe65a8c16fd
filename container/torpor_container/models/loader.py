"""Defines what a model loader does: it turns the folder of an unpacked artifact into a runner that can predict.

There are two. `built_in_loader` loads known formats and user scripts itself; `adapter` drives a foreign container over
SageMaker's multi-model contract. Which models load, and which leave, the keeper decides.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from torpor_container.core.versions.copy_names import model_of
from torpor_container.formats.format import Mapped
from torpor_container.measuring.effort import Effort
from torpor_container.running.runners import Runner

WAITED_MIN_S = 0.001
"""A shorter wait is none: it is the time of calls."""


@dataclass(frozen=True)
class Placed:
    """An unpacked artifact: the name of its copy (`core.versions.copy_names`), the id of its version, and its folder.

    `version` is what its store calls the version; empty where there is no store. `digest` is the SHA-256 of the
    artifact's bytes in the store, in hex; empty where it is not known. `content` is the digest of all files
    of the folder; empty where contents cannot be told apart. `pardoned`: a quarantine of it ends now. `seen` is what
    the loader saw of the folder, if it has looked.
    """

    name: str
    model_id: str
    directory: Path
    version: str = ""
    content: str = ""
    disk_bytes: int | None = None  # of all files; None where nobody counted them
    pardoned: bool = False
    digest: str = ""
    seen: object = None

    @property
    def model(self) -> str:
        """The name that requests use for it."""
        return model_of(self.name)


@dataclass(frozen=True)
class Loaded:
    """A model in memory, and what its load took. `size_bytes` is its private memory, without the file that it maps.

    Before the load it waited for what the machine needs once: `once_s` seconds for this version alone, for its trial or
    a script's packages, and `imports_s` for libraries of all models, which were not imported yet."""

    runner: Runner
    size_bytes: int
    took_s: float = 0.0
    effort: Effort | None = None  # None where other work took part in it
    once_s: float = 0.0
    imports_s: float = 0.0
    note: str = ""  # what a person should know of how it was loaded
    mapped: Mapped | None = None
    next_form: "NextForm | None" = None
    predicted_s: float = 0.0  # the processor time of a row that was predicted as it was loaded; 0 if none was


def having_waited(loaded: Loaded, waited_s: float) -> Loaded:
    """The model, which waited so long for what the machine needs once for it."""
    return loaded if waited_s < WAITED_MIN_S else replace(loaded, once_s=loaded.once_s + waited_s)


def having_imported(loaded: Loaded, waited_s: float) -> Loaded:
    """The model, which waited so long for libraries, beside any other wait for them."""
    return loaded if waited_s < WAITED_MIN_S else replace(loaded, imports_s=max(loaded.imports_s, waited_s))


@dataclass(frozen=True)
class NextForm:
    """Another form of a loaded model, which may serve it later: now, or once it is hot.

    `bytes_more` is what it takes beyond the form that serves now. `load` makes the runner go over to it, and returns
    what it takes; None if the runner stays as it is.
    """

    once_hot: bool
    bytes_more: int
    load: Callable[[], Awaitable[Loaded | None]]


class Settled(NamedTuple):
    """What is used once freed memory is returned to the system."""

    used_bytes: int  # of the whole instance, other processes included
    effort: Effort | None = None  # None where other work took part in it


@dataclass(frozen=True)
class Found:
    """A model before its load: the bytes that it is expected to take in memory, and how to load it.

    `load` raises LoadFailed, LoadOutOfMemory, or NoMemoryNow if a retry may succeed once another model has left.
    """

    predicted_bytes: int
    load: Callable[[], Awaitable[Loaded]]


class ModelLoader(Protocol):
    """Turns folders into runners."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def unready(self) -> str | None:
        """Why no model can be served now; None if models can be served."""

    async def recognise(self, placed: Placed) -> Found:
        """Find out which format a folder has. Raises UnknownFormat."""

    async def unload(self, runner: Runner) -> Effort | None:
        """Unload a model. The effort of that; None where other work took part in it."""

    async def settle(self) -> Settled:
        """Return freed memory to the system."""

    async def used_bytes(self) -> int:
        """The memory that the instance uses, other processes included, as measured."""

    async def cpu_s(self) -> float:
        """The processor seconds that the instance has used since it started, other processes included."""
