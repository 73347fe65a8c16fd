"""A load generator that costs little: keep-alive connections over asyncio, one request after another on each."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles


@dataclass(frozen=True)
class Measured:
    """Latencies of one run, in seconds."""

    latencies_s: tuple[float, ...]
    wall_s: float
    failures: int

    @property
    def per_second(self) -> float:
        return len(self.latencies_s) / self.wall_s

    def percentile(self, percent: int) -> float:
        return quantiles(self.latencies_s, n=100, method="inclusive")[percent - 1]


def request(path: str, headers: dict[str, str], body: bytes) -> bytes:
    """One HTTP/1.1 request, ready to be sent as often as wanted."""
    lines = [f"POST {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def run(where: tuple[str, int] | str, requests: Sequence[bytes], connections: int, count: int) -> Measured:
    """Send `count` requests in all, taking them from `requests` in turn; `where` is an address or a Unix socket."""
    latencies: list[float] = []
    failures = 0
    left = iter(range(count))

    async def worker() -> None:
        nonlocal failures
        reader, writer = await _open(where)
        for number in left:
            began_s = time.perf_counter()
            writer.write(requests[number % len(requests)])
            status = await _answer(reader)
            latencies.append(time.perf_counter() - began_s)
            failures += status != 200
        writer.close()

    began_s = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(connections)))
    return Measured(tuple(latencies), time.perf_counter() - began_s, failures)


async def _open(where: tuple[str, int] | str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if isinstance(where, str):
        return await asyncio.open_unix_connection(where)
    return await asyncio.open_connection(*where)


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    await reader.readexactly(int(length.split(b":")[1]))
    return int(head.split(b" ", 2)[1])
