"""Traces for the simulator and for replay: synthetic ones, recorded ones, and their file formats."""

from torpor.workloads.arrivals import BURSTY, POISSON, SESSIONS, TIMER, Gamma, Gaps, Sessions
from torpor.workloads.drawn_profiles import DEEP, TABULAR, ProfileLaws, drawn
from torpor.workloads.peaks import Peak, awake_s, busiest
from torpor.workloads.rhythm import DAILY, EVEN, Rhythm
from torpor.workloads.specification import made, named
from torpor.workloads.synthetic import Synthetic, calibrated, zipf
from torpor.workloads.trace import (
    BadTrace,
    Chunk,
    Extent,
    First,
    Paced,
    Recorded,
    TimedTrace,
    Trace,
    TraceRequest,
    recorded,
    requests,
)
from torpor.workloads.trace_formats.azure import Azure2019, Azure2021
from torpor.workloads.trace_formats.delimited import Delimited
from torpor.workloads.trace_formats.ledger_trace import LedgerFile
from torpor.workloads.trace_formats.parquet import Parquet
from torpor.workloads.trace_formats.trace_files import read, write

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
    "LedgerFile",
    "Paced",
    "Parquet",
    "Peak",
    "ProfileLaws",
    "Recorded",
    "Rhythm",
    "Sessions",
    "Synthetic",
    "TimedTrace",
    "Trace",
    "TraceRequest",
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
