"""The adapters of a foreign container's one model: fetched from S3 when a request first names one, and registered.

The contract is that of AWS's model-hosting-container-standards: `POST /adapters` has the adapter's name and folder, and
a request names it by `X-Amzn-SageMaker-Adapter-Identifier`.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from torpor_container import wire
from torpor_container.adapter.contract_client import NOT_FOUND
from torpor_container.errors import LoadFailed
from torpor_container.invocation import Invocation
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamError

WITHIN_S = 360.0
TEXT_MAX = 1000
NAME, URL = (name.lower().encode() for name in (wire.ADAPTER, wire.ADAPTER_URL))
JSON: Headers = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json"))


class Folders(Protocol):
    """Unpacked artifacts by their S3 addresses."""

    async def fetch(self, url: str) -> Path:
        """Its folder, which stays until `give`. Raises the artifact errors and NoRoom."""

    def give(self, url: str) -> None: ...


class ModelAdapters:
    """`folders` brings artifacts to the disk, and `seen` says at which path the container sees a folder."""

    def __init__(self, upstream: Callable[[], Upstream], folders: Folders, seen: Callable[[Path], str]) -> None:
        self._upstream = upstream
        self._folders = folders
        self._seen = seen
        self._registered: dict[str, str] = {}  # the S3 address by the adapter's name
        self._unsure: set[str] = set()  # those whose registration has not been answered with success
        self._turns: dict[str, asyncio.Lock] = {}

    async def of(self, invocation: Invocation) -> Headers:
        """The headers of the adapter that the request names, once the container has it; none where it names none.
        Raises LoadFailed and the artifact errors."""
        found = dict(one for one in invocation.headers if one[0] in (NAME, URL))
        if NAME not in found or URL not in found:
            return ()
        name, url = found[NAME].decode(), found[URL].decode()
        if self._registered.get(name) != url:
            async with self._turns.setdefault(name, asyncio.Lock()):
                if self._registered.get(name) != url:
                    await self._register(name, url)
        return ((wire.ADAPTER.encode(), found[NAME]),)

    async def _register(self, name: str, url: str) -> None:
        folder = await self._folders.fetch(url)
        with ExitStack() as unless_registered:
            unless_registered.callback(self._folders.give, url)
            if name in self._registered or name in self._unsure:  # an update gave it another artifact
                path = f"{wire.ADAPTERS}/{quote(name, safe='')}"
                await self._send("DELETE", path, b"", (NOT_FOUND,))  # the container may have dropped it by itself
                if (before := self._registered.pop(name, None)) is not None:
                    self._folders.give(before)
            self._unsure.add(name)  # the container may have it also if its answer does not arrive
            body = json.dumps({"name": name, "src": self._seen(folder)}).encode()
            await self._send("POST", wire.ADAPTERS, body)
            self._unsure.discard(name)
            unless_registered.pop_all()
        self._registered[name] = url

    async def _send(self, method: str, path: str, body: bytes, also: Sequence[int] = ()) -> None:
        """`also` are further statuses that are as good as success."""
        try:
            answer = await self._upstream().send(method, path, JSON, [body] if body else [], WITHIN_S)
        except UpstreamError as error:
            raise LoadFailed(f"the container took no adapter: {error}") from error
        if not 200 <= answer.status < 300 and answer.status not in also:
            said = answer.body[:TEXT_MAX].decode(errors="replace").strip() or "(nothing)"
            raise LoadFailed(f"the container answered {method} {path} with {answer.status}: {said}")
