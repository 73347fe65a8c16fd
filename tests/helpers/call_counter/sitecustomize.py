"""Counts the calls of a process's main thread between two signals: Python imports this module at its start, from the
PYTHONPATH that `call_windows` gives. `CALLS_COUNTED` names a file that gets a line for each signal: `begun`, or the
number of all calls and of those of Python's functions. `CALLS_LISTED` names one that gets a line for each call.
"""

import os
import signal
import sys
from types import CodeType, FrameType
from typing import Any

COUNTED = os.environ.get("CALLS_COUNTED", "")
LISTED = os.environ.get("CALLS_LISTED", "")
calls: list[Any] | None = None


def tell(path: str, line: str) -> None:
    with open(path, "a") as file:
        file.write(f"{line}\n")


def name_of(called: Any) -> str:
    if isinstance(called, CodeType):
        return f"{called.co_filename}:{called.co_firstlineno} {called.co_qualname}"
    return f"    {called.__qualname__}"


def toggle(number: int, frame: FrameType | None) -> None:
    global calls
    if calls is None:
        tell(COUNTED, "begun")
        calls = seen = []

        def profile(frame: FrameType, event: str, argument: Any) -> None:
            if event == "call":
                seen.append(frame.f_code)
            elif event == "c_call":
                seen.append(argument)

        sys.setprofile(profile)
    else:
        sys.setprofile(None)
        found, calls = calls, None
        if LISTED:
            tell(LISTED, "\n".join([*map(name_of, found), ""]))
        tell(COUNTED, f"{len(found)} {sum(isinstance(one, CodeType) for one in found)}")


if COUNTED:
    signal.signal(signal.SIGRTMIN, toggle)
