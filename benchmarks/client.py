"""A cheap load generator: keep-alive connections over asyncio, with one request after another on each."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

Where = tuple[str, int] | str
"""A host and port, or the path of a Unix socket."""
BUFFER_BYTES = 2**20


class NoLength(Exception):
    """The answer has chunked encoding, which this client does not support."""


@dataclass(frozen=True)
class Measured:
    """The latencies of one run, in seconds."""

    latencies_s: tuple[float, ...]
    wall_s: float
    failures: int

    @property
    def requests(self) -> int:
        return len(self.latencies_s)

    @property
    def per_second(self) -> float:
        return self.requests / self.wall_s

    def percentile(self, percent: int) -> float:
        if self.requests == 1:
            return self.latencies_s[0]
        return quantiles(self.latencies_s, n=100, method="inclusive")[percent - 1]


def request(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """The bytes of an HTTP/1.1 request, which can be sent repeatedly."""
    named = {"host": "localhost", **headers, "content-length": str(len(body))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def run(
    where: Where, requests: Sequence[bytes], connections: int, for_s: float, pause_s: float = 0.0
) -> Measured:
    """Send requests for a number of seconds, taken from `requests` in turn; each connection sends at least one.

    After an answer a connection pauses for `pause_s` seconds.
    """
    latencies: list[float] = []
    failures = sent = 0
    opened = await asyncio.gather(*(_open(where) for _ in range(connections)))
    began_s = time.perf_counter()
    until_s = began_s + for_s

    async def worker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal failures, sent
        now_s = time.perf_counter()
        while True:
            writer.write(requests[sent % len(requests)])
            sent += 1
            status, _ = await _answer(reader)
            ended_s = time.perf_counter()
            latencies.append(ended_s - now_s)
            failures += status != 200
            if ended_s >= until_s:
                break
            if pause_s:
                await asyncio.sleep(pause_s)
            now_s = time.perf_counter() if pause_s else ended_s

    await asyncio.gather(*(worker(*pair) for pair in opened))
    wall_s = time.perf_counter() - began_s
    for _, writer in opened:
        writer.close()
    return Measured(tuple(latencies), wall_s, failures)


async def answers(where: Where, requests: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """The status and body of each request, sent one after another on one connection."""
    reader, writer = await _open(where)
    found = []
    for sent in requests:
        writer.write(sent)
        found.append(await _answer(reader))
    writer.close()
    return found


async def together(where: Where, requests: Sequence[bytes], connections: int) -> list[tuple[int, bytes]]:
    """The status and body of each request, sent over several connections at once, unsorted."""
    shares = [requests[start::connections] for start in range(min(connections, len(requests)))]
    return [answer for share in await asyncio.gather(*(answers(where, part) for part in shares)) for answer in share]


async def _open(where: Where) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(where, str):
        return await asyncio.open_unix_connection(where, limit=BUFFER_BYTES)
    return await asyncio.open_connection(*where, limit=BUFFER_BYTES)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    if not lengths:
        raise NoLength(f"an answer does not tell its length: {head!r}")
    body = await reader.readexactly(int(lengths[0].split(b":")[1]))
    return int(head.split(b" ", 2)[1]), body
