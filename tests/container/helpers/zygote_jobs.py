"""The functions that children of a tested zygote run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, Any]


def tell(arguments: Arguments, descriptors: list[int]) -> int:
    """Writes its input to its output and to a descriptor."""
    print(os.environ["COLOUR"], os.environ.get("OMP_NUM_THREADS"), flush=True)
    os.write(descriptors[0], str(arguments["word"]).encode())
    return 0


def tell_of_aws(arguments: Arguments, descriptors: list[int]) -> int:
    """Writes the names of AWS's variables that it sees."""
    os.write(descriptors[0], " ".join(sorted(name for name in os.environ if name.startswith("AWS_"))).encode())
    return 0


def tell_what_it_was_started_with(arguments: Arguments, descriptors: list[int]) -> int:
    """Writes the environment that the system has for this process, which never became another program."""
    with open("/proc/self/environ") as told:
        print(told.read().replace("\0", "\n"), flush=True)
    return 0


def processors(arguments: Arguments, descriptors: list[int]) -> int:
    """Writes the processors that it may run on, as a process that it starts sees them."""
    code = "import os; print(','.join(map(str, sorted(os.sched_getaffinity(0)))))"
    return subprocess.run([sys.executable, "-c", code], check=True).returncode


def leave(arguments: Arguments, descriptors: list[int]) -> int:
    """Ends in one of the ways in which a process ends."""
    how = arguments["how"]
    if how == "raise":
        raise RuntimeError("as told")
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exit":
        raise SystemExit(7)
    if how == "mute":
        sys.stdout.close()
        return 5
    return int(how)


def linger(arguments: Arguments, descriptors: list[int]) -> int:
    """Starts a process, and one that leaves its group; writes their process ids, and stays alive."""
    started = [subprocess.Popen(["sleep", "600"], start_new_session=away) for away in (False, True)]
    os.write(descriptors[0], " ".join(str(child.pid) for child in started).encode())
    time.sleep(600)
    return 0
