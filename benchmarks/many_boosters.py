"""Makes many boosters of 100 trees of depth 6 quickly: six shapes are trained, and each model has values of its own."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xgboost

from benchmarks.scene import COLUMNS

SHAPES = 6
TREES = 100
VALUES = b"split_conditions[$d#L"
"""How XGBoost writes the thresholds and leaves of a tree in UBJSON: an array of float32, its count in eight bytes."""
FILE = "model.ubj"


def boosters(count: int) -> Iterator[bytes]:
    """Models in UBJSON. No two have the same thresholds and leaves."""
    shapes = [_shape(number) for number in range(min(SHAPES, count))]
    random = np.random.default_rng(11)
    for number in range(count):
        content, places = shapes[number % len(shapes)]
        copy = content.copy()
        for place in places:
            values = copy[place].view(">f4")
            values *= random.uniform(0.5, 1.5, len(values)).astype(np.float32)
        yield copy.tobytes()


def pack(model: bytes, artifact: Path) -> None:
    """Hardly compressed: what is measured is not gzip."""
    with tarfile.open(artifact, "w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo(FILE)
        entry.size = len(model)
        archive.addfile(entry, io.BytesIO(model))


def _shape(number: int) -> tuple["np.ndarray[tuple[int], np.dtype[np.uint8]]", list[slice]]:
    """A trained booster's bytes, and where its trees' thresholds and leaves are."""
    random = np.random.default_rng(number)
    rows = random.normal(size=(2000, COLUMNS))
    label = rows @ random.normal(size=COLUMNS) + rows[:, 0] * rows[:, number % COLUMNS]
    parameters = {"max_depth": 6, "nthread": 1, "seed": number, "eta": 0.1 + 0.05 * number}
    booster = xgboost.train(parameters, xgboost.DMatrix(rows, label, nthread=1), TREES)
    content = bytes(booster.save_raw("ubj"))
    places, at = list[slice](), 0
    while (at := content.find(VALUES, at)) >= 0:
        start = at + len(VALUES) + 8
        count = int.from_bytes(content[start - 8 : start], "big")
        places.append(slice(start, start + 4 * count))
        at = start
    if len(places) != TREES:
        raise RuntimeError(f"{len(places)} of {TREES} trees were found in XGBoost's UBJSON")
    return np.frombuffer(content, np.uint8).copy(), places
