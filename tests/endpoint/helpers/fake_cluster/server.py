"""Serves a fake cluster's API by HTTP on loopback, for processes of their own."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from tests.endpoint.helpers.fake_cluster.api import Answer, FakeCluster


class ClusterServer:
    """The API at `url`, and the controllers behind it."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self._controllers = asyncio.create_task(self.cluster.run())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        for task in (self._controllers, *self._connections):
            task.cancel()
        await asyncio.gather(self._controllers, *self._connections, return_exceptions=True)
        await self.cluster.kubelet.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while line := await reader.readline():
                await self._request(line.decode(), reader, writer)
        writer.close()

    async def _request(self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, _ = line.split()
        headers = {}
        while (said := (await reader.readline()).decode().strip()) != "":
            name, _, value = said.partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        answer = self.cluster.answer(method, target, headers, body)
        if answer.lines is None:
            content = content_of(answer)
            writer.write(_head(answer.status, {**answer.headers, "content-length": str(len(content))}) + content)
            await writer.drain()
        else:
            writer.write(_head(answer.status, {**answer.headers, "transfer-encoding": "chunked"}))
            await _stream(writer, answer.lines)


def content_of(answer: Answer) -> bytes:
    document = answer.document
    return document.encode() if isinstance(document, str) else json.dumps(document).encode()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} .", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode()


async def _stream(writer: asyncio.StreamWriter, lines: AsyncIterator[str]) -> None:
    async for line in lines:
        content = f"{line}\n".encode()
        writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
