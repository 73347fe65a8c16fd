"""Workloads for the simulator and for replay: made ones, recorded ones, and files to keep them in."""

from torpor.simulator.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gamma, Gaps, Sessions
from torpor.simulator.workloads.azure import Azure2019, Azure2021
from torpor.simulator.workloads.delimited import Delimited
from torpor.simulator.workloads.files import read, write
from torpor.simulator.workloads.ledger import Ledger
from torpor.simulator.workloads.naming import made, named
from torpor.simulator.workloads.parquet import Parquet
from torpor.simulator.workloads.profiles import DEEP, TABULAR, Laws, drawn
from torpor.simulator.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.simulator.workloads.stretch import Peak, awake_s, busiest
from torpor.simulator.workloads.synthetic import Synthetic, calibrated, zipf
from torpor.simulator.workloads.trace import (
    BadTrace,
    Chunk,
    Extent,
    First,
    Lasting,
    Paced,
    Recorded,
    Request,
    Trace,
    recorded,
    requests,
)

__all__ = [
    "BURSTY",
    "DAILY",
    "DEEP",
    "EVEN",
    "POISSON",
    "SESSIONS",
    "TABULAR",
    "TIMER",
    "Azure2019",
    "Azure2021",
    "BadTrace",
    "Chunk",
    "Delimited",
    "Extent",
    "First",
    "Gamma",
    "Gaps",
    "Lasting",
    "Laws",
    "Ledger",
    "Paced",
    "Parquet",
    "Peak",
    "Recorded",
    "Request",
    "Rhythm",
    "Sessions",
    "Synthetic",
    "Trace",
    "awake_s",
    "busiest",
    "calibrated",
    "drawn",
    "made",
    "named",
    "read",
    "recorded",
    "requests",
    "write",
    "zipf",
]
