"""The life of an application by ASGI: it hears of its start and its end, and says when it is done with either."""

import asyncio
import logging
from typing import Any

from starlette.types import ASGIApp, Message


class ApplicationNotStarted(Exception):
    """The application cannot serve."""


class ApplicationLife:
    """One application's. `state` is what it keeps for its requests."""

    def __init__(self, app: ASGIApp, state: dict[str, Any], log: logging.Logger) -> None:
        self._app = app
        self._scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.4"}, "state": state}
        self._log = log
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._said: asyncio.Queue[Message] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises ApplicationNotStarted."""
        self._running = asyncio.create_task(self._run())
        said = await self._answer_to("startup")
        if said["type"] != "lifespan.startup.complete":
            raise ApplicationNotStarted(said.get("message", ""))

    async def end(self) -> None:
        """Returns once the application has shut down, or has failed to."""
        if self._running is None or self._running.done():
            return
        said = await self._answer_to("shutdown")
        if said["type"] != "lifespan.shutdown.complete":
            self._log.error("the application did not shut down: %s", said.get("message", ""))
        self._running.cancel()

    async def _answer_to(self, moment: str) -> Message:
        await self._told.put({"type": f"lifespan.{moment}"})
        return await self._said.get()

    async def _run(self) -> None:
        why = "it returned too early"
        try:
            await self._app(self._scope, self._told.get, self._said.put)
        except Exception as error:  # noqa: BLE001  the outer edge of an application: whoever waits for it is told
            why = str(error)
            self._log.debug("the application's life has ended: %s", error)
        await self._said.put({"type": "lifespan.failed", "message": why})
