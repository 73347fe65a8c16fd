"""Selectable inference (SAGEMAKER_INFERENCE_OUTPUT): an answer has a label, probabilities and the like for each row.

The keys, which objective has which, and the answers' forms are those of sagemaker-xgboost-container, with which
SageMaker Autopilot deploys its models. A key that the objective does not have is NaN, as there; an unknown key is
refused (`aws_images.selected`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from typing import Any

from torpor_container.content import Rows
from torpor_container.content.answers import Answers, Encoder, write_json
from torpor_container.content.media import CSV, JSON, JSONLINES, RECORDIO
from torpor_container.content.recordio import write_records
from torpor_container.errors import LoadFailed
from torpor_container.formats.format import Conventions
from torpor_container.image.aws_images import SELECTABLE, selected

Reading = Callable[[Any, int], Any]
"""The value of a key for one prediction, a number or a row of numbers, of a model with this many classes."""

VARIABLE = "SAGEMAKER_INFERENCE_OUTPUT"


def _both(score: float, classes: int) -> list[float]:
    return [1.0 - score, score]


def _itself(score: Any, classes: int) -> Any:
    return score


def _count(score: Any, classes: int) -> list[int]:
    return list(range(classes))


TWO: Mapping[str, Reading] = {"labels": lambda score, classes: [0, 1], "raw_score": _itself, "raw_scores": _both}
REGRESSION: Mapping[str, Reading] = {"predicted_score": _itself}
OBJECTIVES: Mapping[str, Mapping[str, Reading]] = {
    "reg:squarederror": REGRESSION,
    "reg:logistic": REGRESSION,
    "reg:gamma": REGRESSION,
    "reg:tweedie": REGRESSION,
    "binary:logistic": {
        **TWO,
        "predicted_label": lambda score, classes: int(score > 0.5),
        "probability": _itself,
        "probabilities": _both,
    },
    "binary:logitraw": {**TWO, "predicted_label": lambda score, classes: int(score > 0)},
    "binary:hinge": {**TWO, "predicted_label": _itself},
    "multi:softmax": {**TWO, "labels": _count, "predicted_label": _itself},
    "multi:softprob": {
        "predicted_label": lambda scores, classes: scores.index(max(scores)),
        "labels": _count,
        "probability": lambda scores, classes: max(scores),
        "probabilities": _itself,
        "raw_score": lambda scores, classes: max(scores),
        "raw_scores": _itself,
    },
}


def answers(conventions: Conventions, objective: str, classes: int) -> Answers:
    """How a booster of this objective answers. Raises LoadFailed for an objective without keys."""
    readings = OBJECTIVES.get(objective)
    if readings is None:
        raise LoadFailed(
            f"Objective `{objective}` unsupported for selectable inference predictions: unset {VARIABLE}, or use one "
            f"of {', '.join(OBJECTIVES)}"
        )
    keys = selected(conventions.inference_output)
    selection = partial(select, keys, readings, classes)
    encoders: dict[str, Encoder] = {
        CSV: lambda prediction: _csv(selection(prediction), keys),
        JSON: lambda prediction: write_json({"predictions": selection(prediction)}).encode(),
        JSONLINES: lambda prediction: b"".join(write_json(one).encode() + b"\n" for one in selection(prediction)),
        RECORDIO: lambda prediction: write_records(map(_numbers, selection(prediction))),
    }
    default = JSON if conventions.multi_model else CSV
    return Answers({default: encoders[default], **encoders}).preferring(conventions.default_accept)


def select(
    keys: Sequence[str], readings: Mapping[str, Reading], classes: int, prediction: Rows
) -> list[dict[str, Any]]:
    """The values for each prediction: first the keys that the objective has, then those that it does not have."""
    has = [key for key in SELECTABLE if key in keys and key in readings]
    lacks = [key for key in SELECTABLE if key in keys and key not in readings]
    rows = prediction.tolist()
    return [{key: readings[key](row, classes) for key in has} | dict.fromkeys(lacks, nan) for row in rows]


def _csv(values: list[dict[str, Any]], keys: Sequence[str]) -> bytes:
    """Rows of CSV, in the order of the setting; a list is one cell. The last row has no line end."""
    return "\n".join(",".join(_cell(one[key]) for key in keys) for one in values).encode()


def _cell(value: Any) -> str:
    return f'"{value}"' if isinstance(value, list) else str(value)


def _numbers(values: dict[str, Any]) -> dict[str, list[float]]:
    return {key: value if isinstance(value, list) else [value] for key, value in values.items()}
