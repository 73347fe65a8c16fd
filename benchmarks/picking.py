"""`python -m benchmarks.picking [--short]`: what a picker spends on one request of a gateway.

A client in this process speaks Envoy's external processing to a picker in a process of its own, with eight instances
that are not there: nothing is sent to them. Both the request and its answer pass, a row each. Processor time is that of
the picker's process. Nothing asserts a time.
"""

import asyncio
import os
import sys
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen

import grpc
from rich.console import Console

from benchmarks.command import command, keep
from benchmarks.measure import Figures
from benchmarks.tables import table
from tests.endpoint.helpers.asking_gateway import GatewayStreamOf
from tests.endpoint.helpers.still_picker import picker

HEADERS = {"content-type": "text/csv", "x-amzn-sagemaker-target-model": "a.tar.gz"}
CAME = {"content-type": "application/json", "server-timing": "predict;dur=1"}
PATH = "/endpoints/shop/invocations"
TOGETHER = 8
TICKS = os.sysconf("SC_CLK_TCK")
MICROSECONDS = 1e6


def main() -> None:
    parser = command("picking", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    parser.add_argument("--serve", action="store_true", help="be the picker, until the input ends")
    wanted = parser.parse_args()
    if wanted.serve:
        asyncio.run(_serve())
        return
    requests, rounds = (40, 1) if wanted.short else (2_000, 5)
    with Popen([sys.executable, "-m", "benchmarks.picking", "--serve"], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        took = asyncio.run(_rounds(port, process.pid, requests, rounds))
    found: list[Figures] = [{"requests": requests, "rounds": rounds, "picker_us_a_request": median(took)}]
    Console(width=120).print(table("A request of a gateway", found))
    keep(wanted.results, "picking", {"load": os.getloadavg()[0], "rows": found})


async def _serve() -> None:
    async with picker() as made:
        print(made.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def _rounds(port: int, pid: int, requests: int, rounds: int) -> list[float]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        await _asked(channel, requests // 4)
        took = []
        for _ in range(rounds):
            before_s = _spent_s(pid)
            await asyncio.gather(*(_asked(channel, requests // TOGETHER) for _ in range(TOGETHER)))
            took.append((_spent_s(pid) - before_s) / requests * MICROSECONDS)
    return took


async def _asked(channel: grpc.aio.Channel, requests: int) -> None:
    for _ in range(requests):
        stream = GatewayStreamOf(channel)
        said = await stream.asks(PATH, HEADERS)
        assert said.destination, said
        await stream.answers(200, CAME)


def _spent_s(pid: int) -> float:
    """Processor time of a process, user's and system's, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
