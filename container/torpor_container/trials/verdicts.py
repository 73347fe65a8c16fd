"""Keeps the verdict on a version of an artifact in a small file beside its unpacked folder.

The verdict is removed together with the folder; a newer version has a folder of its own. A file that cannot be
read, or is torn, says nothing: the version is tried again.
"""

import json
import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from torpor_container.core.trials import Verdict

NAME = "trial.json"


def read(file: Path) -> Verdict | None:
    try:
        told = json.loads(file.read_bytes())
        return Verdict(str(told["reason"]), str(told["software"]), int(told["limit_bytes"]), int(told["deaths"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def write(file: Path, verdict: Verdict) -> None:
    """Whole or not at all. Where the folder is gone, or nothing can be written, the version is tried again."""
    with suppress(OSError):
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps(asdict(verdict)))
        new.replace(file)
