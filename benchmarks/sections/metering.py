"""What metrics and ledger add to a warm request. No switch turns them off, so they are called alone.

The product's own meters and ledger are told of warm requests as the runtime tells them, and the ledger is written after
every thousand. The clock and the steps of `Server-Timing`, which an answer carries anyway, are not in it.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.live import Serve
from benchmarks.measure import Figures, spread
from benchmarks.sizes import Sizes
from torpor_endpoint.cloudwatch.registry import MetricRegistry
from torpor_endpoint.ledger.keeping import Ledger
from torpor_endpoint.ledger.records import Invocation
from torpor_endpoint.runtime.meter import Meters, Sample

REQUESTS = 1000
ENDPOINT, VARIANT, MODEL = "bench", "AllTraffic", "model-0.tar.gz"
STEPS = {"queue": 0.0001, "predict": 0.0002, "overhead": 0.0003}
TOTAL_S = sum(STEPS.values())


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    meters = Meters(MetricRegistry(time.time), time.time)
    ledger = Ledger(folder / "ledger.db", time.time)
    parts: dict[str, Callable[[], None]] = {
        "metrics": lambda: _metered(meters),
        "ledger, and writing it": lambda: _entered(ledger),
    }
    taken = {name: [_us_each(part) for _ in range(sizes.rounds)] for name, part in parts.items()}
    ledger.close()
    return [{"what": name, **spread("cpu_us", values)} for name, values in taken.items()]


def _metered(meters: Meters) -> None:
    for _ in range(REQUESTS):
        meters.add(ENDPOINT, VARIANT, Sample(1, 200, 0.0003, 0.0003, True))


def _entered(ledger: Ledger) -> None:
    for _ in range(REQUESTS):
        at_s = time.time()
        ledger.invoked(Invocation(at_s, "0", ENDPOINT, VARIANT, MODEL, "instance", 200, STEPS, TOTAL_S, 24, 20, None))
    asyncio.run(ledger.flush())


def _us_each(part: Callable[[], None]) -> float:
    """Processor time of this process, all threads, for one request."""
    began_s = time.process_time()
    part()
    return 1e6 * (time.process_time() - began_s) / REQUESTS
