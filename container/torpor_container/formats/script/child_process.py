"""The instance's side of a script's process: sends it one request at a time, and survives whatever it does."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import NoReturn, Protocol, TypeVar

from torpor_container import errors
from torpor_container.errors import (
    KILLED_EXITS,
    BadInput,
    ContainerError,
    LoadFailed,
    LoadOutOfMemory,
    ModelDied,
    NotCalled,
    TimedOut,
)
from torpor_container.formats.script import socket_frames
from torpor_container.formats.script.answer_stream import ScriptStream
from torpor_container.formats.script.socket_frames import BadFrame, FrameKind, ScriptFrame
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.isolation.script_watch import HID, MADE_TOO_MANY, WROTE_TOO_MUCH
from torpor_container.measuring.effort import Effort
from torpor_container.waiting.quiet_timeout import patiently
from torpor_container.wire import CUSTOM_ATTRIBUTES, FORWARDED, SESSION_ANSWERS, TARGET_MODEL, TRACE_CONTEXT

T = TypeVar("T")

BROKEN_OFF = (OSError, MemoryError, asyncio.CancelledError)
"""What may end the wait for a frame before it has come whole. Time that is up is an OSError."""

RAISED: dict[str, type[ContainerError]] = {
    raised.__name__: raised
    for raised in (
        errors.BadInput,
        errors.NotAcceptable,
        errors.UnsupportedContentType,
        errors.PredictionFailed,
        errors.OutOfMemory,
        errors.LoadFailed,
        errors.UnknownFormat,
        errors.AmbiguousArtifact,
        errors.LoadOutOfMemory,
    )
}
"""Errors that a script's process may report: a message is enough to make them again on this side."""

HEADERS = {"content_type": "Content-Type", "accept": "Accept", "custom_attributes": CUSTOM_ATTRIBUTES}
"""The headers from which a frame's fields come, for messages."""

HEADER_MAX_BYTES = 16 * 1024
"""The most bytes of each header in a frame: together they fit into its head, and into that of an answer."""

FURTHER = (*FORWARDED, TARGET_MODEL, *TRACE_CONTEXT)
OTHERS = {name.lower().encode(): name for name in FURTHER if name not in HEADERS.values()}
"""Further headers that reach a script, in AWS's spelling, by their names in lower case."""

OTHERS_MAX_BYTES = 8 * 1024
"""The most bytes of these together. Usual ones are far smaller: an id has 64 characters, a target 1024."""

RETURNED = {name.lower(): name.lower().encode() for name in SESSION_ANSWERS}
"""The further headers that a script may answer with."""

GRACE_S = 1.0

EXITS = {
    WROTE_TOO_MUCH: "it wrote more to the disk than TORPOR_SCRIPT_DISK_MIB allows",
    HID: "it ran a program that its guardian cannot read: let the program's owner read it",
    MADE_TOO_MANY: "it made more files than TORPOR_SCRIPT_FILES allows",
}
"""What exit codes of the guardian say."""


class ChildProcess(Protocol):
    """A handle on the script's process."""

    @property
    def pid(self) -> int: ...

    @property
    def imports_s(self) -> float:
        """The seconds that its start waited for the imports of the process that it was forked from."""

    def kill(self) -> None:
        """End it now. Does nothing once it has ended."""

    async def wait(self) -> int:
        """The exit code, negative for a signal."""


class ScriptProcess:
    """One script in one process. Call `loaded` first, once; then `invoke`, which serves requests in order."""

    def __init__(self, connection: socket.socket, child: ChildProcess) -> None:
        self.pid = child.pid
        self.imports_s = child.imports_s
        self._connection = connection
        self._child = child
        self._turn = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._ended = ""  # why the instance ended it

    async def loaded(self, timeout_s: float) -> Effort:
        """Wait until the script has loaded. Its effort, without the wall time. Raises LoadFailed, LoadOutOfMemory, or
        TimeoutError, after which the process is ended."""
        self._connection.setblocking(False)
        self._streams = await asyncio.open_unix_connection(sock=self._connection)
        self._watch = asyncio.create_task(self._end_stream_with_process())
        try:
            async with patiently(timeout_s):
                frame = await self._receive(FrameKind.LOADED, FrameKind.FAILED)
            effort = socket_frames.effort_of(frame) if frame.kind is FrameKind.LOADED else None
        except (asyncio.IncompleteReadError, ConnectionError):
            await self._raise_load_failure()
        except BadFrame as bad:
            self._end(f"it sent {bad}")
            await self._raise_load_failure()
        except BROKEN_OFF:
            self._end("it did not load in time")
            raise
        if effort is None:
            raise _raised(frame)
        return effort

    async def invoke(self, invocation: Invocation) -> Reply:
        """Answer one request, after those before it.

        Raises BadInput for headers that cannot be sent, what the script's process reports, ModelDied, or NotCalled if
        the process had ended before. If the caller is cancelled while the script works, the process is ended: there
        is no other way to stop it, and the next caller would get its late answer.
        """
        request = _request(invocation)
        async with self._turn:
            if not self.alive:
                raise NotCalled(None if self._ended else await self._exit_code(), self._ended)
            try:
                outcome = _outcome(await self._exchange(request))
            except (asyncio.IncompleteReadError, ConnectionError):
                raise ModelDied(await self._exit_code(), self._ended) from None
            except BadFrame as bad:
                await self._raise_for(bad)
            except BROKEN_OFF:  # a late answer would reach the next caller
                self._end("it did not answer in time")
                raise
        if isinstance(outcome, ContainerError):
            raise outcome
        return outcome

    @asynccontextmanager
    async def stream(
        self, invocation: Invocation, timeout_s: float, worked: Callable[[Effort], None] = lambda effort: None
    ) -> AsyncIterator[StreamReply]:
        """Answer one request in parts. The first is there when the block begins; the rest is not made when it ends.
        `worked` is called then with what an answer in parts took, if the script has told that.

        Raises as `invoke`, and TimedOut where the turn, the first part or the next part takes longer than `timeout_s`.
        The parts of the answer raise that too. A script that does not end its stream within GRACE_S is ended.
        """
        request = _request(invocation)
        async with AsyncExitStack() as turn:
            await self._within(timeout_s, turn.enter_async_context(self._turn))
            if not self.alive:
                raise NotCalled(None if self._ended else await self._exit_code(), self._ended)
            stream = ScriptStream(*self._open_streams())
            turn.callback(_tell_effort, stream, worked)
            turn.push_async_callback(self._end_of, stream)
            stream.send(request)
            try:
                reply = await self._first_of(stream, timeout_s)
            except BadFrame as bad:
                await self._raise_for(bad)
            yield reply

    async def _first_of(self, stream: ScriptStream, timeout_s: float) -> StreamReply:
        first, *others = await self._next(stream, timeout_s)
        if first.kind is FrameKind.HEAD:
            reply = _reply(first, socket_frames.status_of(first) or 200)
            return StreamReply(reply, self._parts(stream, others, timeout_s))
        outcome = _outcome(first)
        if isinstance(outcome, ContainerError):
            raise outcome
        return in_one_part(outcome)

    async def _parts(
        self, stream: ScriptStream, come: Sequence[ScriptFrame], timeout_s: float
    ) -> AsyncIterator[Sequence[bytes]]:
        while True:
            parts = [frame.body for frame in come if frame.kind is FrameKind.PART]
            if parts:
                yield parts
                stream.took(len(parts))
            if stream.ended:
                break
            come = await self._next(stream, timeout_s)
        if come[-1].kind is FrameKind.ERROR:
            try:
                failure = _error(come[-1])
            except BadFrame as bad:
                await self._raise_for(bad)
            raise failure

    async def _next(self, stream: ScriptStream, timeout_s: float) -> Sequence[ScriptFrame]:
        """At least one frame. Raises ModelDied, TimedOut."""
        try:
            return await self._within(timeout_s, stream.read())
        except (asyncio.IncompleteReadError, ConnectionError):
            raise ModelDied(await self._exit_code(), self._ended) from None
        except BadFrame as bad:
            await self._raise_for(bad)

    async def _raise_for(self, bad: BadFrame) -> NoReturn:
        """End a process that does not speak the protocol. Raises ModelDied."""
        self._end(f"it sent {bad}")
        raise ModelDied(await self._exit_code(), self._ended) from None

    async def _end_of(self, stream: ScriptStream) -> None:
        """Stop a stream that has not ended. A late part would reach the next caller: a script that goes on is ended."""
        if stream.ended or not self.alive:
            return
        try:
            await stream.stop(GRACE_S)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        except (BadFrame, *BROKEN_OFF) as error:
            self._end("its caller had left, and it did not end its answer")
            if isinstance(error, asyncio.CancelledError):
                raise

    def _open_streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert self._streams is not None
        return self._streams

    async def _within(self, timeout_s: float, work: Awaitable[T]) -> T:
        """Raises TimedOut."""
        try:
            async with asyncio.timeout(timeout_s):
                return await work
        except TimeoutError:
            raise TimedOut(timeout_s) from None

    @property
    def alive(self) -> bool:
        """False once its process has ended, closed the socket, or is to be ended."""
        if self._ended or self._streams is None or self._watch is None:
            return False
        return not self._watch.done() and not self._streams[0].at_eof()

    async def close(self) -> None:
        """Unload the script: the end of the socket ends its loop; a moment later the process is killed."""
        self._ended = self._ended or "it was unloaded"
        if self._streams is None:
            self._connection.close()
        else:
            self._streams[1].transport.abort()
        await self._exit_code()
        if self._watch is not None:
            await self._watch

    async def _exchange(self, request: bytes) -> ScriptFrame:
        assert self._streams is not None
        writer = self._streams[1]
        writer.write(request)
        await writer.drain()
        return await self._receive(FrameKind.REPLY, FrameKind.ERROR)

    async def _receive(self, *kinds: FrameKind) -> ScriptFrame:
        """The next frame. Raises BadFrame, also for one of another kind."""
        assert self._streams is not None
        reader = self._streams[0]
        head_bytes, body_bytes = socket_frames.sizes(await reader.readexactly(socket_frames.PREFIX.size))
        head = await reader.readexactly(head_bytes)
        frame = socket_frames.decode(head, await reader.readexactly(body_bytes))
        if frame.kind not in kinds:
            raise BadFrame(f"a frame {frame.kind} where none belongs")
        return frame

    async def _end_stream_with_process(self) -> None:
        """End the stream when the script's process ends: a process that the script started may hold the socket open.

        What was sent before is still read.
        """
        await self._child.wait()
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)

    async def _exit_code(self) -> int | None:
        """The exit code of a process that has ended or is about to; None if the instance ended it."""
        try:
            async with patiently(GRACE_S):
                code = await self._child.wait()
        except TimeoutError:
            self._end("it stopped answering")
            code = await self._child.wait()
        self._ended = self._ended or EXITS.get(code, "")
        return None if self._ended else code

    async def _raise_load_failure(self) -> NoReturn:
        code = await self._exit_code()
        if code in KILLED_EXITS:
            raise LoadOutOfMemory(f"the script's process was killed while it loaded: exit code {code}")
        raise LoadFailed(f"the script's process ended while it loaded: {self._ended or f'exit code {code}'}")

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        self._child.kill()


def _tell_effort(stream: ScriptStream, worked: Callable[[Effort], None]) -> None:
    if stream.effort is not None:
        worked(stream.effort)


def _request(invocation: Invocation) -> bytes:
    """Raises BadInput."""
    fields: dict[str, str] = {name: getattr(invocation, name) for name in HEADERS}
    for name, value in fields.items():
        _check_header(HEADERS[name], value)
    if others := _others(invocation):
        fields[socket_frames.HEADERS] = json.dumps(others)
        if len(fields[socket_frames.HEADERS]) > OTHERS_MAX_BYTES:
            raise BadInput(f"{', '.join(others)} are over {OTHERS_MAX_BYTES} bytes together: make them shorter")
    if invocation.streamed:
        fields[socket_frames.STREAM] = "parts"
    if invocation.asks_parameters:
        fields[socket_frames.PARAMETERS] = "advised"
    if len(invocation.body) > socket_frames.BODY_MAX:
        raise BadInput(
            f"the body has {len(invocation.body)} bytes, and a script is sent {socket_frames.BODY_MAX} at most"
        )
    return socket_frames.encode(ScriptFrame(FrameKind.INVOKE, fields, invocation.body))


def _others(invocation: Invocation) -> dict[str, str]:
    return {OTHERS[name]: value.decode("utf-8", "replace") for name, value in invocation.headers if name in OTHERS}


def _check_header(name: str, value: str) -> None:
    size_bytes = len(json.dumps(value))
    if size_bytes > HEADER_MAX_BYTES:
        raise BadInput(
            f"{name} takes {size_bytes} bytes as JSON, and a script is sent {HEADER_MAX_BYTES} at most: make it shorter"
        )


def _outcome(frame: ScriptFrame) -> Reply | ContainerError:
    """Raises BadFrame."""
    status = socket_frames.status_of(frame)
    if frame.kind is FrameKind.REPLY:
        return _reply(frame, status or 200)
    return _error(frame)


def _error(frame: ScriptFrame) -> ContainerError:
    """Raises BadFrame."""
    error = _raised(frame)
    error.status = socket_frames.status_of(frame) or error.status
    return error


def _reply(frame: ScriptFrame, status: int) -> Reply:
    """Raises BadFrame."""
    if "content_type" not in frame.fields:
        raise BadFrame("an answer without its content type")
    content_type = _sendable(frame.fields["content_type"])
    attributes = frame.fields.get("custom_attributes")
    if attributes is not None:
        attributes = _sendable(attributes)
    effort = socket_frames.effort_of(frame) if frame.kind is FrameKind.REPLY else None
    return Reply(frame.body, content_type, status, attributes, effort, _returned(frame))


def _returned(frame: ScriptFrame) -> tuple[tuple[bytes, bytes], ...]:
    """The session headers of an answer. Raises BadFrame."""
    try:
        headers: dict[str, object] = dict(json.loads(frame.fields.get(socket_frames.HEADERS, "{}")))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame("an answer with unreadable headers") from error
    return tuple((RETURNED[name], _sendable(value).encode()) for name, value in headers.items() if name in RETURNED)


def _sendable(value: object) -> str:
    """The value of a header. Raises BadFrame."""
    if not (isinstance(value, str) and value.isascii() and value.isprintable()):
        raise BadFrame("an answer with a header that cannot be sent")
    return value


def _raised(frame: ScriptFrame) -> ContainerError:
    kind = RAISED.get(frame.fields.get("type", ""), errors.PredictionFailed)
    return kind(frame.body.decode("utf-8", "replace"))
