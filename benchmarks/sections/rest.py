"""An endpoint process that serves nothing: how soon it is there, what it holds, and how often it moves."""

import time
from pathlib import Path

from benchmarks import scene
from benchmarks.live import Serve
from benchmarks.measure import Figures, spread
from benchmarks.memory import own_mib, rss_mib
from benchmarks.sizes import Sizes
from torpor.hosting.endpoint_process import ChildEndpoint


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    started_s = [_start_s() for _ in range(sizes.starts)]
    with ChildEndpoint() as process:
        process.until_ready()
        pids = scene.tree(process.pid)
        before_s, began_s = scene.cpu_s(pids), time.monotonic()
        time.sleep(sizes.quiet_s)
        share = (scene.cpu_s(scene.tree(process.pid)) - before_s) / (time.monotonic() - began_s)
        return [
            {
                **spread("healthy_s", started_s),
                "processes": len(pids),
                "rss_mib": rss_mib(pids),
                "own_mib": own_mib(pids),
                "cpu_percent": 100 * share,
                "watched_s": sizes.quiet_s,
            }
        ]


def _start_s() -> float:
    """From the start of the process to its first good answer."""
    began_s = time.perf_counter()
    with ChildEndpoint() as process:
        process.until_ready()
        return time.perf_counter() - began_s
