"""Keeps the driver running beside the endpoint, and carries messages between them.

A driver that ends is started again, later each time while it cannot connect. What asks it meanwhile waits, up to its
time limit.
"""

import asyncio
import json
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.ray.advice import advice
from torpor_endpoint.host.ray.driver_messages import LINE_MAX_BYTES, News

log = logging.getLogger(__name__)

CONNECTED_WITHIN_S = 22.0
"""The start of an endpoint may take 30 seconds. Ray itself retries a cluster that does not answer for minutes."""
SILENT_S = 60.0
"""The driver tells something each second, unless a call to Ray keeps it."""
PAUSES_S = (0.1, 1.0, 2.0, 5.0, 10.0, 30.0)
COMMAND = (sys.executable, "-P", "-m", "torpor_endpoint.host.ray.driver")
TAIL_CHARS = 8192
CLOSE_S = 2.0


class DriverProcess:
    """The driver, whichever runs now. `news` takes what it tells; `began` is called when another one has begun, which
    is ended where that fails. `start` starts a process, as `asyncio.create_subprocess_exec` does."""

    def __init__(
        self,
        address: str,
        deployment: str,
        environment: Mapping[str, str],
        news: Callable[[News], None],
        began: Callable[[], Awaitable[None]],
        start: Callable[..., Awaitable[asyncio.subprocess.Process]] = asyncio.create_subprocess_exec,
    ) -> None:
        self._arguments = (address, deployment)
        self._environment = environment
        self._news = news
        self._began = began
        self._start = start
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._numbers = count()
        self._connected = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._said: deque[str] = deque(maxlen=64)
        self.about: Mapping[str, Any] = {}

    async def open(self) -> None:
        """Start it, and wait until it has connected. Raises HostError, with what to do about it."""
        reading = await self._started()
        self._keeping = asyncio.create_task(self._keep(reading))

    async def ask(self, do: str, within_s: float, **command: Any) -> None:
        """Have it carry out a command. Raises HostError if it cannot, or not in time."""
        try:
            async with asyncio.timeout(within_s):
                while not await self._asked(do, command):
                    pass  # any command may be given twice
        except TimeoutError:
            raise HostError(f"Ray did not {do} it within {within_s:g} s{self._trouble()}") from None

    async def close(self) -> None:
        """Let it go: it ends what it was told to end, and then itself."""
        process, self._process = self._process, None
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), CLOSE_S)

    async def _asked(self, do: str, command: Mapping[str, Any]) -> bool:
        """Give it a command. False if it ended meanwhile. Raises HostError."""
        await self._connected.wait()
        process, number = self._process, next(self._numbers)
        if process is None or process.stdin is None:
            raise HostError("the endpoint stops")
        replied = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            with suppress(ConnectionError, RuntimeError):  # its end fails what waits; uvloop's RuntimeError says so too
                process.stdin.write(json.dumps({"id": number, "do": do, **command}).encode() + b"\n")
                await process.stdin.drain()
            done: bool = await replied
        finally:
            del self._waiting[number]
        return done

    # -- its life ----------------------------------------------------------------------------------------------------
    async def _keep(self, reading: "asyncio.Task[None]") -> None:
        """Start it again whenever it has ended, until cancelled."""
        failures = 0
        while True:
            await reading
            self._lost()
            await asyncio.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            try:
                reading = await self._started()
                await self._began()
                failures = 0
            except Exception as error:  # an outer edge: whoever keeps it must not end before the endpoint
                failures += 1
                self._kill()
                if failures in (1, 4):
                    known = isinstance(error, HostError)
                    log.warning("instances go on, but none is started or stopped: %s", error, exc_info=not known)

    async def _started(self) -> "asyncio.Task[None]":
        """Start it. Returns the task that reads what it tells, until its end. Raises HostError."""
        self._said.clear()
        try:
            process = await self._start(
                *COMMAND,
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is the endpoint's business
                limit=LINE_MAX_BYTES,
                env={**self._environment, "RAY_USAGE_STATS_ENABLED": "0"},
            )
        except OSError as error:
            raise HostError(f"the driver of Ray cannot be started: {error}") from error
        assert process.stdout is not None
        assert process.stderr is not None
        listening = asyncio.create_task(self._listen(process.stderr))
        try:
            async with asyncio.timeout(CONNECTED_WITHIN_S):
                first = json.loads(await process.stdout.readline() or b'{"fault": ""}')
        except (TimeoutError, ValueError):
            first = {"fault": "timed out"}
        except asyncio.CancelledError:
            process.kill()
            raise
        if "hello" not in first:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            await asyncio.gather(listening, return_exceptions=True)
            raise HostError(advice("".join(self._said) + first["fault"]))
        self._process, self.about = process, first["hello"]
        self._connected.set()
        return asyncio.create_task(self._read(process, process.stdout))

    async def _read(self, process: asyncio.subprocess.Process, told: asyncio.StreamReader) -> None:
        try:
            while line := await asyncio.wait_for(told.readline(), SILENT_S):
                self._take(json.loads(line))
        except TimeoutError:
            log.warning("the driver of Ray says nothing any more: starting another one")
        except (ValueError, LookupError, TypeError, OSError):  # a line too long, no JSON, or no news that can be taken
            log.warning("the driver of Ray told what cannot be taken: starting another one", exc_info=True)
        finally:
            if self._process is process:
                self._kill()

    def _kill(self) -> None:
        """End the one that runs. What reads from it ends then."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    def _take(self, message: Mapping[str, Any]) -> None:
        if "news" in message:
            self._news(message["news"])
        if "reply" not in message:
            return
        replied = self._waiting.get(message["reply"])
        if replied is None or replied.done():
            return
        if message["error"]:
            replied.set_exception(HostError(message["error"]))
        else:
            replied.set_result(True)

    def _lost(self) -> None:
        self._connected.clear()
        for replied in self._waiting.values():
            if not replied.done():
                replied.set_result(False)

    async def _listen(self, said: asyncio.StreamReader) -> None:
        """Keep the end of what Ray prints."""
        while text := await said.read(TAIL_CHARS):
            self._said.append(text.decode(errors="replace"))

    def _trouble(self) -> str:
        said = "".join(self._said)[-TAIL_CHARS:]
        return f": {advice(said)}" if said and not self._connected.is_set() else ""
