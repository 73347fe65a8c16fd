"""The worker processes of one script: which of them answers a request."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final

from cachetools import LRUCache

from torpor_container.errors import NotCalled
from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation, Reply
from torpor_container.wire import CLOSED_SESSION_ID, NEW_SESSION_ID, SESSION_ID

SESSIONS_MAX: Final = 16_384
"""Of more sessions, those that were used longest ago are forgotten, as the endpoint forgets them."""
RETIRED: Final = "another of its workers ended, and all are started again"
SESSION, BEGAN, ENDED = (name.lower().encode() for name in (SESSION_ID, NEW_SESSION_ID, CLOSED_SESSION_ID))


class ScriptWorkers:
    """A request of a session goes to the worker that began it, which has its state. Any other goes to the first of
    those with the fewest requests."""

    def __init__(self, processes: Sequence[ScriptProcess]) -> None:
        self.processes = processes
        self._requests = [0] * len(processes)  # that each has now
        self._answering = [asyncio.Lock() for _ in processes]
        self._in_line = [asyncio.Lock() for _ in processes]
        self._retired = False
        self._sessions: LRUCache[bytes, int] = LRUCache(SESSIONS_MAX)  # the worker's number, by the session's id

    def line(self, invocation: Invocation) -> AbstractAsyncContextManager[None]:
        """Where a request of a session waits for those before it that only its worker can answer. One that waits there
        needs no turn: another worker may answer others meanwhile."""
        number = self._holder(invocation)
        return nullcontext() if number is None else self._in_line[number]

    @asynccontextmanager
    async def taken(self, invocation: Invocation) -> AsyncIterator[int]:
        """The number of the worker that gets the request, once that has answered what it had before. Raises NotCalled
        once the workers are retired."""
        number = self._holder(invocation)
        if number is None:
            number = min(range(len(self.processes)), key=self._requests.__getitem__)
        self._requests[number] += 1
        try:
            async with self._answering[number]:
                if self._retired:
                    raise NotCalled(None, RETIRED)
                yield number
        finally:
            self._requests[number] -= 1

    async def retire(self) -> None:
        """Give no worker another request. Returns once those that live have answered what they have."""
        self._retired = True
        for process, answering in zip(self.processes, self._answering, strict=True):
            if process.alive:
                async with answering:
                    pass

    def answered(self, number: int, reply: Reply) -> None:
        """Note the sessions that an answer has begun or ended."""
        for name, value in reply.more:
            session = value.partition(b";")[0].strip()
            if name == BEGAN:
                self._sessions[session] = number
            elif name == ENDED:
                self._sessions.pop(session, None)

    def _holder(self, invocation: Invocation) -> int | None:
        if not self._sessions:
            return None
        session = next((value for name, value in invocation.headers if name == SESSION), None)
        return None if session is None else self._sessions.get(session)
