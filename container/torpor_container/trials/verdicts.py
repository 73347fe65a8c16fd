"""Keeps the verdict on a version of an artifact in a small file beside its unpacked folder.

The verdict is removed together with the folder; a newer version has its own folder. If the file cannot be read, or is
incomplete, the version is tried again.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from torpor_container import typed_json
from torpor_container.core.trials import Verdict

NAME = "trial.json"


def read(file: Path) -> Verdict | None:
    """The verdict; None if there is none that can be read."""
    try:
        return typed_json.read(Verdict, json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return None


def pardon(file: Path) -> None:
    """Remove the verdict of a trial that quarantines the version. One that ended instances stays quarantined."""
    verdict = read(file)
    if verdict is not None and verdict.reason and not verdict.deaths:
        file.unlink(missing_ok=True)


def write(file: Path, verdict: Verdict) -> None:
    """Write the whole verdict or none. Without a folder, or if the write fails, the version is tried again."""
    with suppress(OSError):
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps(typed_json.written(verdict)))
        new.replace(file)
