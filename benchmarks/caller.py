"""A client that reads its answers: one keep-alive connection, one request at a time, and the complete answer to
each."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """Header names are in lower case; times are in seconds of `time.monotonic`."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent_s: float
    first_byte_s: float
    ended_s: float

    @property
    def waited_s(self) -> float:
        return self.first_byte_s - self.sent_s


def request(method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """The bytes of an HTTP/1.1 request."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def invocation(endpoint: str, model: str, row: bytes) -> bytes:
    """The bytes of an InvokeEndpoint request with one row."""
    headers = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": model}
    return request("POST", f"/endpoints/{endpoint}/invocations", headers, row)


def steps_ms(server_timing: str) -> dict[str, float]:
    """The milliseconds by step in `Server-Timing`."""
    parts = (part.partition(";dur=") for part in server_timing.split(", ") if part)
    return {step: float(took) for step, _, took in parts}


class Caller:
    """Raises ConnectionError or asyncio.IncompleteReadError if the server closes the connection without an answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connected(cls, port: int) -> "Caller":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def call(self, sent: bytes) -> Answer:
        sent_s = time.monotonic()
        self._writer.write(sent)
        first = await self._reader.readexactly(1)
        first_byte_s = time.monotonic()
        status, *lines = (first + await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        named = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in named}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(status.split(" ", 2)[1]), headers, body, sent_s, first_byte_s, time.monotonic())

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):  # the other side was faster
            await self._writer.wait_closed()
