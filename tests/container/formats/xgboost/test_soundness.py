"""A booster of any kind is proved by what XGBoost writes of it: sound ones serve, and others do not."""

import json
from pathlib import Path

import numpy as np
import pytest
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS
from tests.container.helpers.boosters_of_other_kinds import KINDS, of_vectors
from torpor_container.content.media import JSON
from torpor_container.errors import LoadFailed
from torpor_container.formats import Conventions
from torpor_container.formats.xgboost import xgboost_format
from torpor_container.formats.xgboost.soundness import prove_booster, prove_saved
from torpor_container.invocation import Invocation


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("saved", ["ubj", "json"])
def test_a_sound_booster_of_each_kind_serves_what_xgboost_predicts(kind: str, saved: str, tmp_path: Path) -> None:
    trained = KINDS[kind]()
    prove_booster(trained)
    file = tmp_path / f"model.{saved}"
    file.write_bytes(trained.save_raw(saved))
    row = np.array([[1.0, 2.0, 0.0, 3.0, 1.0, 2.0]], np.float32)
    names = trained.feature_names, trained.feature_types
    expected = trained.predict(xgboost.DMatrix(row, None, feature_names=names[0], feature_types=names[1], nthread=1))
    model = xgboost_format.load(file, Conventions())
    body = json.dumps(row.tolist()).encode()
    assert json.loads(model.invoke(Invocation(body, JSON, JSON)).body) == expected.tolist()


def first(saved: bytes, name: bytes) -> int:
    """Where the elements of the first array of a name begin."""
    return saved.index(name + b"[$") + len(name) + len(b"[$l#L") + 8


def test_a_leaf_whose_vector_is_not_there_is_refused() -> None:
    saved = bytearray(of_vectors(gamma=1e9).save_raw("ubj"))
    at = first(bytes(saved), b"right_children")
    for place in (-1, 1, 1_000_000):
        saved[at : at + 4] = place.to_bytes(4, "big", signed=True)
        with pytest.raises(LoadFailed, match="a leaf of the model has values that are not there"):
            prove_saved(bytes(saved), COLUMNS)


@pytest.mark.parametrize("size", [1, 3])
def test_vectors_of_another_size_than_the_targets_are_refused(size: int) -> None:
    saved = bytes(of_vectors().save_raw("ubj")).replace(
        b"size_leaf_vectorSL" + (1).to_bytes(8, "big") + b"2",
        b"size_leaf_vectorSL" + (1).to_bytes(8, "big") + b"%d" % size,
        1,
    )
    with pytest.raises(LoadFailed, match="a leaf of the model has not one value for each of its 2 targets"):
        prove_saved(saved, COLUMNS)


def test_trees_of_vectors_without_their_values_are_refused() -> None:
    saved = bytes(of_vectors().save_raw("ubj")).replace(b"leaf_weights", b"leaf_weighty", 1)
    with pytest.raises(LoadFailed, match="a tree of the model is not whole"):
        prove_saved(saved, COLUMNS)
