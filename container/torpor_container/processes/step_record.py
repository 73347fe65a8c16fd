"""Keeps on an instance's disk the step that its models have needed, so that the next instance there begins with it."""

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
    """The record of one instance, on its disk. It only rises."""

    def __init__(self, disk: Path) -> None:
        self._disk = disk
        self._step = recorded(disk)

    def needed(self, step: Step) -> None:
        """A model has needed this step. Without a disk that takes the record, the next instance learns it again."""
        if self._step is not None and self._step >= step:
            return
        self._step = step
        with suppress(OSError):
            new = self._disk / f".{NAME}"
            new.write_text(step.name)
            os.replace(new, self._disk / NAME)
