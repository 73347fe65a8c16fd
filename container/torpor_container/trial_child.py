"""The process of trials: loads models under limits, one after the other, looks them through, predicts once, says how.

It takes lines of JSON from a socket and answers each with one. It may end in any of them: that is what it is for.
"""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from torpor_container.errors import ContainerError, LoadFailed, LoadOutOfMemory
from torpor_container.formats import Conventions, available
from torpor_container.formats.probing import no_memory, probe
from torpor_container.memory import give_back

DESCRIPTORS_MAX = 256
OOM_FIRST = b"1000"
"""Where the machine has no memory left, the kernel ends this process first (proc(5), oom_score_adj)."""
LARGE_BYTES = 1024 * 1024
LOADED = {"act": "loaded"}


def start(arguments: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """Entry point of a fresh process: `descriptors[0]` is the socket, the next two its output."""
    connection, *output = descriptors
    for given, taken in zip(output, (1, 2), strict=False):
        os.dup2(given, taken)
        os.close(given)
    os.environ.clear()
    os.environ.update(arguments["environment"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_descriptors(DESCRIPTORS_MAX)
    end_first()
    conventions = Conventions(**arguments["conventions"])
    with socket.socket(fileno=connection) as line, line.makefile("rb") as requests:
        line.set_inheritable(False)
        tell = partial(_tell, line)
        for request in requests:
            tell(answer(json.loads(request), conventions, partial(tell, LOADED)))
    return 0


def _tell(line: socket.socket, told: Mapping[str, str]) -> None:
    line.sendall(json.dumps(told).encode() + b"\n")


def answer(request: Mapping[str, Any], conventions: Conventions, loaded: Callable[[], None]) -> dict[str, str]:
    """`end` is "good", "refused" with the error's type and message, or "exceeded". `loaded` is called in between."""
    known = next(known for known in available() if known.name == request["format"])
    model = None
    limit_cpu(request["limit_s"])
    try:
        for framework in known.frameworks:  # no model's memory
            import_module(framework)
        limit_memory(request["limit_bytes"])
        model = known.load(Path(request["path"]), conventions)
        loaded()
        probe(model)
    except (MemoryError, LoadOutOfMemory):
        return {"end": "exceeded"}
    except ContainerError as error:
        if no_memory(error) or (error.__cause__ is not None and no_memory(error.__cause__)):
            return {"end": "exceeded"}
        return {"end": "refused", "type": type(error).__name__, "message": str(error)}
    except BaseException as error:  # noqa: BLE001  the outermost edge of foreign code
        if no_memory(error):
            return {"end": "exceeded"}
        said = f"{Path(request['path']).name} failed to load: {type(error).__name__}: {error}"
        return {"end": "refused", "type": LoadFailed.__name__, "message": said}
    finally:
        if model is not None:
            model.close()
            del model
            if request["disk_bytes"] > LARGE_BYTES:
                give_back()
    return {"end": "good"}


def limit_memory(more_bytes: int) -> None:
    """Let this process take so much more writable memory than it has (RLIMIT_DATA: setrlimit(2))."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (data_bytes() + more_bytes, hard))


def limit_cpu(seconds: float) -> None:
    """Let this process take so many more seconds of a processor: then the kernel ends it with SIGXCPU."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def limit_descriptors(most: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))


def end_first(score: bytes = OOM_FIRST) -> None:
    """To raise the score needs no rights."""
    try:
        Path("/proc/self/oom_score_adj").write_bytes(score)
    except OSError:  # not Linux, or /proc is read-only
        print("the order of ends for lack of memory cannot be set", file=sys.stderr)


def data_bytes() -> int:
    """Writable private memory, its stack included: proc(5), statm; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[5]) * resource.getpagesize()
    except OSError:
        return 0
