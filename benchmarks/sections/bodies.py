"""Bodies of 6 MiB in and about as much out: throughput and memory beside the bare reference's.

The model is a small one of one column, so that what is measured is mostly reading, moving and writing.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import xgboost

import torpor
from benchmarks import bare, client
from benchmarks.bare import Bare
from benchmarks.live import CSV, Serve
from benchmarks.measure import Figures, Target, WrongAnswer, cpu_ratio, figures, rate_ratio, warm
from benchmarks.memory import peak_growth
from benchmarks.sizes import Sizes

MIB = 2**20
LINE = b"0.12345678901234567\n"
LINE_BYTES = len(LINE)
CONNECTIONS = (1, 4)
MODEL = "column.tar.gz"
TORPOR = "Torpor"
REFERENCE = "reference"


def rows(folder: Path, sizes: Sizes, live: Serve) -> list[Figures]:
    _make_model(folder / "artifacts")
    body = _body(sizes.body_bytes)
    with ExitStack() as stack:
        alone = Bare.of(REFERENCE, folder / "artifacts", {MODEL: 0.0}, folder / "bare")
        served = stack.enter_context(bare.reference(alone, "rows"))
        plain = replace(served, requests=[client.request("/invocations", CSV, body)])
        running = stack.enter_context(live())
        running.link(folder / "artifacts")
        running.deploy(TORPOR_MEMORY_MIB=4096)
        whole = replace(running.through(TORPOR, {MODEL: 0.0}), requests=[running.request(MODEL, body=body)])
        short = {plain.name: client.request("/invocations", CSV, LINE), whole.name: running.request(MODEL, body=LINE)}
        grown = {target.name: _memory(target, short[target.name], sizes.body_rounds) for target in (plain, whole)}
        answered = _agree([plain, whole])
        found = []
        for connections in CONNECTIONS:
            turns = warm([plain, whole], (), connections, sizes.turn_s, sizes.body_rounds)
            for target in (plain, whole):
                seen = turns[target.name]
                found.append(
                    {
                        "target": target.name,
                        "connections": connections,
                        "in_mib": len(body) / MIB,
                        "out_mib": answered / MIB,
                        **figures(seen),
                        "throughput_of_reference": rate_ratio(seen, turns[REFERENCE]),
                        "cpu_of_reference": cpu_ratio(seen, turns[REFERENCE]),
                        "memory_in_bodies": grown[target.name] * MIB / len(body) if connections == 1 else "",
                    }
                )
        return found


def _make_model(folder: Path) -> None:
    column = np.linspace(-1, 1, 2000).reshape(-1, 1)
    matrix = xgboost.DMatrix(column, np.sin(3 * column), nthread=1)
    torpor.bundle(xgboost.train({"max_depth": 3, "nthread": 1}, matrix, num_boost_round=5), folder / MODEL)


def _body(size_bytes: int) -> bytes:
    """Lines of one number, each of the same length."""
    values = np.random.default_rng(7).uniform(0.1, 0.9, size_bytes // LINE_BYTES)
    return "".join(f"{value:.{LINE_BYTES - 3}f}\n" for value in values).encode()


def _agree(targets: Sequence[Target]) -> int:
    """The same numbers from all; the size of the last answer in bytes. Raises WrongAnswer."""
    told = [asyncio.run(client.answers(target.where, target.requests))[0] for target in targets]
    if any(status != 200 for status, _ in told):
        raise WrongAnswer(f"{[(status, body[:300]) for status, body in told]}")
    numbers = [np.array(json.loads(body), np.float32) for _, body in told]
    if not all(np.array_equal(numbers[0], others) for others in numbers):
        raise WrongAnswer("the targets do not answer the same numbers")
    return len(told[-1][1])


def _memory(target: Target, short: bytes, times: int) -> float:
    """By how many MiB the memory of all processes exceeds, at its peak, what they had after a short request: large
    ones are served one after another. Measured first, for freed memory is not always given back."""
    asyncio.run(client.answers(target.where, [short]))
    with peak_growth(target.pids) as grown:
        for _ in range(times):
            asyncio.run(client.answers(target.where, target.requests))
    return grown.mib
