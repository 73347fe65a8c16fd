"""A fake S3 server: objects by path, each with the fault that reading it meets."""

import asyncio
import hashlib
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


@dataclass
class FakeObject:
    body: bytes = b""
    etag: str = ""  # empty: the body's MD5
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cuts: int = 0  # so many answers break off half way
    resets: bool = False  # and do so rudely
    successor: "FakeObject | None" = None  # what is there after a cut
    busy: int = 0  # so many requests are to come again later
    pause_s: float = 0.0  # before each tenth of the body
    silent: bool = False

    def __post_init__(self) -> None:
        self.etag = self.etag or hashlib.md5(self.body).hexdigest()


class FakeS3:
    """`async with FakeS3() as s3`, then `s3.objects["/bucket/key"] = FakeObject(...)` and `s3.url`."""

    def __init__(self) -> None:
        self.objects: dict[str, FakeObject] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.url = ""

    async def __aenter__(self) -> "FakeS3":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self._open: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*filter(None, self._open))
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[asyncio.current_task()] = writer
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)
                }
                self.requests.append((method, target, headers))
                await self._answer(method, target.partition("?")[0], headers, writer)
        writer.close()

    async def _answer(self, method: str, path: str, headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        found = self.objects.get(path) or FakeObject(status=404)
        if found.silent:
            return
        status, body = found.status, found.body if found.status == 200 else b""
        if found.busy:
            found.busy -= 1
            status, body = 503, b"" if method == "HEAD" else SLOW_DOWN
        more = {"Content-Length": str(len(body)), **found.headers}
        if status == 200 and headers.get("if-match", f'"{found.etag}"') != f'"{found.etag}"':
            status, body, more = 412, b"", {"Content-Length": "0"}
        elif "range" in headers:
            first = int(headers["range"].removeprefix("bytes=").partition("-")[0])
            status, body = 206, body[first:]
            more |= {"Content-Length": str(len(body))}
            more |= {"Content-Range": f"bytes {first}-{len(found.body) - 1}/{len(found.body)}"}
        more |= {"ETag": f'"{found.etag}"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}
        lines = [f"HTTP/1.1 {status} .", *(f"{name}: {value}" for name, value in more.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        if method == "GET" and found.cuts and body:
            await self._cut(path, found, body, writer)
        elif method == "GET":
            await _drip(body, found.pause_s, writer)
        await writer.drain()

    async def _cut(self, path: str, found: FakeObject, body: bytes, writer: asyncio.StreamWriter) -> None:
        found.cuts -= 1
        self.objects[path] = found.successor or found
        writer.write(body[: len(body) // 2])
        await writer.drain()
        if found.resets:  # lingering for no time at all is how a socket is told to
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()


async def _drip(body: bytes, pause_s: float, writer: asyncio.StreamWriter) -> None:
    step = len(body) // 10 + 1 if pause_s else len(body) + 1
    for at in range(0, len(body), step):
        await asyncio.sleep(pause_s)
        writer.write(body[at : at + step])
