"""One process of trials as its instance sees it: what it is asked, how long it may take, and how it ended."""

import asyncio
import json
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from torpor_container.core.trials import MIB, End
from torpor_container.core.work_wait import GaveUp, WorkWait
from torpor_container.errors import LoadFailed
from torpor_container.frozen_class import frozen
from torpor_container.processes.import_steps import Step
from torpor_container.processes.process_tree import resident_bytes
from torpor_container.processes.zygote_access import ZygoteAccess
from torpor_container.processes.zygote_client import Child, Job
from torpor_container.waiting.process_work import looked_at

START = "torpor_container.trials.trial_child:start"
OUTPUT = (1, 2)
WATCH_S = 0.1
"""How often a process that has not answered is looked at, in seconds. Most answer earlier, and are never looked at."""
SLACK_BYTES = 64 * 1024 * 1024
"""All pages are watched too, since the limit is on private memory alone. This much is for libraries that it loads."""
LINE_MAX_BYTES = 1024 * 1024

Told = Mapping[str, Any]
"""What the process tells: one JSON object a line."""


@frozen
class Bounds:
    """What one piece of work may take: bytes of memory in addition, and seconds as `WorkWait` counts them."""

    bytes_max: int
    limit_s: float


class Ended(NamedTuple):
    """How a piece of work ended that told no result of its own, and a text that completes "it …".

    `starved`: it took too long, and got little of the processor time that it wanted.
    """

    end: End
    how: str
    starved: bool = False


@dataclass
class Asked:
    """The work that the process does now. It tells that it has loaded a model, if it has, and at last the result."""

    bounds: Bounds
    loaded: Callable[[], None]
    over: "asyncio.Future[Told | Ended]"
    step: str = "while it loaded"
    waiting: WorkWait | None = None  # begins with the first look


class Tester(asyncio.Protocol):
    """One process of trials. It does one thing at a time."""

    def __init__(self, child: Child, line: socket.socket, whole: bool) -> None:
        """`line` is this end of a socket of which the process has the other. `whole`: it began with all libraries."""
        self.trials = 0
        self._whole = whole
        self._child = child
        self._line = line
        self._received = b""
        self._asked: Asked | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._resident_bytes = resident_bytes(child.pid)

    @classmethod
    async def forked(cls, zygote: ZygoteAccess, arguments: Mapping[str, Any], step: Step) -> "Tester":
        """A process that is ready, for work that needs this step. Raises LoadFailed."""
        whole = step is Step.WHOLE
        ours, theirs = socket.socketpair()
        async with AsyncExitStack() as unfinished:
            unfinished.enter_context(ours)
            unfinished.enter_context(theirs)
            try:
                child = await zygote.fork(Job(START, arguments), [theirs.fileno(), *OUTPUT], whole)
            except (OSError, ValueError) as error:
                raise LoadFailed(f"no process could be started to try the model in: {error}") from error
            unfinished.push_async_callback(child.wait)
            unfinished.callback(child.kill)
            theirs.close()
            ours.setblocking(False)
            tester = cls(child, ours, whole or zygote.whole)
            ready = tester._expect(Bounds(0, 0.0))
            await asyncio.get_running_loop().create_unix_connection(lambda: tester, sock=ours)
            unfinished.callback(tester.end)
            if isinstance(await ready, Ended):
                raise LoadFailed("the process to try the model in ended before it began")
            unfinished.pop_all()
        return tester

    def has(self, step: Step) -> bool:
        """Whether it may do work that needs this step: it imports XGBoost itself, but not scikit-learn."""
        return self._whole or step is not Step.WHOLE

    async def ask(
        self,
        request: Told,
        bounds: Bounds,
        loaded: Callable[[], None] = lambda: None,
        descriptors: Sequence[int] = (),
    ) -> Told | Ended:
        """What the process tells at the end of one piece of work, or why it told nothing. `loaded` is called once it
        has loaded a model. It gets copies of the descriptors. Ask again only after a good end."""
        over = self._expect(bounds, loaded)
        self._looking = asyncio.get_running_loop().call_later(WATCH_S, self._look)
        try:
            self._send(request, descriptors)
            return await over
        finally:
            self._looking.cancel()
            self._asked = None

    async def close(self) -> None:
        self.end()
        await self._child.wait()

    def end(self) -> None:
        self._transport.close()
        self._child.kill()

    # -- the line to the process -----------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._received) > LINE_MAX_BYTES:
            self._child.kill()

    def connection_lost(self, error: Exception | None) -> None:
        self._ending = asyncio.create_task(self._end_of_process())

    def _expect(self, bounds: Bounds, loaded: Callable[[], None] = lambda: None) -> "asyncio.Future[Told | Ended]":
        self._asked = Asked(bounds, loaded, asyncio.get_running_loop().create_future())
        return self._asked.over

    def _send(self, request: Told, descriptors: Sequence[int]) -> None:
        """A process that takes no more is ended."""
        line = json.dumps(request).encode() + b"\n"
        with suppress(OSError):
            if len(line) == (
                socket.send_fds(self._line, [line], descriptors) if descriptors else self._line.send(line)
            ):
                return
        self._child.kill()

    def _take(self, line: bytes) -> None:
        asked, told = self._asked, None
        with suppress(ValueError):
            told = json.loads(line)
        if not isinstance(told, dict):
            self._child.kill()
        elif asked is not None and "loaded" in told:
            asked.step = "while it predicted one row"
            asked.loaded()
        elif asked is not None and not asked.over.done():
            asked.over.set_result(_exceeded(asked) if told.get("end") == "exceeded" else told)

    async def _end_of_process(self) -> None:
        code = await self._child.wait()
        if (asked := self._asked) is None or asked.over.done():
            return
        if code == -signal.SIGXCPU:
            asked.over.set_result(_too_long(asked, GaveUp.WORK))
        else:
            asked.over.set_result(Ended(End.DIED, f"ended its process with {_exit_text(code)} {asked.step}"))

    # -- limits ----------------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Watch memory and time until the work is over."""
        if (asked := self._asked) is None or asked.over.done():
            return
        look = looked_at(self._child.pid)
        if resident_bytes(self._child.pid) > self._resident_bytes + asked.bounds.bytes_max + SLACK_BYTES:
            asked.over.set_result(_exceeded(asked))
        elif asked.waiting is not None and (late_for := asked.waiting.gave_up(look)):
            asked.over.set_result(_too_long(asked, late_for))
        else:
            asked.waiting = asked.waiting or WorkWait(asked.bounds.limit_s, look)
            self._looking = asyncio.get_running_loop().call_later(WATCH_S, self._look)


def _exceeded(asked: Asked) -> Ended:
    return Ended(End.EXCEEDED, f"took more than {asked.bounds.bytes_max // MIB} MiB of memory {asked.step}")


def _too_long(asked: Asked, late_for: GaveUp) -> Ended:
    waiting, limit_s = asked.waiting, asked.bounds.limit_s
    within = f"{waiting.wall_s if waiting and late_for is GaveUp.CLOCK else limit_s:g} s"
    within += " of processor time" if late_for is GaveUp.WORK else ""
    starved = waiting is not None and waiting.starved and late_for in (GaveUp.WORK, GaveUp.CLOCK)
    return Ended(End.TOO_LONG, f"did not come to an end within {within} {asked.step}", starved)


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
