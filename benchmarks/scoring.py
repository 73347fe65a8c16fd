"""A bare loop that scores a CSV file in one process, beside which transform jobs are measured.

It is what people write themselves, in the fewest lines that are quick: it reads some MiB of lines, has NumPy parse
them, predicts with one thread, and writes each line with its prediction.
"""

import io
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xgboost

BLOCK_BYTES = 6 * 2**20


def score(model: Path, source: Path, result: Path) -> None:
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(model.read_bytes()))
    with source.open("rb") as reading, result.open("w") as writing:
        for block in _blocks(reading):
            rows = np.loadtxt(io.BytesIO(block), np.float32, delimiter=",", ndmin=2)
            said = booster.inplace_predict(rows, validate_features=False).tolist()
            lines = block.decode().splitlines()
            writing.writelines([f"{line},{number}\n" for line, number in zip(lines, said, strict=True)])


def _blocks(reading: io.BufferedReader) -> Iterator[bytes]:
    """Whole lines."""
    while block := reading.read(BLOCK_BYTES):
        yield block + reading.readline()


if __name__ == "__main__":
    began_s, used_s = time.perf_counter(), time.process_time()
    score(*map(Path, sys.argv[1:]))
    print(time.perf_counter() - began_s, time.process_time() - used_s)
