"""The adapters of a foreign container's one model: fetched from S3 and registered with the first request for one, or
ahead of it.

The contract is that of AWS's model-hosting-container-standards: `POST /adapters` has the adapter's name and folder, and
a request names it by `X-Amzn-SageMaker-Adapter-Identifier`. Where the disk has no room for one more, the container
forgets those that no request uses, the one that was used last at last.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote

from torpor_container import wire
from torpor_container.adapter.contract_client import NOT_FOUND
from torpor_container.errors import LoadFailed, ModelAbsent, NoRoom
from torpor_container.invocation import Invocation
from torpor_container.measuring.server_timing import Clock, LoadSpans, Timing
from torpor_container.models.tier import MakeRoom
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.wire import VICTIMS_REPORTED_MAX, ColdLoad, WaitStep

WITHIN_S = 360.0
TEXT_MAX = 1000
NO_ROOM = "adapter {name}: {fault}. The disk that the model leaves bounds all adapters together (TORPOR_DISK_MIB)."
ABSENT = "the container did not have this adapter"
NAME, URL = (name.lower().encode() for name in (wire.ADAPTER, wire.ADAPTER_URL))
JSON: Headers = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json"))


class AdapterFolder(NamedTuple):
    """Where an adapter lies unpacked, its bytes there, and those that all adapters may take."""

    path: Path
    size_bytes: int
    budget_bytes: int


class Folders(Protocol):
    """Unpacked artifacts by their S3 addresses."""

    async def fetch(self, url: str, spans: LoadSpans, make_room: MakeRoom) -> AdapterFolder:
        """Its folder, which stays until `give`. Raises the artifact errors and NoRoom."""

    def give(self, url: str) -> None: ...

    async def close(self) -> None:
        """Wait until what leaves is gone."""


class ModelAdapters:
    """`folders` brings artifacts to the disk, and `seen` says at which path the container sees a folder."""

    def __init__(
        self, upstream: Callable[[], Upstream], folders: Folders, seen: Callable[[Path], str], clock: Clock
    ) -> None:
        self._upstream = upstream
        self._folders = folders
        self._seen = seen
        self._clock = clock
        self._held: dict[str, str] = {}  # by adapter, the address of its folder, which the container may read
        self._registered: set[str] = set()  # those that the container has taken; `_held` ends with the one used last
        self._in_turn: set[str] = set()  # those that somebody registers now, or has leave
        self._coming: dict[str, LoadSpans] = {}  # of those that are registered now, for the requests that wait for them
        self._uses: Counter[str] = Counter()  # requests by the adapter that they use
        self._change = asyncio.Event()

    @asynccontextmanager
    async def used_by(self, invocation: Invocation, timing: Timing) -> AsyncIterator[Headers]:
        """The headers of the adapter that the request names, once the container has it, which keeps it meanwhile; none
        where it names none. A request that waits for it has the steps and the report of a load. Raises LoadFailed and
        the artifact errors, and ModelAbsent for a request that is to begin no load and would."""
        found = dict(one for one in invocation.headers if one[0] in (NAME, URL))
        if NAME not in found or URL not in found:
            yield ()
            return
        name, url = found[NAME].decode(), found[URL].decode()
        if not self._has(name, url):
            if invocation.only_loaded and name not in self._coming:
                raise ModelAbsent(name)
            await self._brought(name, url, timing)
        self._held[name] = self._held.pop(name)
        self._uses[name] += 1
        try:
            yield ((wire.ADAPTER.encode(), found[NAME]),)
        finally:
            self._uses[name] -= 1
            self._changed()

    def _has(self, name: str, url: str) -> bool:
        return name in self._registered and self._held[name] == url

    async def _brought(self, name: str, url: str, timing: Timing) -> None:
        """Register it, or wait until another request has."""
        since_s, spans = self._clock(), self._coming.get(name)
        leads = False
        while not self._has(name, url):
            spans = self._coming.get(name, spans)
            async with self._turn(name):
                if not self._has(name, url):
                    spans, leads = LoadSpans(self._clock), True
                    self._coming[name] = spans
                    try:
                        await self._register(name, url, spans)
                    finally:
                        del self._coming[name]
        if spans is not None:
            timing.waited_for(spans, since_s)
            timing.cold = spans.report(leads)

    async def _register(self, name: str, url: str, spans: LoadSpans) -> None:
        began_s = self._clock()
        try:
            folder = await self._folders.fetch(url, spans, partial(self._make_room, name, spans.victims))
        except NoRoom as fault:
            raise NoRoom(NO_ROOM.format(name=name, fault=fault)) from fault
        with ExitStack() as unless_forgotten:
            unless_forgotten.callback(self._folders.give, url)
            if name in self._held:  # an update gave it another artifact, or nobody knows whether the container has it
                await self._forget(name)
            unless_forgotten.pop_all()
        self._held[name] = url
        body = json.dumps({"name": name, "src": self._seen(folder.path)}).encode()
        with spans.step(WaitStep.LOAD):
            await self._send("POST", wire.ADAPTERS, body)
        self._registered.add(name)
        spans.cold = _cold(folder, spans, self._clock() - began_s)

    async def _forget(self, name: str) -> None:
        """Have the container drop an adapter that it may have, once no request uses it, and give its folder back.
        Raises LoadFailed where it does not."""
        self._registered.discard(name)  # nobody begins to use it
        while self._uses[name]:
            await self._change.wait()
        path = f"{wire.ADAPTERS}/{quote(name, safe='')}"
        await self._send("DELETE", path, b"", (NOT_FOUND,))  # the container may have dropped it by itself
        self._folders.give(self._held.pop(name))

    # -- room --------------------------------------------------------------------------------------------------------
    async def _make_room(self, newcomer: str, victims: list[str], _missing_bytes: int) -> bool:
        """Have the container forget the adapter that was used longest ago, and first the former artifact of the
        newcomer. Where requests use all, wait until one ends. False if the container has none. `victims` gets the
        adapters that leave."""
        while self._held:
            if newcomer in self._held:
                await self._forget(newcomer)  # it is its turn already
                return True
            if self._idle():
                victims.append(await self._one_leaves())
                return True
            await self._change.wait()
        return False

    def _idle(self) -> list[str]:
        """Those that may leave, the one that was used longest ago first."""
        return [name for name in self._held if not self._uses[name] and name not in self._in_turn]

    async def _one_leaves(self) -> str:
        """Have the first idle one leave that the container drops. Its name. Raises LoadFailed where it drops none."""
        refused: set[str] = set()
        while True:
            name = next(name for name in self._idle() if name not in refused)
            try:
                async with self._turn(name):
                    await self._forget(name)
                return name
            except LoadFailed:
                refused.add(name)
                if refused.issuperset(self._idle()):
                    raise

    @asynccontextmanager
    async def _turn(self, name: str) -> AsyncIterator[None]:
        """One at a time registers an adapter, or has it leave."""
        while name in self._in_turn:
            await self._change.wait()
        self._in_turn.add(name)
        try:
            yield
        finally:
            self._in_turn.discard(name)
            self._changed()

    def _changed(self) -> None:
        """Have all that wait for room look again."""
        self._change.set()
        self._change = asyncio.Event()

    async def _send(self, method: str, path: str, body: bytes, also: Sequence[int] = ()) -> None:
        """`also` are further statuses that are as good as success."""
        try:
            answer = await self._upstream().send(method, path, JSON, [body] if body else [], WITHIN_S)
        except UpstreamError as error:
            raise LoadFailed(f"the container took no adapter: {error}") from error
        if not 200 <= answer.status < 300 and answer.status not in also:
            said = answer.body[:TEXT_MAX].decode(errors="replace").strip() or "(nothing)"
            raise LoadFailed(f"the container answered {method} {path} with {answer.status}: {said}")


def _cold(folder: AdapterFolder, spans: LoadSpans, took_s: float) -> ColdLoad:
    """What it took to have an adapter. Its bytes are those on disk: only the container knows its memory."""
    cold: ColdLoad = {
        "bytes": folder.size_bytes,
        "victims": spans.victims[:VICTIMS_REPORTED_MAX],
        "reason": ABSENT,
        "took_s": took_s,
        "efforts": {step: effort.fields() for step, effort in spans.efforts.items()},
        "adapters_bytes": folder.budget_bytes,
    }
    if spans.fetched_bytes:
        cold["fetched_bytes"] = spans.fetched_bytes
    return cold
