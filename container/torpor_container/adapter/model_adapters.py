"""The adapters of a foreign container's one model: fetched from S3 when a request first names one, and registered.

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
from typing import Protocol
from urllib.parse import quote

from torpor_container import wire
from torpor_container.adapter.contract_client import NOT_FOUND
from torpor_container.errors import LoadFailed
from torpor_container.invocation import Invocation
from torpor_container.models.tier import MakeRoom
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamError

WITHIN_S = 360.0
TEXT_MAX = 1000
NAME, URL = (name.lower().encode() for name in (wire.ADAPTER, wire.ADAPTER_URL))
JSON: Headers = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json"))


class Folders(Protocol):
    """Unpacked artifacts by their S3 addresses."""

    async def fetch(self, url: str, make_room: MakeRoom) -> Path:
        """Its folder, which stays until `give`. Raises the artifact errors and NoRoom."""

    def give(self, url: str) -> None: ...


class ModelAdapters:
    """`folders` brings artifacts to the disk, and `seen` says at which path the container sees a folder."""

    def __init__(self, upstream: Callable[[], Upstream], folders: Folders, seen: Callable[[Path], str]) -> None:
        self._upstream = upstream
        self._folders = folders
        self._seen = seen
        self._registered: dict[str, str] = {}  # the S3 address by the adapter's name, the one used last at the end
        self._unsure: set[str] = set()  # those whose registration has not been answered with success
        self._turns: dict[str, asyncio.Lock] = {}
        self._uses: Counter[str] = Counter()  # requests by the adapter that they use
        self._change = asyncio.Event()

    @asynccontextmanager
    async def used_by(self, invocation: Invocation) -> AsyncIterator[Headers]:
        """The headers of the adapter that the request names, once the container has it, which keeps it meanwhile; none
        where it names none. Raises LoadFailed and the artifact errors."""
        found = dict(one for one in invocation.headers if one[0] in (NAME, URL))
        if NAME not in found or URL not in found:
            yield ()
            return
        name, url = found[NAME].decode(), found[URL].decode()
        while self._registered.get(name) != url:
            async with self._turns.setdefault(name, asyncio.Lock()):
                if self._registered.get(name) != url:
                    await self._register(name, url)
        self._registered[name] = self._registered.pop(name)
        self._uses[name] += 1
        try:
            yield ((wire.ADAPTER.encode(), found[NAME]),)
        finally:
            self._uses[name] -= 1
            self._changed()

    async def _register(self, name: str, url: str) -> None:
        folder = await self._folders.fetch(url, partial(self._make_room, name))
        with ExitStack() as unless_registered:
            unless_registered.callback(self._changed)
            unless_registered.callback(self._folders.give, url)
            if name in self._registered or name in self._unsure:  # an update gave it another artifact
                await self._forget(name)
            self._unsure.add(name)  # the container may have it also if its answer does not arrive
            body = json.dumps({"name": name, "src": self._seen(folder)}).encode()
            await self._send("POST", wire.ADAPTERS, body)
            self._unsure.discard(name)
            unless_registered.pop_all()
        self._registered[name] = url
        self._changed()

    # -- room --------------------------------------------------------------------------------------------------------
    async def _make_room(self, newcomer: str, _missing_bytes: int) -> bool:
        """Have the container forget the adapter that was used longest ago, and give its folder back; first the former
        one of the newcomer. Where requests use all, wait for the first one to end. False if there is none."""
        while others := list(self._registered):
            idle = [name for name in others if not self._uses[name] and not self._busy(name, newcomer)]
            if idle:
                await self._let_go(newcomer if newcomer in idle else idle[0], newcomer)
                return True
            await self._change.wait()
        return False

    def _busy(self, name: str, newcomer: str) -> bool:
        """Whether somebody registers it now."""
        return name != newcomer and self._turns[name].locked()

    async def _let_go(self, name: str, newcomer: str) -> None:
        if name == newcomer:  # its turn is held already
            await self._forget(name)
            return
        async with self._turns[name]:
            await self._forget(name)

    async def _forget(self, name: str) -> None:
        """Have the container drop an adapter that it may have. Raises LoadFailed where it does not, and then it is
        registered as before."""
        before = self._registered.pop(name, None)
        self._unsure.add(name)
        with ExitStack() as unless_forgotten:
            if before is not None:
                unless_forgotten.callback(self._registered.__setitem__, name, before)
            path = f"{wire.ADAPTERS}/{quote(name, safe='')}"
            await self._send("DELETE", path, b"", (NOT_FOUND,))  # the container may have dropped it by itself
            unless_forgotten.pop_all()
        self._unsure.discard(name)
        if before is not None:
            self._folders.give(before)

    def _changed(self) -> None:
        """Have those look again who wait for a request to end."""
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
