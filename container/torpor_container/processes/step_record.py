"""Keeps on an instance's disk the step that its models needed, so that the next instance there begins with it."""

import os
from contextlib import suppress
from pathlib import Path

from torpor_container.processes.import_steps import Step

NAME = "import-step"


def recorded(disk: Path) -> Step | None:
    """The step; None if no model was loaded from this disk, or if the record cannot be read."""
    try:
        return Step[(disk / NAME).read_text()]
    except (OSError, ValueError, KeyError):
        return None


class StepRecord:
    """The record of an instance, on its disk: the highest step that its own models needed. Until one is loaded, that of
    the last instance stands."""

    def __init__(self, disk: Path) -> None:
        self._disk = disk
        self._written = recorded(disk)
        self._needed: Step | None = None

    def needed(self, step: Step) -> None:
        """A model has needed this step. Without a disk that takes the record, the next instance learns it again."""
        if self._needed is not None and self._needed >= step:
            return
        self._needed = step
        if self._written is step:
            return
        self._written = step
        with suppress(OSError):
            new = self._disk / f".{NAME}"
            new.write_text(step.name)
            os.replace(new, self._disk / NAME)
