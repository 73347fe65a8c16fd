"""Reads artifacts from S3, or from any server with its protocol. It reads one bucket, and writes nothing to it."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError

from torpor_container.artifacts.errors import (
    ArtifactForbidden,
    ArtifactMissing,
    DownloadBroken,
    StoreUnreachable,
    disk_full_for,
)
from torpor_container.artifacts.receiver import Receiver, md5_of
from torpor_container.artifacts.stores.artifact_store import ArtifactHead, Listed
from torpor_container.artifacts.stores.s3_access import S3Access, connect, encrypted_at_rest, signs
from torpor_container.artifacts.stores.s3_exact import ExactS3, expressible
from torpor_container.processes.threads import on_thread, run_to_completion

if TYPE_CHECKING:
    from obstore import GetOptions

CHUNK_BYTES = 1024 * 1024
"""How much a worker thread gets at a time: most artifacts are one chunk, and larger ones do not take more memory."""


class S3ArtifactStore:
    """One bucket, read with obstore. `receiver` makes the object that writes a download to its file."""

    def __init__(self, bucket: str, access: S3Access, receiver: Callable[[Path], Receiver] = Receiver) -> None:
        self._bucket = bucket
        self._receiver = receiver
        self._client = connect(bucket, access)
        self._exact = ExactS3(bucket, access)

    async def head(self, key: str) -> ArtifactHead:
        if not expressible(key):
            return await on_thread(self._exact.head, key)
        with self._faults(key):
            meta = await obstore.head_async(self._client, key)
        return ArtifactHead(meta["size"], meta["e_tag"] or meta["last_modified"].isoformat())

    async def get(self, key: str, head: ArtifactHead, into: Path) -> None:
        receiver = self._receiver(into)
        async with AsyncExitStack() as unfinished:
            unfinished.push_async_callback(run_to_completion, receiver.abandon)
            with disk_full_for(key):
                await self._receive(key, head, receiver)
                await self._verify(key, head, receiver)
                await run_to_completion(receiver.complete)
            unfinished.pop_all()

    async def listed(self, prefix: str, at_most: int) -> list[Listed]:
        return await on_thread(self._exact.listed, prefix, at_most)

    async def some_keys(self, folder: str, at_most: int) -> list[str]:
        """Some keys, by obstore, which lists only keys that its paths can name."""
        inner = folder.removesuffix("/")
        if inner and not expressible(inner):
            return []
        with self._faults(folder):
            async for page in obstore.list(self._client, prefix=inner or None, chunk_size=at_most):
                return [row["path"] for row in page]
        return []

    async def _receive(self, key: str, head: ArtifactHead, receiver: Receiver) -> None:
        async with aclosing(self._chunks(key, head)) as chunks:
            async for chunk in chunks:
                await run_to_completion(receiver.take, chunk)

    async def _chunks(self, key: str, head: ArtifactHead) -> AsyncGenerator[bytes, None]:
        if not expressible(key):
            chunks = self._exact.chunks(key, head.version, CHUNK_BYTES)
            while chunk := await on_thread(next, chunks, b""):
                yield chunk
            return
        only_that: GetOptions = {"if_match": head.version} if head.version.startswith('"') else {}
        with self._faults(key):
            answer = await obstore.get_async(self._client, key, options=only_that)
            async for chunk in answer.stream(min_chunk_size=CHUNK_BYTES):
                yield chunk

    async def _verify(self, key: str, head: ArtifactHead, received: Receiver) -> None:
        if received.size_bytes != head.size_bytes:
            reason = f"{received.size_bytes} of {head.size_bytes} bytes arrived"
            raise DownloadBroken(self._bucket, key, reason)
        expected = md5_of(head.version)
        if expected in (None, received.md5) or await self._encrypted_at_rest(key):
            return
        raise DownloadBroken(self._bucket, key, f"the bytes that arrived have MD5 {received.md5}, not {expected}")

    async def _encrypted_at_rest(self, key: str) -> bool:
        if expressible(key):
            return await encrypted_at_rest(self._client, key)
        return await on_thread(self._exact.encrypted_at_rest, key)

    @contextmanager
    def _faults(self, key: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise ArtifactMissing(self._bucket, key) from error
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise ArtifactForbidden(self._bucket, key, signs(self._client)) from error
        except PreconditionError as error:
            raise DownloadBroken(self._bucket, key, "it was overwritten while it was read") from error
        except (BaseError, ValueError) as error:
            raise StoreUnreachable(self._bucket, key, str(error).partition("\n")[0]) from error
