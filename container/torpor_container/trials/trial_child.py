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
from torpor_container.formats.probing import probe
from torpor_container.formats.xgboost import boosters
from torpor_container.formats.xgboost.soundness import prove_booster
from torpor_container.processes import process_tree
from torpor_container.processes.memory import end_before_others, give_back, limit_data, no_memory

DESCRIPTORS_MAX = 256
FIRST = 1000
"""Where the machine has no memory left, the kernel ends this process before any other."""
STACKS_BYTES = 32 * 1024 * 1024
"""Of threads that a model starts: they count for the limit, and hardly take any memory."""
LARGE_BYTES = 1024 * 1024
READY = {"act": "ready"}


def start(arguments: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """Entry point of a fresh process: `descriptors[0]` is the socket, the second takes a byte for each model that has
    been loaded, and the next two are its output."""
    connection, loaded, *output = descriptors
    for given, taken in zip(output, (1, 2), strict=False):
        os.dup2(given, taken)
        os.close(given)
    os.environ.clear()
    os.environ.update(arguments["environment"])
    os.chdir(arguments["directory"])
    sys.path[:] = arguments["search_path"]  # what a pickle names is found as in the instance
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_descriptors(DESCRIPTORS_MAX)
    end_before_others(FIRST)
    process_tree.name(os.getpid(), process_tree.TRIAL)
    conventions = Conventions(**arguments["conventions"])
    with socket.socket(fileno=connection) as line, line.makefile("rb") as requests:
        line.set_inheritable(False)
        tell = partial(_tell, line)
        _warm_up()
        tell(READY)
        for request in requests:
            serve(json.loads(request), conventions, partial(os.write, loaded, b"."), tell)
    return 0


def _warm_up() -> None:
    """XGBoost's first model takes a fresh process ten times as long as the next: its pages become its own."""
    import numpy as np
    from xgboost import DMatrix, train

    booster = train({"nthread": 1}, DMatrix(np.zeros((2, 1)), np.arange(2.0), nthread=1), 1)
    booster.load_model(booster.save_raw("ubj"))
    prove_booster(booster)
    boosters.serve(booster, Conventions()).close()  # it starts the thread that asks boosters, whose stack is no model's


def _tell(line: socket.socket, told: Mapping[str, str]) -> None:
    line.sendall(json.dumps(told).encode() + b"\n")


def serve(
    request: Mapping[str, Any],
    conventions: Conventions,
    loaded: Callable[[], object],
    tell: Callable[[Mapping[str, str]], None],
) -> None:
    """Try one model and tell how that ended: `end` is "good", "refused" with an error's type and message, or
    "exceeded". `loaded` is called in between. The answer goes out before the model is freed."""
    known = next(known for known in available() if known.name == request["format"])
    model = None
    limit_cpu(request["limit_s"])
    try:
        for framework in known.frameworks:  # no model's memory
            import_module(framework)
        limit_data(request["limit_bytes"] + STACKS_BYTES)
        model = known.load(Path(request["path"]), conventions)
        loaded()
        probe(model)
        tell({"end": "good"})
    except BaseException as error:  # noqa: BLE001  the outermost edge of foreign code
        tell(_failure(error, Path(request["path"]).name))
    finally:
        if model is not None:
            model.close()
            del model
            if request["disk_bytes"] > LARGE_BYTES:
                give_back()


def _failure(error: BaseException, name: str) -> dict[str, str]:
    cause = error.__cause__ or error
    if isinstance(error, LoadOutOfMemory) or no_memory(error) or no_memory(cause):
        return {"end": "exceeded"}
    if isinstance(error, ContainerError):
        return {"end": "refused", "type": type(error).__name__, "message": str(error)}
    said = f"{name} failed to load: {type(error).__name__}: {error}"
    return {"end": "refused", "type": LoadFailed.__name__, "message": said}


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
