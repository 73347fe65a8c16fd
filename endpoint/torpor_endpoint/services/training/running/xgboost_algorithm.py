"""Trains with XGBoost like SageMaker's built-in algorithm, for jobs without a script: `python -m` runs this module.

It reads CSV and libsvm files of the channels `train` and `validation`, and passes hyperparameters to XGBoost.
"""

import io
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from sklearn.datasets import load_svmlight_file
from xgboost.core import XGBoostError

OURS = frozenset({"num_round", "early_stopping_rounds", "csv_weights", "eval_metric", "save_model_on_termination"})
"""Hyperparameters that are not XGBoost's own."""

CPP_PLACE = re.compile(r"^\[[0-9:]+\] \S+?:[0-9]+: (Check failed: [^:]*: )?")
"""`[18:38:01] /workspace/src/objective/regression_obj.cu:114: Check failed: is_valid: `"""
REASON_MAX = 500
"""Characters. The FailureReason of DescribeTrainingJob has at most 1024, and more parts than this one."""

CSV, LIBSVM = ("csv", "text/csv"), ("libsvm", "text/libsvm", "text/x-libsvm")


class Unusable(Exception):
    """The hyperparameters or files are not usable for training."""


def train(hyperparameters: Mapping[str, Any], channels: Mapping[str, xgboost.DMatrix]) -> xgboost.Booster:
    """Train a booster. Raises Unusable, XGBoostError."""
    if "num_round" not in hyperparameters:
        raise Unusable("Missing required hyperparameter: num_round")
    if odd := sorted(name for name in hyperparameters if name.startswith("_")):
        raise Unusable(f"Torpor does not support the hyperparameters {', '.join(odd)}")
    parameters = {name: value for name, value in hyperparameters.items() if name not in OURS}
    if metrics := hyperparameters.get("eval_metric"):
        parameters["eval_metric"] = metrics.split(",") if isinstance(metrics, str) else metrics
    return xgboost.train(
        parameters,
        channels["train"],
        num_boost_round=int(hyperparameters["num_round"]),
        evals=[(matrix, name) for name, matrix in channels.items()],
        early_stopping_rounds=hyperparameters.get("early_stopping_rounds"),
    )


def matrix(folder: Path, content_type: str, weighted: bool, columns: int | None = None) -> xgboost.DMatrix:
    """All files of a channel as one matrix. The first column is the label. `columns` is the number of columns of the
    channel `train`."""
    # "For libsvm training ... the default content type is text/libsvm"
    kind = content_type.partition(";")[0].strip().lower() or LIBSVM[0]
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
    if not files:
        raise Unusable(f"No data in the channel {folder.name}")
    if kind in CSV:
        rows = np.concatenate([_csv(path) for path in files])
        first = 2 if weighted else 1
        return xgboost.DMatrix(rows[:, first:], rows[:, 0], weight=rows[:, 1] if weighted else None)
    if kind in LIBSVM:
        lines = io.BytesIO(b"\n".join(path.read_bytes() for path in files))
        return xgboost.DMatrix(*load_svmlight_file(lines, n_features=columns, zero_based=True))
    raise Unusable(f"{content_type} is not an accepted ContentType: {', '.join(CSV + LIBSVM)}.")


def _csv(path: Path) -> Any:
    """ "Amazon SageMaker AI requires that a CSV file does not have a header record" """
    with path.open() as file:
        first = file.readline()
    delimiter = next((sign for sign in (",", ";", "\t") if sign in first), ",")
    return np.genfromtxt(path, dtype=np.float32, delimiter=delimiter, ndmin=2)


def _channels(hyperparameters: Mapping[str, Any]) -> dict[str, xgboost.DMatrix]:
    given = json.loads(os.environ["SM_INPUT_DATA_CONFIG"])
    if "train" not in given:
        raise Unusable("Missing required channel: train")
    weighted = int(hyperparameters.get("csv_weights", 0)) == 1
    train = matrix(Path(os.environ["SM_CHANNEL_TRAIN"]), given["train"].get("ContentType", ""), weighted)
    if "validation" not in given:
        return {"train": train}
    folder, content_type = Path(os.environ["SM_CHANNEL_VALIDATION"]), given["validation"].get("ContentType", "")
    return {"train": train, "validation": matrix(folder, content_type, False, train.num_col())}


def reason(error: Exception) -> str:
    """The error's text without XGBoost's C++ source locations. The log has the whole text."""
    text = CPP_PLACE.sub("", str(error).partition("Stack trace:")[0].strip())
    return text if len(text) <= REASON_MAX else f"{text[: REASON_MAX - 1]}…"


def main() -> int:
    hyperparameters = json.loads(os.environ["SM_HPS"])
    try:
        booster = train(hyperparameters, _channels(hyperparameters))
    except (Unusable, XGBoostError, ValueError) as error:
        print(error, file=sys.stderr)
        Path(os.environ["SM_OUTPUT_DIR"], "failure").write_text(reason(error))
        return 1
    Path(os.environ["SM_MODEL_DIR"], "xgboost-model").write_bytes(booster.save_raw("ubj"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
