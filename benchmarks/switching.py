"""`python -m benchmarks.switching [--short]`: what a switch between versions of a model does to the slowest requests.

Four callers that pause between their requests never stop. In turn, nothing happens for a window of requests, and one
version takes over from another in a window of as many: a new one is put, or the label `default` goes back. The windows
of a round come in either order, so what else the machine does meets both alike. It ends with 1 if a request failed,
waited for a load, or was answered by a version that another one had replaced before it began. No time is asserted.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from rich.console import Console

from benchmarks.caller import Caller, invocation, steps_ms
from benchmarks.command import command, keep
from benchmarks.crowds import percentile
from benchmarks.live import BUCKET, NAME, PREFIX, Live, live
from benchmarks.measure import Figures
from benchmarks.own_answers import make_models
from benchmarks.scene import ROW
from benchmarks.tables import table

CALLERS = 4
PAUSE_S = 0.005
MODEL = "own"
BROUGHT = "x-torpor-target-model"
WITH, WITHOUT = "a switch", "no switch"


@dataclass
class Seen:
    """What the callers have seen. `wanted` is the version that should answer, and `version` the one that last did."""

    taken_ms: list[float] = field(default_factory=list)
    version: int = 1
    wanted: int = 1
    failed: int = 0
    waited: int = 0
    stale: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)


def main() -> int:
    parser = command("switching", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    wanted = parser.parse_args()
    switches, rollbacks, window = (1, 1, 20) if wanted.short else (20, 5, 200)
    with tempfile.TemporaryDirectory(prefix="switching-") as folder, live() as running:
        make_models(Path(folder), 2)
        artifacts = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
        put(running, 1, artifacts)
        running.deploy(instances=2, TORPOR_VERSIONS="all")
        seen, rows = asyncio.run(measured(running, artifacts, switches, rollbacks, window))
    Console(width=120).print(table("Switches of versions under load", rows))
    keep(wanted.results, "switching", {"load": os.getloadavg()[0], "rows": rows})
    return 1 if seen.failed or seen.waited or seen.stale else 0


def put(running: Live, version: int, artifacts: list[bytes]) -> None:
    key = f"{PREFIX}/{MODEL}/{version}/model.tar.gz"
    running.process.client("s3").put_object(Bucket=BUCKET, Key=key, Body=artifacts[version % 2])


def label(running: Live, version: int | None) -> None:
    """Point the label `default` to a version, or remove it: the newest answers then."""
    asked = {"endpoint": NAME, "model": MODEL, "label": "default"} | ({} if version is None else {"version": version})
    urlopen(Request(f"{running.process.url}/_torpor/labels?{urlencode(asked)}", method="POST")).close()


async def measured(
    running: Live, artifacts: list[bytes], switches: int, rollbacks: int, window: int
) -> tuple[Seen, list[Figures]]:
    seen, over = Seen(), asyncio.Event()
    _, port = running.address
    callers = [asyncio.create_task(calls(await Caller.connected(port), seen, over)) for _ in range(CALLERS)]
    await answered(seen, 2 * window)  # the first ones load the model on each instance
    seen.waited, taken = 0, {WITH: list[list[float]](), WITHOUT: list[list[float]]()}

    async def newer(version: int) -> None:
        seen.wanted = version
        await asyncio.to_thread(put, running, version, artifacts)

    async def back(version: int | None, means: int) -> None:
        seen.wanted = means
        await asyncio.to_thread(label, running, version)

    steps = [partial(newer, number) for number in range(2, switches + 2)]
    newest = switches + 1
    steps += [partial(back, newest - 1, newest - 1), partial(back, None, newest)] * rollbacks
    for number, step in enumerate(steps):
        for what in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
            taken[what].append(await one_window(seen, window, step if what == WITH else None))
    over.set()
    await asyncio.gather(*callers)
    every = {what: [one for part in parts for one in part] for what, parts in taken.items()}
    ratios = [percentile(a, 99) / percentile(b, 99) for a, b in zip(taken[WITH], taken[WITHOUT], strict=True)]
    rows: list[Figures] = [
        {
            "window with": what,
            "windows": len(taken[what]),
            "requests": len(found),
            "p50_ms": median(found),
            "p99_ms": percentile(found, 99),
            "p99_of_without": percentile(found, 99) / percentile(every[WITHOUT], 99),
            "median_of_rounds": median(ratios) if what == WITH else 1.0,
        }
        for what, found in every.items()
    ]
    rows[0] |= {"failed": seen.failed, "waited": seen.waited, "stale": seen.stale}
    rows[1] |= {"failed": "", "waited": "", "stale": ""}
    return seen, rows


async def one_window(seen: Seen, window: int, step: Callable[[], Awaitable[None]] | None) -> list[float]:
    """What the requests of a window took: as many as asked for, and until the step has taken effect."""
    seen.taken_ms = []
    if step is not None:
        await step()
    await answered(seen, window)
    while seen.version != seen.wanted:
        await answered(seen, len(seen.taken_ms) + 1)
    return seen.taken_ms


async def answered(seen: Seen, requests: int) -> None:
    while len(seen.taken_ms) < requests:
        seen.came.clear()
        await seen.came.wait()


async def calls(caller: Caller, seen: Seen, over: asyncio.Event) -> None:
    sent = invocation(NAME, MODEL, ROW)
    while not over.is_set():
        before, taken_ms = seen.version, seen.taken_ms
        switched = before == seen.wanted
        answer = await caller.call(sent)
        taken_ms.append((answer.ended_s - answer.sent_s) * 1000)
        seen.came.set()
        if answer.status != 200:
            seen.failed += 1
            continue
        version = int(answer.headers[BROUGHT].split("/")[1])
        seen.waited += "load" in steps_ms(answer.headers["server-timing"])
        if version == seen.wanted:
            seen.version = version
        seen.stale += switched and version != before and seen.wanted == before
        await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
