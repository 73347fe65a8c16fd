"""A fake host: its instances are small servers of this process; a test sets their answers to pings and their end."""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Collection
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import cast

from tests.endpoint.helpers.instance_status import MODEL, NOTHING
from torpor_container.transport.frames import UPGRADE, UPGRADED
from torpor_endpoint.host import HostError, Launched, LaunchSpec, Phase, Slot


class Mood(StrEnum):
    """How an instance answers `/ping`."""

    GOOD = "good"
    BAD = "bad"
    SILENT = "silent"


class Instance:
    """One incarnation: a Unix socket, and the server behind it."""

    def __init__(self, launched: Launched, socket: str, mood: Mood) -> None:
        self.launched = launched
        self.socket = socket
        self.mood = mood
        self.models: tuple[str, ...] | None = None  # in its memory; None: it is no container of many models
        self.ended = asyncio.Event()
        self._connections: set[asyncio.Transport] = set()

    async def start(self) -> None:
        """A launch may be cancelled meanwhile: then nothing listens."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Answers(self), self.socket, start_serving=False)
        try:
            await self._server.start_serving()
        except asyncio.CancelledError:
            self.die()
            raise

    def opened(self, connection: asyncio.Transport) -> None:
        self._connections.add(connection)

    def hang_up(self) -> None:
        for connection in self._connections:
            connection.abort()

    def die(self) -> None:
        if not self.ended.is_set():
            self.ended.set()
            self._server.close()
            self.hang_up()
            Path(self.socket).unlink()


class _Answers(asyncio.Protocol):
    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._instance.opened(self._transport)

    def data_received(self, data: bytes) -> None:
        if UPGRADE.fullmatch(data) and self._instance.mood is Mood.GOOD:
            self._transport.write(UPGRADED)
            return
        if not data.startswith((b"GET ", b"POST ")):
            return  # frames, which it takes and does not answer
        if self._instance.models is not None and (body := self._told(data, self._instance.models)):
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            return
        ping = data.startswith(b"GET /ping ")
        if not ping or self._instance.mood is not Mood.SILENT:
            status = b"200 OK" if ping and self._instance.mood is Mood.GOOD else b"503 Service Unavailable"
            self._transport.write(b"HTTP/1.1 %b\r\ncontent-length: 0\r\n\r\n" % status)

    @staticmethod
    def _told(asked: bytes, models: tuple[str, ...]) -> bytes:
        """What a container of many models answers to a question about them; nothing to any other."""
        if asked.startswith(b"GET /models "):
            return b"{}"
        loaded = [{**MODEL, "name": model} for model in models]
        return json.dumps({**NOTHING, "models": loaded}).encode() if asked.startswith(b"GET /_torpor/state?") else b""


class FakeHost:
    """`mood` is that of the next instances; `launches_to_fail` launches fail; an end takes `dies_slowly_s`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="mortal-")
        self.folder = Path(self._folder.name)
        self.living: dict[Slot, Instance] = {}
        self.left: set[Slot] = set()  # by an earlier endpoint process
        self.mood = Mood.GOOD
        self.launches_to_fail = 0
        self.failure: Exception = HostError("there is no room")
        self.dies_slowly_s = 0.0
        self.ends_to_fail = 0  # so many instances end, and their host fails all the same
        self.away = False  # no instance ends
        self.refusals = 0  # so many ends were asked for meanwhile
        self.tries_s: dict[Slot, list[float]] = defaultdict(list)  # when a launch was tried
        self._names = count(1)

    def __enter__(self) -> "FakeHost":
        return self

    def __exit__(self, *error: object) -> None:
        for instance in self.living.values():  # a failed test left them, and no later test hears of their sockets
            instance.die()
        self._folder.cleanup()

    # -- the host's promises ---------------------------------------------------------------------------------------
    async def launch(self, spec: LaunchSpec) -> Launched:
        self.tries_s[spec.slot].append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.02)
        if self.launches_to_fail > 0:
            self.launches_to_fail -= 1
            raise self.failure
        if spec.slot in self.left:
            self.left.discard(spec.slot)
            if self.living[spec.slot].launched.serves(spec):
                return self.living[spec.slot].launched
            await self.terminate(spec.slot, 0.0)
        assert spec.slot not in self.living, "what was there has not been terminated"
        name = f"i-{next(self._names)}"
        socket = str(self.folder / name)
        instance = Instance(
            Launched(spec.slot, name, socket, Phase.RUNNING, configuration=spec.configuration), socket, self.mood
        )
        await instance.start()
        self.living[spec.slot] = instance
        return instance.launched

    async def terminate(self, slot: Slot, grace_s: float) -> None:
        instance = self.living.get(slot)
        if self.away:
            self.refusals += 1
            raise HostError("nobody answers")
        if instance is None:
            return
        try:
            if not instance.ended.is_set():
                await asyncio.sleep(min(grace_s, self.dies_slowly_s))
        finally:
            instance.die()
            del self.living[slot]
        if self.ends_to_fail:
            self.ends_to_fail -= 1
            raise OSError("its folder is gone")

    def list(self) -> tuple[Launched, ...]:
        return tuple(instance.launched for instance in self.living.values())

    async def exited(self, slot: Slot) -> Launched:
        instance = self.living[slot]
        await instance.ended.wait()
        return Launched(slot, instance.launched.incarnation, None, Phase.EXITED, reason="its process ended")

    async def placed(self, slot: Slot) -> Launched:
        return self.living[slot].launched

    async def vacate(self, endpoint: str, variant: str | None = None) -> None:
        """Has no disks."""

    async def open(self, kept: Collection[tuple[str, str]]) -> None:
        """Finds nothing that runs."""

    def health(self, slot: Slot) -> Launched | None:
        return self.living[slot].launched if slot in self.living else None

    async def close(self) -> None:
        for slot in tuple(self.living):
            await self.terminate(slot, 0.0)
