"""An instance that shares artifacts: it hears which neighbours have a model's, and gives out those that it has kept.

It is the application of the instance's routes, and looks at two headers and one path of its own before them.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

from starlette.types import Receive, Scope, Send

from torpor_container import wire
from torpor_container.artifacts.errors import ArtifactError
from torpor_container.artifacts.location import name_of
from torpor_container.artifacts.shared.neighbour_store import NeighbourStore
from torpor_container.contract.contract_app import ContractApp
from torpor_container.contract.streamed_answers import until_caller_leaves
from torpor_container.http.exchange import TakeInline
from torpor_container.processes.threads import on_thread

PIECE_BYTES = 256 * 1024
GIVEN_AT_ONCE = 4
"""An instance gives out so many artifacts at a time. A neighbour that comes then asks another one, or S3."""

NEIGHBOURS = wire.NEIGHBOURS.lower().encode()
TARGET_MODEL = wire.TARGET_MODEL.lower().encode()
ARTIFACT_VERSION = wire.ARTIFACT_VERSION.lower().encode()


class SharedArtifactsApp:
    """`app` are the instance's routes, under `path_prefix`."""

    def __init__(self, app: ContractApp, store: NeighbourStore, path_prefix: str = "") -> None:
        self._app = app
        self._store = store
        self._path = path_prefix + wire.ARTIFACT
        self.given = 0  # how many artifacts are given out now
        self.framed = app.framed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"] == self._path:
                await until_caller_leaves(receive, self._give(dict(scope["headers"]), send))
                return
            self._hear(scope)
        await self._app(scope, receive, send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `exchange.InlineApp`. What a request with neighbours says must be heard: it comes by ASGI."""
        heard = any(name == NEIGHBOURS for name, _ in scope["headers"])
        return None if heard else self._app.inline(scope)

    def _hear(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if (said := headers.get(NEIGHBOURS)) is None or TARGET_MODEL not in headers:
            return
        try:
            self._store.named.heard(headers[TARGET_MODEL].decode(errors="surrogateescape"), said)
        except ArtifactError:
            return  # the call itself is refused for its target

    async def _give(self, headers: dict[bytes, bytes], send: Send) -> None:
        if self.given >= GIVEN_AT_ONCE:
            await _answer(send, 503, f"this instance gives out {GIVEN_AT_ONCE} artifacts already")
            return
        self.given += 1
        try:
            await self._give_one(headers, send)
        finally:
            self.given -= 1

    async def _give_one(self, headers: dict[bytes, bytes], send: Send) -> None:
        target = headers.get(TARGET_MODEL, b"").decode(errors="surrogateescape")
        version = headers.get(ARTIFACT_VERSION, b"").decode("latin-1")
        try:
            key = self._store.named.prefix.key_of(name_of(target))
        except ArtifactError as refused:
            await _answer(send, refused.status, str(refused))
            return
        with ExitStack() as used:
            file = await on_thread(self._store.kept.opened, key, version)
            if file is None:
                await _answer(send, 404, "this instance has not kept this version of the artifact")
                return
            used.callback(file.close)
            await _send_file(send, file)
            self._store.given += 1


async def _send_file(send: Send, file: BinaryIO) -> None:
    size_bytes = await on_thread(file.seek, 0, 2)
    await on_thread(file.seek, 0)
    headers = [(b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % size_bytes)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for end in _ends(size_bytes):
        piece = await on_thread(file.read, PIECE_BYTES)
        await send({"type": "http.response.body", "body": piece, "more_body": end < size_bytes})


def _ends(size_bytes: int) -> Iterator[int]:
    """Where each piece of the file ends."""
    return iter(range(PIECE_BYTES, size_bytes + PIECE_BYTES, PIECE_BYTES))


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
