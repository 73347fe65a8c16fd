"""The process that is a Ray driver: `python -m torpor_endpoint.host.ray.driver ADDRESS DEPLOYMENT`.

It takes commands from its standard input and tells news on its standard output (`messages`). What Ray itself prints
goes to standard error. It ends when its standard input does, once the instances that it was told to end have ended.
"""

import json
import os
import queue
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, NoReturn

from torpor_endpoint.host.ray import actor
from torpor_endpoint.host.ray.actors import ActorTable
from torpor_endpoint.host.ray.driver_messages import News

REFRESH_S = 1.0
ANSWERED_WITHIN_S = 5.0
LAST_S = 20.0
"""How long the driver goes on without an endpoint, to end what it was told to end."""


class EventLoop:
    """The events of the driver's one thread."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def soon(self, event: Callable[[], None]) -> None:
        """Call it on the driver's thread. Any thread may ask for it."""
        self._events.put(event)

    def after(self, pause_s: float, event: Callable[[], None]) -> None:
        """Call it after a pause."""
        heappush(self._timers, (time.monotonic() + pause_s, next(self._numbers), event))

    def answered(self, future: Any, event: Callable[[Any], None]) -> None:
        """Call it with the future once that is done."""
        future.add_done_callback(lambda done: self.soon(partial(event, done)))

    def run(self) -> NoReturn:
        """Run for ever."""
        while True:
            patience_s = max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None
            try:
                self._events.get(timeout=patience_s)()
            except queue.Empty:
                heappop(self._timers)[2]()


class RayDriver:
    """Carries out the endpoint's commands. `engine` is a `RayEngine`."""

    def __init__(self, engine: Any, deployment: str, loop: EventLoop, say: Callable[[Mapping[str, Any]], None]) -> None:
        self._engine = engine
        self._deployment = deployment
        self._loop = loop
        self._say = say
        self._table = ActorTable(engine, loop, self._news)
        self._commands: dict[str, Callable[[Mapping[str, Any], Callable[[str], None]], None]] = {
            "watch": lambda command, done: self._table.watch(done),
            "launch": lambda command, done: self._table.launch(command["order"], done),
            "terminate": lambda command, done: self._table.terminate(command["slot"], command["grace_s"], done),
            "vacate": lambda command, done: self._on_nodes(actor.vacate, done, command["endpoint"], command["variant"]),
            "sweep": lambda command, done: self._on_nodes(actor.sweep, done, command["kept"]),
        }

    def command(self, line: bytes) -> None:
        """Carry out one command, and reply once that is done."""
        command = json.loads(line)
        self._commands[command["do"]](command, lambda error: self._say({"reply": command["id"], "error": error}))

    def refresh(self) -> None:
        """Tell again and again that this process goes on, and why instances wait."""
        self._say({"beat": True})
        self._table.refresh()
        self._loop.after(REFRESH_S, self.refresh)

    def leave(self, until_s: float) -> None:
        """End, as soon as no instance is being ended."""
        if not self._table.busy or time.monotonic() > until_s:
            os._exit(0)
        self._loop.after(0.05, partial(self.leave, until_s))

    def _on_nodes(self, function: Callable[..., None], done: Callable[[str], None], *arguments: Any) -> None:
        """Nodes do so when they can: nobody waits for them, and a disk that stays is removed at the next start."""
        for future in self._engine.on_all_nodes(function, self._deployment, *arguments):
            future.add_done_callback(lambda done: done.exception())
        done("")

    def _news(self, news: News) -> None:
        self._say({"news": news})


def main() -> None:
    """Connect to Ray, say so, and serve. A cluster that cannot be used ends it: its last line says why."""
    said, address, deployment = _own_stdout(), sys.argv[1], sys.argv[2]
    commands = sys.stdin.buffer
    from torpor_endpoint.host.ray.engine import RayEngine

    def say(message: Mapping[str, Any]) -> None:
        with suppress(OSError):  # the endpoint is gone
            said.write(json.dumps(message, separators=(",", ":")) + "\n")
            said.flush()

    try:
        if fault := unanswered(address, os.environ):
            raise ConnectionError(fault)
        engine = RayEngine(address, deployment)
    except Exception as error:  # noqa: BLE001 - outer edge: whatever keeps Ray from being used is told
        say({"fault": f"{type(error).__name__}: {error}"})
        os._exit(1)
    loop = EventLoop()
    driver = RayDriver(engine, deployment, loop, say)

    def read() -> None:
        for line in commands:
            loop.soon(partial(driver.command, line))
        loop.soon(lambda: driver.leave(time.monotonic() + LAST_S))

    say({"hello": engine.about()})
    threading.Thread(target=read, daemon=True).start()
    driver.refresh()
    try:
        loop.run()
    except Exception:  # noqa: BLE001 - outer edge: the endpoint starts another driver
        traceback.print_exc()
        os._exit(1)


def unanswered(address: str, environment: Mapping[str, str]) -> str | None:
    """What is wrong with an address where nothing listens: Ray would wait for it for minutes. None if something does,
    or if only Ray knows the address."""
    named = address if address != "auto" else environment.get("RAY_ADDRESS", "")
    host, _, port = named.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return None
    try:
        with socket.create_connection((host.strip("[]"), int(port)), ANSWERED_WITHIN_S):
            return None
    except (OSError, OverflowError) as error:
        return f"Failed to connect to {host}:{port}: {error}"


def _own_stdout() -> Any:
    """The pipe to the endpoint, which nobody else in this process may write to from now on."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return said


if __name__ == "__main__":
    main()
