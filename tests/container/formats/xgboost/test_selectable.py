"""Selectable inference: the members of a prediction, by key, in each content type."""

import json
import re
import struct
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from torpor_container.errors import LoadFailed, NotAcceptable
from torpor_container.formats import Conventions
from torpor_container.formats.format import ServableModel
from torpor_container.formats.xgboost import boosters
from torpor_container.formats.xgboost.selectable import OBJECTIVES
from torpor_container.image.aws_images import SELECTABLE, selected
from torpor_container.invocation import Invocation

ROWS = np.random.default_rng(4).random((90, 3))
TARGET = (ROWS.sum(axis=1) * 2).astype(int) % 3
ASKED = np.array([[0.4, 0.2, 0.7], [0.9, 0.9, 0.9]])
BODY = b"0.4,0.2,0.7\n0.9,0.9,0.9"


@cache
def booster(objective: str) -> Any:
    more = {"num_class": 3} if objective.startswith("multi") else {}
    target = TARGET if more else (TARGET > 0) * 1
    return xgboost.train(
        {"nthread": 1, "objective": objective, "max_depth": 2, **more}, xgboost.DMatrix(ROWS, target), 3
    )


def model(objective: str, keys: str, **conventions: Any) -> ServableModel:
    return boosters.serve(booster(objective), Conventions(inference_output=keys, **conventions))


def told(objective: str, keys: str = ",".join(SELECTABLE)) -> list[dict[str, Any]]:
    body = model(objective, keys).invoke(Invocation(BODY, "text/csv", "application/json")).body
    predictions: list[dict[str, Any]] = json.loads(body)["predictions"]
    return predictions


def predicted(objective: str) -> Any:
    return booster(objective).predict(xgboost.DMatrix(ASKED)).tolist()


def test_a_binary_prediction_has_its_label_and_both_probabilities() -> None:
    for one, score in zip(told("binary:logistic"), predicted("binary:logistic"), strict=True):
        assert isnan(one.pop("predicted_score"))
        assert one == {
            "predicted_label": int(score > 0.5),
            "labels": [0, 1],
            "probability": score,
            "probabilities": [1.0 - score, score],
            "raw_score": score,
            "raw_scores": [1.0 - score, score],
        }
        assert list(one) == list(SELECTABLE[:-1])


def test_a_prediction_of_several_classes_has_the_likeliest() -> None:
    for one, scores in zip(told("multi:softprob"), predicted("multi:softprob"), strict=True):
        assert one["predicted_label"] == scores.index(max(scores))
        assert one["labels"] == [0, 1, 2]
        assert one["probability"] == one["raw_score"] == max(scores)
        assert one["probabilities"] == one["raw_scores"] == scores


@pytest.mark.parametrize(
    ("objective", "label"),
    [
        ("binary:logitraw", lambda score: int(score > 0)),
        ("binary:hinge", lambda score: score),
        ("multi:softmax", lambda score: score),
    ],
)
def test_an_objective_without_probabilities_has_nan_for_them(objective: str, label: Any) -> None:
    for one, score in zip(told(objective), predicted(objective), strict=True):
        assert one["predicted_label"] == label(score)
        assert one["raw_score"] == score
        assert one["raw_scores"] == [1.0 - score, score]
        assert isnan(one["probability"])
        assert isnan(one["probabilities"])


def test_a_regression_has_its_score() -> None:
    scores = [one["predicted_score"] for one in told("reg:squarederror")]
    assert scores == predicted("reg:squarederror")
    assert isnan(told("reg:squarederror", "predicted_label,predicted_score")[0]["predicted_label"])


def test_csv_has_the_keys_in_the_order_in_which_they_were_asked_for() -> None:
    reply = model("binary:logistic", " Probabilities, predicted_label", multi_model=False).invoke(
        Invocation(BODY, "text/csv")
    )
    lines = [f'"{[1.0 - score, score]}",{int(score > 0.5)}' for score in predicted("binary:logistic")]
    assert (reply.body, reply.content_type) == ("\n".join(lines).encode(), "text/csv")


def test_json_lines_has_a_prediction_a_line() -> None:
    asked = Invocation(BODY, "text/csv", "application/jsonlines")
    lines = model("multi:softprob", "labels,probability").invoke(asked).body.splitlines()
    assert [json.loads(line) for line in lines] == told("multi:softprob", "labels,probability")


def test_recordio_has_a_record_of_float32_tensors_a_prediction() -> None:
    asked = Invocation(BODY, "text/csv", "application/x-recordio-protobuf")
    body, scores = model("binary:logistic", "probability").invoke(asked).body, predicted("binary:logistic")
    for score in scores:
        magic, length = struct.unpack_from("<II", body)
        assert magic == 0xCED7230A
        tensor = b"\x0a\x04" + struct.pack("<f", score)
        value = b"\x12" + bytes([len(tensor)]) + tensor
        entry = b"\x0a\x0bprobability\x12" + bytes([len(value)]) + value
        assert body[8 : 8 + length] == b"\x12" + bytes([len(entry)]) + entry
        body = body[8 + length + -length % 4 :]
    assert body == b""


def test_an_unsupported_objective_type_or_key_is_refused() -> None:
    with pytest.raises(LoadFailed, match="Objective `count:poisson` unsupported for selectable inference"):
        model("count:poisson", "predicted_score")
    with pytest.raises(NotAcceptable, match="application/x-recordio-protobuf"):
        model("binary:logistic", "labels").invoke(Invocation(BODY, "text/csv", "application/x-npy"))
    with pytest.raises(ValueError, match="'foo' is not a key: choose from predicted_label, labels"):
        selected("predicted_label, foo")


def test_the_docs_have_each_objective_with_its_keys() -> None:
    page = (Path(__file__).parents[4] / "docs" / "reference" / "xgboost.md").read_text()
    rows = [
        [set(re.findall("`([^`]+)`", cell)) for cell in row.split("|")[1:3]] for row in page.splitlines() if "|" in row
    ]
    told = {objective: keys for objectives, keys in rows for objective in objectives if objective in OBJECTIVES}
    assert told == {objective: set(readings) for objective, readings in OBJECTIVES.items()}
