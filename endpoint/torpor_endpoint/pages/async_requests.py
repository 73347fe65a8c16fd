"""Answers the pages of asynchronous requests, `/_torpor/async` and `/_torpor/async-cancel`, as JSON."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from torpor_endpoint.core.async_inference.requests import AsyncState, KeptRequest
from torpor_endpoint.core.pages.async_requests import (
    LIMIT,
    LIMIT_MAX,
    RUNNING,
    STATES,
    AsyncRequestRow,
    requests_page,
    row,
)
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue

RUNNING_MAX = 1_000


class RunningRequests(Protocol):
    """What is known of requests beside their records. `AsyncDispatcher` knows it."""

    def running(self, endpoint: str | None) -> list[int]:
        """The numbers of the requests that run, of one endpoint or of all."""

    async def cancel(self, number: int) -> bool:
        """Cancel a request that waits. False if it does not."""


@dataclass(frozen=True)
class AsyncPages:
    """The two pages. The endpoint knows each request for a day after its end."""

    queue: AsyncQueue
    running: RunningRequests

    async def requests(self, request: Request) -> Response:
        """The latest requests, the newest first (`?endpoint=…&id=…&state=…&limit=…`). `id` is an InferenceId."""
        return JSONResponse(requests_page(await self._found(request)))

    async def cancel(self, request: Request) -> Response:
        """Cancel the requests of an InferenceId that wait (`?id=…`); each is listed as it is afterwards."""
        id = request.query_params.get("id", "")
        waiting = [one.number for one in await self._of(id) if one.state is AsyncState.QUEUED]
        numbers = {number for number in waiting if await self.running.cancel(number)}
        return JSONResponse(requests_page(self._rows([one for one in await self._of(id) if one.number in numbers])))

    async def _found(self, request: Request) -> list[AsyncRequestRow]:
        """Raises HTTPException for a parameter that makes no sense."""
        endpoint, id = request.query_params.get("endpoint"), request.query_params.get("id")
        state, limit = request.query_params.get("state"), request.query_params.get("limit", str(LIMIT))
        if state is not None and state not in STATES:
            raise HTTPException(400, f"state is one of {', '.join(STATES)}, not {state!r}")
        if not limit.isdecimal():
            raise HTTPException(400, f"limit is a number, not {limit!r}")
        if id is not None:
            found = [one for one in await self._of(id) if endpoint in (None, one.request.endpoint)]
        elif state == RUNNING:
            found = await asyncio.to_thread(self.queue.several, self.running.running(endpoint)[:RUNNING_MAX])
        else:
            kept, running = None if state is None else AsyncState(state), len(self.running.running(endpoint))
            most = min(int(limit), LIMIT_MAX) + (running if state == AsyncState.QUEUED else 0)
            found = await asyncio.to_thread(self.queue.latest, endpoint, kept, most)
        return [one for one in self._rows(found) if state in (None, one.state)][: min(int(limit), LIMIT_MAX)]

    async def _of(self, id: str) -> list[KeptRequest]:
        """The requests of an InferenceId. Raises HTTPException 404 if there is none."""
        found = await asyncio.to_thread(self.queue.find, id)
        if not found:
            raise HTTPException(404, f"no asynchronous request of the last day has the InferenceId {id!r}")
        return found

    def _rows(self, found: list[KeptRequest]) -> list[AsyncRequestRow]:
        running = set(self.running.running(None))
        return [row(kept, kept.number in running) for kept in found]
