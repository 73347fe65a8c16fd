"""The worker processes of one script: which of them answers a request."""

from collections.abc import Sequence
from typing import Final

from cachetools import LRUCache

from torpor_container.formats.script.child_process import ScriptProcess
from torpor_container.invocation import Invocation, Reply
from torpor_container.wire import CLOSED_SESSION_ID, NEW_SESSION_ID, SESSION_ID

SESSIONS_MAX: Final = 16_384
"""Of more sessions, those that were used longest ago are forgotten, as the endpoint forgets them."""
SESSION, BEGAN, ENDED = (name.lower().encode() for name in (SESSION_ID, NEW_SESSION_ID, CLOSED_SESSION_ID))


class ScriptWorkers:
    """A request of a session goes to the worker that began it, which has its state. Any other goes to the first of
    those with the fewest requests."""

    def __init__(self, processes: Sequence[ScriptProcess]) -> None:
        self.processes = processes
        self._requests = [0] * len(processes)  # that each has now
        self._sessions: LRUCache[bytes, int] = LRUCache(SESSIONS_MAX)  # the worker's number, by the session's id

    def take(self, invocation: Invocation) -> int:
        """The number of the worker that gets the request."""
        number = self._holder(invocation)
        if number is None:
            number = min(range(len(self.processes)), key=self._requests.__getitem__)
        self._requests[number] += 1
        return number

    def give_back(self, number: int) -> None:
        """The worker has answered one of its requests, or failed."""
        self._requests[number] -= 1

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
