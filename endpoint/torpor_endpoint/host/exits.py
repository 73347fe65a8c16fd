"""Says how the process of an instance ended, and what it said last."""

import os
from pathlib import Path

TAIL_BYTES = 4096
LAST_LINES = 2
"""The last line of a foreign container, and the line that says that it ended."""
SHOWN_MAX = 600


def exit_reason(code: int) -> str:
    """In words. The exit code is negative for a signal."""
    if code == 0:
        return "it ended"
    return f"its process was ended by signal {-code}" if code < 0 else f"its process ended with exit code {code}"


def last_output(path: Path) -> str:
    """The end of the file of an output, to add to a message; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f"; its last output: {' / '.join(lines[-LAST_LINES:])[:SHOWN_MAX]}" if lines else ""
