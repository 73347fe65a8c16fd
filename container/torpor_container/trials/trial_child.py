"""The process of trials: under limits, loads one model after the other, checks it, predicts once, and reports.

It reads lines of JSON from a socket and answers each with lines of JSON. A model may end it: that is its purpose.
"""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from torpor_container.errors import ContainerError, LoadFailed, LoadOutOfMemory
from torpor_container.formats import Conventions, available
from torpor_container.formats.probing import probe
from torpor_container.formats.xgboost import boosters
from torpor_container.formats.xgboost.soundness import prove_booster
from torpor_container.isolation.abilities import found
from torpor_container.isolation.box import enter_for_reading
from torpor_container.processes import process_tree
from torpor_container.processes.import_steps import Step, reach, reached
from torpor_container.processes.memory import end_before_others, give_back, limit_data, no_memory
from torpor_container.typed_json import read

DESCRIPTORS_MAX = 256
FIRST = 1000
"""When memory runs out, the kernel ends this process before any other."""
STACKS_BYTES = 32 * 1024 * 1024
"""Room for the stacks of threads that a model starts: the limit counts them, though they take hardly any memory."""
LARGE_BYTES = 1024 * 1024
READY, LOADED = {"ready": True}, {"loaded": True}
AFTERWORK_NICE = 10
"""Requests come before work for which none of them waits."""
REQUEST_BYTES, DESCRIPTORS_GIVEN_MAX = 256 * 1024, 8

Told = Mapping[str, Any]


def start(arguments: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    """Entry point of a fresh process. `descriptors[0]` is the socket; the next two are its output."""
    connection, *output = descriptors
    for given, taken in zip(output, (1, 2), strict=False):
        os.dup2(given, taken)
        os.close(given)
    os.environ.clear()
    os.environ.update(arguments["environment"])
    os.chdir(arguments["directory"])
    sys.path[:] = arguments["search_path"]  # so that a pickle finds the modules that it finds in the instance
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_descriptors(DESCRIPTORS_MAX)
    end_before_others(FIRST)
    process_tree.name(os.getpid(), process_tree.TRIAL)
    enter_for_reading(found())
    conventions = read(Conventions, arguments["conventions"])
    with socket.socket(fileno=connection) as channel:
        channel.set_inheritable(False)
        send = partial(_send, channel)
        if reached() >= Step.BOOSTERS:
            _warm_up()
        send(READY)
        for request, lent in _requests(channel):
            if request["act"] == "work":
                work(request, lent, send)
            else:
                serve(request, conventions, send)
    return 0


def _requests(channel: socket.socket) -> Iterator[tuple[Mapping[str, Any], list[int]]]:
    """The requests, each with the descriptors that came with it. The next one comes after the answer to the last."""
    line, given = b"", list[int]()
    while True:
        part, descriptors, _, _ = socket.recv_fds(channel, REQUEST_BYTES, DESCRIPTORS_GIVEN_MAX)
        line, given = line + part, given + descriptors
        if not part:
            return
        if line.endswith(b"\n"):
            yield json.loads(line), given
            line, given = b"", []


def _warm_up() -> None:
    """XGBoost's first model takes a fresh process ten times as long as the next: its pages become its own."""
    import numpy as np
    from xgboost import DMatrix, train

    booster = train({"nthread": 1}, DMatrix(np.zeros((2, 1)), np.arange(2.0), nthread=1), 1)
    booster.load_model(booster.save_raw("ubj"))
    prove_booster(booster)
    boosters.serve(booster, Conventions()).close()  # starts boosters' thread, whose stack is no model's


def _send(channel: socket.socket, answer: Told) -> None:
    channel.sendall(json.dumps(answer).encode() + b"\n")


def work(request: Told, descriptors: list[int], send: Callable[[Told], None]) -> None:
    """Do other work after a verdict, and send the result: `end` is "done", or as in `serve`."""
    os.setpriority(os.PRIO_PROCESS, 0, AFTERWORK_NICE)
    limit_cpu(request["limit_s"])
    module, _, function = request["run"].partition(":")
    with ExitStack() as after, _reporting(request["run"], send):
        after.callback(give_back)
        for descriptor in descriptors:
            after.callback(os.close, descriptor)
        reach(Step[request["step"]])
        run = getattr(import_module(module), function)
        limit_data(request["limit_bytes"] + STACKS_BYTES)
        send({"end": "done", "result": run(request["arguments"], descriptors)})


def serve(request: Told, conventions: Conventions, send: Callable[[Told], None]) -> None:
    """Try one model. Tells when it is loaded, and then the result: `end` is "good" with the seconds that a row took,
    "refused" with an error's type and message, or "exceeded". Sends the result before it frees the model."""
    known = next(known for known in available() if known.name == request["format"])
    model = None
    limit_cpu(request["limit_s"])
    with _reporting(Path(request["path"]).name, send):
        reach(Step[request["step"]])  # their memory must not count as the model's
        for framework in known.frameworks:
            import_module(framework)
        limit_data(request["limit_bytes"] + STACKS_BYTES)
        model = known.load(Path(request["path"]), conventions)
        send(LOADED)
        send({"end": "good", "predicted_s": probe(model)})
    if model is not None:
        model.close()
        del model
        if request["disk_bytes"] > LARGE_BYTES:
            give_back()


@contextmanager
def _reporting(name: str, send: Callable[[Told], None]) -> Iterator[None]:
    """Send how the block failed, if it does."""
    try:
        yield
    except BaseException as error:  # noqa: BLE001  the outermost edge of foreign code, which may raise anything
        send(_failure(error, name))


def _failure(error: BaseException, name: str) -> dict[str, str]:
    cause = error.__cause__ or error
    if isinstance(error, LoadOutOfMemory) or no_memory(error) or no_memory(cause):
        return {"end": "exceeded"}
    if isinstance(error, ContainerError):
        return {"end": "refused", "type": type(error).__name__, "message": str(error)}
    message = f"{name} failed to load: {type(error).__name__}: {error}"
    return {"end": "refused", "type": LoadFailed.__name__, "message": message}


def limit_cpu(seconds: float) -> None:
    """Limit this process to `seconds` more processor time: then the kernel ends it with SIGXCPU."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 1, hard))


def limit_descriptors(most: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
