"""`python -m benchmarks.boosters MODEL COUNT`: the memory of many boosters in one bare process, and the cost of a
prediction when only one is called, when 8 take turns, and when all do. Prints one line of JSON."""

import json
import os
import sys
import time
from itertools import cycle, islice
from typing import Any

import numpy as np
import xgboost

from benchmarks.memory import own_mib
from benchmarks.scene import ROW

PREDICTIONS_MAX = 4000
PREDICTIONS_EACH = 40
FEW = 8


def measured(model: str, count: int) -> dict[str, float]:
    boosters = [_loaded(model)]
    times = min(PREDICTIONS_MAX, PREDICTIONS_EACH * count)
    _predict(boosters, times)
    before_mib = own_mib([os.getpid()])
    boosters += [_loaded(model) for _ in range(count - 1)]
    grown_mib = own_mib([os.getpid()]) - before_mib
    _predict(boosters, count)  # each for the first time
    return {
        "kib_each": 1024 * grown_mib / max(1, count - 1),
        "us_one": _predict(boosters[:1], times),
        "us_few": _predict(boosters[:FEW], times),
        "us_all": _predict(boosters, times),
    }


def _loaded(model: str) -> Any:
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(model)
    return booster


def _predict(boosters: list[Any], times: int) -> float:
    """The microseconds of processor time of one prediction."""
    row = np.array(ROW.split(b","), np.float32).reshape(1, -1)
    began_s = time.process_time()
    for booster in islice(cycle(boosters), times):
        booster.inplace_predict(row, validate_features=False)
    return 1e6 * (time.process_time() - began_s) / times


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
