"""The process of a script: loads it, reports that, and serves one request after another until the socket ends."""

import json
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torpor_container.errors import (
    ContainerError,
    LoadFailed,
    LoadOutOfMemory,
    OutOfMemory,
    PredictionFailed,
    text_of,
)
from torpor_container.formats.format import Conventions
from torpor_container.formats.script import paths, socket_frames, toolkits
from torpor_container.formats.script.functions import account_of, failure_of
from torpor_container.formats.script.model import ScriptModel
from torpor_container.formats.script.part_sender import PartSender, RequestFrames, Streamed
from torpor_container.formats.script.socket_frames import BadFrame, FrameKind, ScriptFrame
from torpor_container.invocation import Invocation, Reply
from torpor_container.isolation import walls
from torpor_container.isolation.box import ScriptBox, enter
from torpor_container.measuring.effort import EffortClocks, descriptor, process_s
from torpor_container.processes.namespaces import NoNamespace
from torpor_container.typed_json import read

EnteredBox = Callable[[Path], Path]
Hint = Callable[[BaseException], str]
EnterBox = Callable[[Mapping[str, str | None]], EnteredBox]

CLOCKS = EffortClocks(work=process_s)
"""Clocks of the whole process, all its threads and children included, since only the script runs in it."""


def start(arguments: dict[str, Any], descriptors: Sequence[int]) -> int:
    """Entry point of a fresh process: `directory`, `script`, and optionally `memory_bytes`, `conventions`, `root` and
    `packages`: where the script's modules are, and the folder of packages that were installed for it.

    `environment` is the script's whole environment, if given; the second and third descriptor are its output. It runs
    in the model's folder, as Multi Model Server's workers do: relative paths lead there, and files that it writes there
    are removed with the model.
    """
    connection, *others = descriptors
    guardian = others.pop() if "box" in arguments else None
    _print_to(others)
    if "environment" in arguments:
        _see_only(arguments["environment"])
    if arguments.get("packages"):
        sys.path.insert(0, arguments["packages"])
    main(
        socket.socket(fileno=connection),
        arguments["directory"],
        arguments["script"],
        conventions=read(Conventions, arguments.get("conventions", {})),
        memory_bytes=arguments.get("memory_bytes"),
        root=arguments.get("root"),
        enter_box=partial(_enter, arguments["box"], guardian, connection) if guardian is not None else None,
    )
    return 0


def _enter(box: Mapping[str, Any], guardian: int, connection: int, shown: Mapping[str, str | None]) -> EnteredBox:
    given = read(ScriptBox, box)
    view = enter(given, socket.socket(fileno=guardian), [connection, descriptor()], shown)
    return lambda path: path if view.model == given.model else Path(view.at(os.path.realpath(path), given.model))


def main(
    connection: socket.socket,
    directory: str,
    program: str,
    conventions: Conventions,
    memory_bytes: int | None = None,
    root: str | None = None,
    enter_box: EnterBox | None = None,
) -> None:
    """Serve the script `program`, a path or a name within `directory`. A script that exits ends the process.

    `enter_box` takes from the process what the script does not need. It is given the paths that the script needs beside
    its model's folder, and tells where a path of the machine is in the box.
    """
    connection.set_inheritable(False)  # the script's own processes must not hold it open
    if memory_bytes is not None:
        limit_memory(memory_bytes)
    toolkits.offer()
    with connection:
        requests = RequestFrames(connection)
        hints = [] if enter_box is None else [walls.met]
        model = _load(connection, Path(directory), program, conventions, root, enter_box)
        while model is not None and (request := requests.read()) is not None:
            if request.kind is FrameKind.INVOKE:  # and not a frame for a stream that has ended
                sender = PartSender(connection, requests, time.monotonic)
                connection.sendall(_encoded(answer(model, request, sender, *hints)))


def answer(model: ScriptModel, request: ScriptFrame, sender: PartSender, hint: Hint = lambda error: "") -> ScriptFrame:
    """Answer one request: the last frame of the answer, after the parts of a stream, which `sender` sends.

    An exception of the script is the answer, in the form of the inference toolkit, with what `hint` says of it. One
    that is no Exception is too, such as a panic of a library in Rust; only SystemExit ends the process.
    """
    effort = CLOCKS.start()
    try:
        reply = model.invoke(_invocation(request))
        if isinstance(reply, Streamed):
            sender.send(reply, ScriptFrame(FrameKind.HEAD, _fields(reply.head)))
            return socket_frames.with_effort(ScriptFrame(FrameKind.END), effort())
        return socket_frames.with_effort(ScriptFrame(FrameKind.REPLY, _fields(reply), reply.body), effort())
    except ContainerError as error:
        return _error(FrameKind.ERROR, error, hint(error))
    except MemoryError as error:
        return _error(FrameKind.ERROR, OutOfMemory(_with_text("the script ran out of memory", error)))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  the outermost edge of foreign code, which may raise anything
        return _error(FrameKind.ERROR, failure_of(error), hint(error))


def _fields(reply: Reply) -> dict[str, str]:
    fields = {"content_type": reply.content_type, socket_frames.STATUS: str(reply.status)}
    if reply.custom_attributes is not None:
        fields["custom_attributes"] = reply.custom_attributes
    if reply.more:
        fields[socket_frames.HEADERS] = json.dumps({name.decode(): value.decode() for name, value in reply.more})
    return fields


def _invocation(request: ScriptFrame) -> Invocation:
    others: dict[str, str] = json.loads(request.fields.pop(socket_frames.HEADERS, "{}"))
    streamed = request.fields.pop(socket_frames.STREAM, None)
    parameters = request.fields.pop(socket_frames.PARAMETERS, None)
    invocation = Invocation(request.body, **request.fields)
    invocation.streamed = streamed is not None
    invocation.asks_parameters = parameters is not None
    invocation.headers = [(name.encode(), value.encode()) for name, value in others.items()]
    return invocation


def _encoded(answer: ScriptFrame) -> bytes:
    """The bytes of an answer. One that is too large to send becomes a failure, and the script goes on."""
    try:
        return socket_frames.encode(answer)
    except BadFrame as large:
        return socket_frames.encode(
            _error(FrameKind.ERROR, PredictionFailed(f"the script's answer cannot be sent: {large}"))
        )


def _print_to(output: Sequence[int]) -> None:
    """Use these as standard output and error. Each line is written at once: none is lost if the script is killed."""
    for given, taken in zip(output, (1, 2), strict=False):
        os.dup2(given, taken)
        os.close(given)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # the stream that Python made


def _see_only(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def limit_memory(extra_bytes: int) -> None:
    """Limit this process to `extra_bytes` more than it has. Beyond that, the script gets MemoryError.

    The limit is on writable private memory (RLIMIT_DATA), not on addresses, of which libraries reserve far more.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + extra_bytes, hard))


def _data_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmData:"))
    return int(kib) * 1024


def _load(
    connection: socket.socket,
    directory: Path,
    program: str,
    conventions: Conventions,
    root: str | None,
    enter_box: EnterBox | None,
) -> ScriptModel | None:
    hint = ""
    try:
        os.chdir(directory)
        script = directory / program
        at = _shown(script, directory) if enter_box is None else _entered(script, directory, enter_box)
        model = ScriptModel.load(at(script), at(directory), conventions, at(Path(root)) if root else None)
    except ContainerError as error:
        failure: ContainerError = error
    except MemoryError as error:
        failure = LoadOutOfMemory(_with_text("the script ran out of memory while loading", error))
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  the outermost edge of foreign code, which may raise anything
        failure = LoadFailed(account_of(error))
        hint = "" if enter_box is None else walls.met(error)
    else:
        connection.sendall(
            socket_frames.encode(socket_frames.with_effort(ScriptFrame(FrameKind.LOADED), CLOCKS.so_far()))
        )
        return model
    connection.sendall(socket_frames.encode(_error(FrameKind.FAILED, failure, hint)))
    return None


def _with_text(said: str, error: BaseException) -> str:
    """What was said, with the error's own text where it has one."""
    return f"{said}: {text}" if (text := text_of(error)) else said


def _shown(script: Path, directory: Path) -> EnteredBox:
    paths.show(script, directory)
    return lambda path: path


def _entered(script: Path, directory: Path, enter_box: EnterBox) -> EnteredBox:
    found = paths.mentions(script)
    try:
        return enter_box(paths.wanted(found, script, directory))
    except NoNamespace as error:
        raise paths.failed(found, error) from error


def _error(kind: FrameKind, error: ContainerError, hint: str = "") -> ScriptFrame:
    """The frame of an error, with a hint after the first line of its text."""
    fields = {"type": type(error).__name__, socket_frames.STATUS: str(error.status)}
    first, *others = str(error).split("\n")
    text = "\n".join([first, *([hint] if hint else []), *others])
    return ScriptFrame(kind, fields, text.encode(errors="backslashreplace"))
