"""Counts the calls of a process between two signals: those of its main thread, or of all if `CALLS_OF_THREADS` is set.

Python imports this module at its start, from the PYTHONPATH that `call_windows` gives. `CALLS_COUNTED` names a file
that gets a line for each signal: `begun`, or the number of all calls and of those of Python's functions. `CALLS_LISTED`
names one that gets a line for each call.
"""

import os
import signal
import sys
import threading
from types import CodeType, FrameType
from typing import Any

COUNTED = os.environ.get("CALLS_COUNTED", "")
LISTED = os.environ.get("CALLS_LISTED", "")
OF_THREADS = os.environ.get("CALLS_OF_THREADS", "")
calls: list[Any] | None = None


def tell(path: str, line: str) -> None:
    with open(path, "a") as file:
        file.write(f"{line}\n")


def name_of(called: Any) -> str:
    if isinstance(called, CodeType):
        return f"{called.co_filename}:{called.co_firstlineno} {called.co_qualname}"
    return f"    {called.__qualname__}"


def profile(frame: FrameType, event: str, argument: Any) -> None:
    if (seen := calls) is None:
        return
    if event == "call":
        seen.append(frame.f_code)
    elif event == "c_call":
        seen.append(argument)


def toggle(number: int, frame: FrameType | None) -> None:
    global calls
    if calls is None:
        tell(COUNTED, "begun")
        calls = []
        sys.setprofile(profile)
    else:
        sys.setprofile(None)
        found, calls = calls, None
        if LISTED:
            tell(LISTED, "\n".join([*map(name_of, found), ""]))
        tell(COUNTED, f"{len(found)} {sum(isinstance(one, CodeType) for one in found)}")


if OF_THREADS:
    threading.setprofile(profile)
if COUNTED:
    signal.signal(signal.SIGRTMIN, toggle)
