"""Bodies of the largest size: the answer is right to the last row, and no process holds many copies."""

import json
from pathlib import Path

import numpy as np
import xgboost

from benchmarks.memory import peak_growth
from tests.endpoint.helpers import endpoint_pages
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import COLUMNS, ROW, booster, put

MIB = 1024 * 1024
CELL = "0.12345678901234567"
ROWS = 6 * MIB // (COLUMNS * (len(CELL) + 1))
BODIES_MAX = 4.0
"""One in the endpoint and one in the instance, what is made of them, and room for what a first large one brings in."""


def test_six_mebibytes_are_answered_whole_and_held_but_once_by_each_process(tmp_path: Path) -> None:
    cells = np.random.default_rng(7).normal(size=(ROWS, COLUMNS))
    cells[ROWS // 2, 1] = np.nan
    lines = [",".join("" if np.isnan(cell) else f"{cell:.{len(CELL) - 3}f}" for cell in row) for row in cells]
    body = "\n".join(lines).encode()
    model = xgboost.Booster(model_file=bytearray(booster()))
    expected = model.predict(xgboost.DMatrix(cells.astype(np.float32), nthread=1))

    with LiveEndpoint(tmp_path) as live:
        put(live.folder("large"), {"good.json": booster()})
        live.deploy("Large", Variant(many("large")))
        live.invoke("Large", ROW, TargetModel="good.json")
        with peak_growth(lambda: [*live.worker_pids(), *endpoint_pages.forked(live)]) as grown:
            answers = [live.invoke("Large", body, TargetModel="good.json", Accept="application/json") for _ in range(3)]

    for answer in answers:
        np.testing.assert_array_equal(np.array(json.loads(answer["Body"]), np.float32), expected)
    assert grown.mib * MIB < BODIES_MAX * len(body)
