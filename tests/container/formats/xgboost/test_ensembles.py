"""Several boosters in one artifact answer as one: they are averaged, or they vote."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from tests.container.helpers.proved_models import is_proved, load_after_replacement
from torpor_container.errors import AmbiguousArtifact, LoadFailed
from torpor_container.formats import Conventions, detect
from torpor_container.formats.xgboost.ensembles import average, vote
from torpor_container.invocation import Invocation

RANDOM = np.random.default_rng(4)
ROWS = RANDOM.random((120, 3))
ASKED = np.array([[0.4, 0.2, 0.7], [0.9, 0.9, 0.9]])


def booster(shift: int, rounds: int = 4, columns: int = 3, **parameters: Any) -> Any:
    target = (ROWS.sum(axis=1) * 2).astype(int) % 3 if "num_class" in parameters else ROWS.sum(axis=1) + shift
    if parameters.get("objective", "").startswith("binary"):
        target = (ROWS[:, shift] > 0.5).astype(int)
    return xgboost.train(
        {"nthread": 1, "max_depth": shift + 1, **parameters}, xgboost.DMatrix(ROWS[:, :columns], target), rounds
    )


def answer(directory: Path, conventions: Conventions = Conventions()) -> Any:  # noqa: B008  frozen
    known, path = detect(directory, conventions=conventions)
    body = "\n".join(",".join(map(repr, row)) for row in ASKED.tolist()).encode()
    return json.loads(known.load(path, conventions).invoke(Invocation(body, "text/csv", "application/json")).body)


def place(directory: Path, boosters: dict[str, Any]) -> Path:
    for name, one in boosters.items():
        as_pickle = name.endswith(".pkl")
        (directory / name).write_bytes(pickle.dumps(one) if as_pickle else bytes(one.save_raw("ubj")))
    return directory


NAMES = [
    ["xgboost-model-0", "xgboost-model-1", "xgboost-model-2"],
    ["xgboost-model-8", "xgboost-model-9", "xgboost-model-10"],
]


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
def test_the_folds_of_one_training_are_averaged(tmp_path: Path, names: list[str], objective: str) -> None:
    folds = [booster(number, objective=objective) for number in range(3)]
    place(tmp_path, dict(zip(names, folds, strict=True)))
    expected = np.mean([one.predict(xgboost.DMatrix(ASKED)) for one in folds], axis=0)
    assert answer(tmp_path) == pytest.approx(expected, abs=1e-7)


def test_probabilities_of_each_class_are_averaged(tmp_path: Path) -> None:
    folds = [booster(number, objective="multi:softprob", num_class=3) for number in range(2)]
    place(tmp_path, dict(zip(NAMES[0], folds, strict=False)))
    expected = np.mean([one.predict(xgboost.DMatrix(ASKED)) for one in folds], axis=0)
    assert np.array(answer(tmp_path)) == pytest.approx(expected, abs=1e-7)


def test_an_ensemble_needs_a_trial_if_one_of_its_files_does(tmp_path: Path) -> None:
    place(tmp_path, {name: booster(number) for number, name in enumerate(NAMES[0])})
    known, path = detect(tmp_path)
    assert is_proved(known, path)
    model = load_after_replacement(known, path)
    model.close()
    place(tmp_path, {name: booster(number) for number, name in enumerate(NAMES[0])})
    with (tmp_path / NAMES[0][1]).open("ab") as last:
        last.write(b" ")
    assert not is_proved(known, path)


@pytest.mark.parametrize(("objective", "more"), [("multi:softmax", {"num_class": 3}), ("binary:hinge", {})])
def test_classes_vote(tmp_path: Path, objective: str, more: dict[str, Any]) -> None:
    folds = [booster(number, objective=objective, **more) for number in range(3)]
    place(tmp_path, dict(zip(NAMES[0], folds, strict=True)))
    each = np.stack([one.predict(xgboost.DMatrix(ASKED)) for one in folds]).tolist()
    assert answer(tmp_path) == [max(sorted(set(column)), key=column.count) for column in zip(*each, strict=True)]


def test_votes_go_to_the_most_and_of_equals_to_the_smallest() -> None:
    said = [np.array([0.0, 2.0, 1.0]), np.array([2.0, 1.0, 1.0]), np.array([2.0, 0.0, 0.0])]
    assert vote(said).tolist() == [2.0, 0.0, 1.0]
    assert average(said).tolist() == pytest.approx([4 / 3, 1.0, 2 / 3])


def test_the_first_fold_answers_alone_where_ensembles_are_off(tmp_path: Path) -> None:
    folds = [booster(number) for number in (2, 0)]
    place(tmp_path, dict(zip(["xgboost-model-9", "xgboost-model-10"], folds, strict=True)))
    expected = folds[0].predict(xgboost.DMatrix(ASKED))
    assert answer(tmp_path, Conventions(ensemble=False)) == pytest.approx(expected)


def test_to_awss_image_all_boosters_are_folds_whatever_they_are_called(tmp_path: Path) -> None:
    folds = {"north.json": booster(0), "south.ubj": booster(1), "west": booster(2)}
    place(tmp_path, folds)
    (tmp_path / "notes.json").write_text('{"learner": "x"}')
    expected = np.mean([one.predict(xgboost.DMatrix(ASKED)) for one in folds.values()], axis=0)
    assert answer(tmp_path, Conventions(image="xgboost")) == pytest.approx(expected)
    with pytest.raises(AmbiguousArtifact, match=r"north\.json, south\.ubj"):
        answer(tmp_path)


@pytest.mark.parametrize("names", [("model-v1.ubj", "model-v2.ubj"), ("fold0.pkl", "fold1.pkl")])
def test_two_versions_side_by_side_are_no_folds(tmp_path: Path, names: tuple[str, str]) -> None:
    place(tmp_path, {name: booster(number) for number, name in enumerate(names)})
    with pytest.raises(AmbiguousArtifact, match=names[0]):
        answer(tmp_path)
    assert answer(tmp_path, Conventions(image="xgboost"))


@pytest.mark.parametrize("other", [booster(0, columns=2), booster(0, objective="count:poisson")])
def test_boosters_that_do_not_belong_together_are_an_error_that_names_one(tmp_path: Path, other: Any) -> None:
    place(tmp_path, {"xgboost-model-0": booster(0), "xgboost-model-1": other})
    with pytest.raises(LoadFailed, match=r"xgboost-model-1 has .* cannot answer together"):
        answer(tmp_path)


def test_a_pickled_fold_is_refused_where_pickles_are(tmp_path: Path) -> None:
    (tmp_path / "xgboost-model-0").write_bytes(pickle.dumps(booster(0)))
    (tmp_path / "xgboost-model-1").write_bytes(pickle.dumps(booster(1)))
    with pytest.raises(LoadFailed, match=r"xgboost-model-0 is a pickle.* TORPOR_PICKLES=refuse"):
        answer(tmp_path, Conventions(image="xgboost", pickles=False))
