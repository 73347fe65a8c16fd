"""The seam between keeping models and serving them: a loader turns an unpacked folder into a loaded runner.

There are two: the built-in one loads known formats and user scripts itself (`built_in`); the other drives a foreign
container over the MME contract (`adapter`). Who may load, and who must leave, is the keeper's affair.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from torpor_container.measuring.effort import Effort
from torpor_container.running.runners import Runner


@dataclass(frozen=True)
class Placed:
    """An unpacked artifact: the name that requests give it, the id of this version of it, and its folder.

    `record` is where the verdict on this version is kept; None where no version can be told from another.
    """

    name: str
    model_id: str
    directory: Path
    record: Path | None = None


@dataclass(frozen=True)
class Loaded:
    runner: Runner
    size_bytes: int
    took_s: float = 0.0
    effort: Effort | None = None  # where it can be told from others'
    note: str = ""  # what is to be known of how it was loaded


class Settled(NamedTuple):
    """Freed memory is given back."""

    used_bytes: int  # what the instance really uses then, other processes included
    effort: Effort | None = None  # where it can be told from others'


@dataclass(frozen=True)
class Found:
    """A model before its load: what it is expected to take in memory, and how to load it.

    `load` raises LoadFailed, LoadOutOfMemory, or NoMemoryNow if it may help that another model leaves.
    """

    predicted_bytes: int
    load: Callable[[], Awaitable[Loaded]]


class ModelLoader(Protocol):
    """Where folders become runners."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def unready(self) -> str | None:
        """Why nothing can be served now; None if it can."""

    async def recognise(self, placed: Placed) -> Found:
        """Look at a folder. Raises UnknownFormat."""

    async def unload(self, runner: Runner) -> Effort | None:
        """Let a model go. What that took, where it can be told from others'."""

    async def settle(self) -> Settled:
        """Give freed memory back to the system."""

    async def used_bytes(self) -> int:
        """What the instance really uses, other processes included."""

    async def cpu_s(self) -> float:
        """Processor seconds that it has used since it started, other processes included."""
