"""XGBoost: `.json`, `.ubj` and `.model` files, SageMaker's `xgboost-model`, and boosters that were pickled.

The answer is the objective's own output, as `Booster.predict` gives it, in whichever way the model was saved. After
early stopping it is that of the best iteration, as in SageMaker's container.
"""

import json
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

from torpor_container.content import Layout, Rows, decode
from torpor_container.errors import LoadFailed
from torpor_container.formats import pickled
from torpor_container.formats.format import Conventions, Format, Model, named
from torpor_container.formats.served import ServedModel

FIRST_KEY = b"learner"
"""Every JSON and UBJSON model opens with it; other JSON files in an artifact do not."""
PICKLE = b"\x80"


def files(directory: Path) -> list[Path]:
    return named("xgboost-model", "*.model")(directory) + named("*.json", "*.ubj", holding=FIRST_KEY)(directory)


def load(path: Path, conventions: Conventions) -> Model:
    """Raises LoadFailed."""
    with path.open("rb") as file:
        if file.read(1) == PICKLE:
            return pickled.load(path, conventions)
    return serve(_read(path), conventions)


def serve(booster: Any, conventions: Conventions, missing: float = nan) -> ServedModel[Rows]:
    """A booster, ready to predict on one thread. `missing` is the number that stands for a missing value."""
    from xgboost.core import XGBoostError

    booster.set_param({"nthread": 1, "device": "cpu"})
    layout = Layout(columns=booster.num_features())
    return ServedModel(
        format=FORMAT.name,
        native=booster,
        read=lambda call: decode(call.body, call.content_type, layout),
        predict=_predictor(booster, missing),
        answers=conventions.xgboost,
        refusals=(XGBoostError,),  # SageMaker's container too answers 400 for whatever XGBoost finds in the rows
    )


def _read(path: Path) -> Any:
    from xgboost import Booster
    from xgboost.core import XGBoostError

    booster = Booster()
    try:
        # From memory XGBoost tells JSON from UBJSON by content; from a file, by a name that need not be right.
        booster.load_model(bytearray(path.read_bytes()))
    except XGBoostError as error:
        raise LoadFailed(f"{path.name} is not a model that XGBoost can read: {str(error).splitlines()[0]}") from error
    return booster


def _predictor(booster: Any, missing: float) -> Callable[[Rows], Any]:
    iterations = _iterations(booster)
    if _kind(booster) == "gblinear":  # XGBoost: "Inplace predict is not supported by the current booster"
        from xgboost import DMatrix

        return lambda rows: booster.predict(DMatrix(rows, missing=missing, nthread=1), iteration_range=iterations)
    return lambda rows: booster.inplace_predict(
        rows, iteration_range=iterations, missing=missing, validate_features=False
    )


def _iterations(booster: Any) -> tuple[int, int]:
    """The boosting rounds that count; (0, 0) is all of them."""
    best = booster.attr("best_iteration")
    return (0, 0) if best is None else (0, int(best) + 1)


def _kind(booster: Any) -> str:
    return str(json.loads(booster.save_config())["learner"]["gradient_booster"]["name"])


FORMAT = Format("xgboost", files, load, bytes_per_artifact_byte=1.5, fixed_bytes=64 * 1024, frameworks=("xgboost",))
