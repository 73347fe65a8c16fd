"""Counts the Python calls of a process's main thread between two signals: Python imports this module at its start, from
the PYTHONPATH that the test gives. `CALLS_COUNTED` names a file that gets a line for each signal: `begun`, or a count.
"""

import os
import signal
import sys
from types import FrameType

COUNTED = os.environ.get("CALLS_COUNTED", "")
calls: list[int] | None = None


def tell(line: object) -> None:
    with open(COUNTED, "a") as file:
        file.write(f"{line}\n")


def toggle(number: int, frame: FrameType | None) -> None:
    global calls
    if calls is None:
        tell("begun")
        calls = counted = [0]

        def profile(frame: FrameType, event: str, argument: object) -> None:
            if event == "call":
                counted[0] += 1

        sys.setprofile(profile)
    else:
        sys.setprofile(None)
        found, calls = calls[0], None
        tell(found)


if COUNTED:
    signal.signal(signal.SIGRTMIN, toggle)
