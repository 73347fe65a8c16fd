"""`python -m benchmarks.dashboard [--short]`: what it costs to look at the dashboard of a busy endpoint.

A thousand models in one instance are called a few hundred times a second, and other endpoints run beside it. The
processor time of the endpoint and its instances is measured without viewers, with one, and with ten; then that of a
warm request with the page closed and open; then the page itself, in a headless Chromium.
"""

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any

from rich.console import Console

from benchmarks import client, scene
from benchmarks.command import command, keep
from benchmarks.live import Live, live
from benchmarks.measure import Figures, Target, spread, turn
from benchmarks.own_answers import make_models
from benchmarks.tables import table

FEED = b"GET /_torpor/dashboard/feed HTTP/1.1\r\nhost: localhost\r\n\r\n"
CONNECTIONS = 8
FOR_EVER_S = 3600.0
PANELS = ("memory", "timeline", "charts", "cold", "invoke")
TRACED = ["toplevel", "devtools.timeline"]
TASK = "RunTask"
LONG_MS = 50.0
"""The web's own limit for a long task."""


@dataclass(frozen=True)
class WatchSizes:
    """Counts, or seconds if the name ends in `_s`."""

    models: int = 1_000
    endpoints: int = 100
    viewers: tuple[int, ...] = (0, 1, 10)
    watched_s: float = 15.0
    pause_s: float = 0.02
    turn_s: float = 2.0
    rounds: int = 15


SHORT = WatchSizes(models=20, endpoints=2, viewers=(0, 1), watched_s=2.0, turn_s=0.2, rounds=1)


@contextmanager
def crowded(sizes: WatchSizes) -> Iterator[tuple[Live, Target]]:
    """An endpoint process with all its endpoints, and the one that is called, with every model in memory."""
    with tempfile.TemporaryDirectory() as folder, live() as running:
        ((artifact, said),) = make_models(Path(folder), 1).items()
        expected = {f"model-{number:04}.tar.gz": said for number in range(sizes.models)}
        for name in expected:
            shutil.copyfile(Path(folder) / artifact, running.folder / name)
        running.deploy()
        for number in range(1, sizes.endpoints):
            running.deploy(endpoint=f"other-{number:03}")
        running.load(list(expected))
        yield running, running.through("endpoint", expected)


# -- viewers -----------------------------------------------------------------------------------------------------------
@contextmanager
def viewers(running: Live, count: int) -> Iterator[list[int]]:
    """So many open feeds; the list has the bytes that each has read."""
    read = [0] * count
    with _beside(lambda: [_view(running.address, read, number) for number in range(count)]):
        yield read


async def _view(address: tuple[str, int], read: list[int], number: int) -> None:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(FEED)
    try:
        while data := await reader.read(1 << 16):
            read[number] += len(data)
    finally:
        writer.close()


@contextmanager
def _beside(work: Callable[[], Iterable[Coroutine[Any, Any, Any]]]) -> Iterator[None]:
    """Runs coroutines in a thread with a loop of its own, and cancels them when the block ends."""

    over = Event()

    async def run() -> None:
        tasks = [asyncio.ensure_future(one) for one in work()]
        await asyncio.to_thread(over.wait)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def watched(running: Live, target: Target, sizes: WatchSizes) -> list[Figures]:
    """The processor time while the models are called at a steady pace, by number of viewers."""
    return [_watched(running, target, sizes, count) for count in sizes.viewers]


def _watched(running: Live, target: Target, sizes: WatchSizes, count: int) -> Figures:
    with viewers(running, count) as read:
        time.sleep(min(2.0, sizes.watched_s))  # the first snapshots are whole
        own, others, before = running.own(), running.instances(), sum(read)
        own_s, others_s, began_s = scene.cpu_s(own), scene.cpu_s(others), time.perf_counter()
        called = asyncio.run(client.run(target.where, target.requests, CONNECTIONS, sizes.watched_s, sizes.pause_s))
        took_s = time.perf_counter() - began_s
        return {
            "viewers": count,
            "calls_per_second": called.per_second,
            "endpoint_cpu_percent": 100 * (scene.cpu_s(own) - own_s) / took_s,
            "instances_cpu_percent": 100 * (scene.cpu_s(others) - others_s) / took_s,
            "kib_per_second_and_viewer": (sum(read) - before) / 1024 / took_s / max(1, count),
        }


def warm_cost(running: Live, target: Target, sizes: WatchSizes) -> list[Figures]:
    """The processor time of a warm request at full load, closed and open in turns."""
    closed, opened = [], []
    for _ in range(sizes.rounds):
        with viewers(running, 0):
            closed.append(_turn(target, sizes))
        with viewers(running, 1):
            time.sleep(0.5)
            opened.append(_turn(target, sizes))
    ratio = median(one / other for one, other in zip(opened, closed, strict=True))
    return [
        {"page": "closed", **spread("cpu_us", closed), "cpu_of_closed": 1.0},
        {"page": "open", **spread("cpu_us", opened), "cpu_of_closed": ratio},
    ]


def _turn(target: Target, sizes: WatchSizes) -> float:
    return turn(target, CONNECTIONS, sizes.turn_s).cpu_us


# -- the page ----------------------------------------------------------------------------------------------------------
def page(running: Live, target: Target, sizes: WatchSizes) -> list[Figures]:
    """How long the page's own tasks take in each panel, while the models are called. Empty without a browser."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return []
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] * (os.getuid() == 0)
    with _calls(target, sizes), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        opened = browser.new_page()
        url = f"{running.process.url}/_torpor/#/bench"
        found = [_panel(browser, opened, f"{url}/{name}", sizes.watched_s) for name in PANELS]
        browser.close()
    return found


def _panel(browser: Any, opened: Any, url: str, for_s: float) -> Figures:
    """The tasks of the page's main thread while it shows this panel; with the first panel, those of its load too.

    On a busy machine a task waits for a processor: so its processor time is shown as well.
    """
    browser.start_tracing(page=opened, categories=TRACED)
    opened.goto(url)
    opened.wait_for_timeout(1000 * for_s)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    tasks = [
        (one["dur"] / 1000, one.get("tdur", 0) / 1000) for one in events if one["name"].endswith(TASK) and "dur" in one
    ]
    return {
        "panel": url.rpartition("/")[2],
        f"tasks_over_{LONG_MS:.0f}_ms": sum(wall_ms > LONG_MS for wall_ms, _ in tasks),
        "longest_ms": max(wall_ms for wall_ms, _ in tasks),
        "longest_cpu_ms": max(cpu_ms for _, cpu_ms in tasks),
        "elements": opened.evaluate("document.querySelectorAll('*').length"),
        "heap_mib": opened.evaluate("performance.memory.usedJSHeapSize") / 2**20,
    }


def _calls(target: Target, sizes: WatchSizes) -> AbstractContextManager[None]:
    """The same calls as above, until the block ends."""
    return _beside(lambda: [client.run(target.where, target.requests, CONNECTIONS, FOR_EVER_S, sizes.pause_s)])


def show(titled: Sequence[tuple[str, list[Figures]]]) -> None:
    for title, rows in titled:
        if rows:
            Console(width=120).print(table(title, rows))


def main() -> None:
    parser = command("dashboard", __doc__)
    parser.add_argument("--short", action="store_true", help="a smoke run: figures that mean little")
    wanted = parser.parse_args()
    sizes = SHORT if wanted.short else WatchSizes()
    with crowded(sizes) as (running, target):
        found = {
            "watched": watched(running, target, sizes),
            "warm": warm_cost(running, target, sizes),
            "page": page(running, target, sizes),
        }
    titles = {
        "watched": "Viewers",
        "warm": f"A warm request, {CONNECTIONS} connections",
        "page": "The page's long tasks",
    }
    show([(titles[name], rows) for name, rows in found.items()])
    keep(wanted.results, "dashboard", {"load": os.getloadavg(), "models": sizes.models, **found})


if __name__ == "__main__":
    main()
