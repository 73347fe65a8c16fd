"""Flat trees answer as XGBoost does, to the bit, or XGBoost keeps the model and the reason is told."""

import subprocess
import sys
from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS, OBJECTIVES, asked, booster, training
from tests.container.helpers.boosters_of_other_kinds import KINDS
from tests.helpers.thorough_values import thorough
from torpor_container.formats.xgboost import flat_conversion, flat_serving
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.formats.xgboost.flat_serving import TRANSFORMS, BoosterFacts
from torpor_container.trees import flat_trees, walking
from torpor_container.trees.flat_trees import FlatTrees, NotFlat

if walking.extension() is None:
    pytest.skip("the extension was not built: there is no C compiler", allow_module_level=True)


def flat(member: Member) -> tuple[FlatTrees, BoosterFacts]:
    return flat_conversion.flat(member, bytes(member.booster.save_raw("ubj")))


def both(trained: Any, rows: Any, missing: float = nan) -> tuple[Any, Any]:
    """XGBoost's answers and those of flat trees."""
    trained.set_param({"nthread": 1})
    member = Member(trained, missing).asked()
    trees, facts = flat(member)
    return member.predictor()(rows), flat_serving.FlatPredictor(trees, facts)(rows)


def assert_equal_to_the_bit(pair: tuple[Any, Any]) -> None:
    expected, answered = pair
    assert (answered.shape, answered.dtype) == (expected.shape, expected.dtype)
    assert answered.tobytes() == expected.tobytes()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", [0, *thorough(*range(1, 5))])
def test_all_objectives_are_answered_to_the_bit(objective: str, seed: int) -> None:
    more: tuple[dict[str, Any], ...] = (
        {},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"base_score": 0.3},
        {"max_depth": 9},
        {"max_leaves": 5},
    )
    parameters = {"grow_policy": "lossguide", **more[seed]} if seed == 4 else more[seed]
    assert_equal_to_the_bit(both(booster(objective, seed, **parameters), asked(seed, 2000)))


def test_every_objective_of_this_xgboost_is_known() -> None:
    """XGBoost's message for an unknown objective lists those that it has."""
    with pytest.raises(xgboost.core.XGBoostError) as raised:
        xgboost.train({"objective": "none"}, training("reg:squarederror", 0), 1)
    listed = {line.strip() for line in str(raised.value).splitlines() if ":" in line}
    candidates = {line.split(": ")[-1] for line in listed if line.split(": ")[-1].count(":") == 1}
    named = {one for one in candidates if one.split(":")[0] in ("reg", "binary", "count", "survival", "multi", "rank")}
    assert len(named) > 15
    assert named <= set(TRANSFORMS)


def test_several_targets_have_several_outputs() -> None:
    rows = asked(1, 200)
    trained = xgboost.train(
        {"objective": "reg:squarederror", "nthread": 1},
        xgboost.DMatrix(rows, np.random.default_rng(1).random((200, 3)), nthread=1),
        4,
    )
    assert_equal_to_the_bit(both(trained, asked(2, 500)))


def test_only_the_rounds_up_to_the_best_one_count() -> None:
    trained = booster("multi:softprob", 7, rounds=8).copy()
    trained.set_attr(best_iteration="3")
    trees, _ = flat(Member(trained).asked())
    assert len(trees.groups) == 4 * 3
    assert_equal_to_the_bit(both(trained, asked(7, 500)))


@pytest.mark.parametrize("missing", [nan, 0.0, -999.0, inf, -inf])
def test_a_number_that_stands_for_missing_cells_is_missing(missing: float) -> None:
    rows = asked(3, 500)
    rows.ravel()[::5] = missing
    assert_equal_to_the_bit(both(booster("binary:logistic", 3), rows, missing))


def test_a_pruned_tree_with_gaps_between_its_nodes_is_walked_rightly() -> None:
    assert_equal_to_the_bit(both(booster("reg:squarederror", 4, gamma=1.0, max_depth=8), asked(4, 500)))


def test_a_leaf_alone_is_a_tree() -> None:
    trained = booster("reg:squarederror", 4, gamma=1e9)
    assert len(flat(Member(trained).asked())[0].nodes) == 6
    assert_equal_to_the_bit(both(trained, asked(4, 10)))


def wide() -> Any:
    matrix = xgboost.DMatrix(np.eye(20, 40_000, dtype=np.float32), np.arange(20.0), nthread=1)
    return xgboost.train({"nthread": 1, "max_depth": 1}, matrix, 1)


REASONS: dict[str, Callable[[], Any]] = {
    "its booster is dart": KINDS["dart"],
    "its booster is gblinear": KINDS["linear"],
    "some of its columns are categories": KINDS["categories"],
    "its leaves are vectors": KINDS["vectors"],
    "it has 40000 columns, and flat trees know 32768": wide,
    "it has no trees": KINDS["no trees"],
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_the_layout_does_not_cover_stays_with_xgboost_and_the_reason_is_told(reason: str) -> None:
    with pytest.raises(NotFlat, match=reason):
        flat(Member(REASONS[reason]()).asked())


def test_a_tree_of_too_many_nodes_stays_with_xgboost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_conversion, "NARROW_NODES_MAX", 10)
    with pytest.raises(NotFlat, match=r"one of its trees has \d+ nodes, and a flat tree has at most 10"):
        flat(Member(booster("reg:squarederror")).asked())


def test_trees_that_answer_otherwise_do_not_pass_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as those of a version of XGBoost that adds leaves in another order."""
    made = flat_conversion._trees

    def reversed_trees(*arguments: Any) -> Any:
        trees: Any = made(*arguments)
        trees.nodes["value"][trees.nodes["left"] == 0] *= np.float32(1 + 1e-6)
        return trees

    monkeypatch.setattr(flat_conversion, "_trees", reversed_trees)
    with pytest.raises(NotFlat, match="answered otherwise than XGBoost on one of"):
        flat(Member(booster("reg:squarederror")).asked())


@pytest.mark.parametrize("objective", ["reg:squarederror", "multi:softprob"])
@pytest.mark.parametrize("seed", range(5))
def test_one_threshold_beside_its_own_does_not_pass_the_proof(
    objective: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, dice = flat_conversion._trees, np.random.default_rng(seed)

    def with_another(*arguments: Any) -> Any:
        trees: Any = made(*arguments)
        at = dice.choice(trees.nodes["left"].nonzero()[0])
        trees.nodes["value"][at] = np.nextafter(trees.nodes["value"][at], np.float32(inf))
        return trees

    monkeypatch.setattr(flat_conversion, "_trees", with_another)
    with pytest.raises(NotFlat, match="answered otherwise than XGBoost on one of"):
        flat(Member(booster(objective, rounds=60, max_depth=4)).asked())


def test_a_converted_booster_is_one_fifth_of_its_file_and_says_how_it_was_proved() -> None:
    trained = booster("reg:squarederror", 5, rounds=100)
    file = flat_conversion.converted(Member(trained))
    trees, told = flat_trees.read(file)
    assert len(file) < 0.25 * len(trained.save_raw("ubj"))
    assert trees.columns == COLUMNS
    assert told["note"].startswith(f"flat trees answer, equal to XGBoost {xgboost.__version__} on ")


MUTATED = """
import sys
import numpy as np
from tests.container.helpers.boosters_of_all_objectives import asked, booster
from tests.container.helpers.flat_models import slowly
from torpor_container.formats.xgboost import flat_conversion, ubjson
from torpor_container.trees import flat_trees, walking
saved = bytes(booster("multi:softprob", rounds=3).save_raw("ubj"))
rows, base = asked(1, 10), np.zeros(3, "<f4")
refused = walked = 0
for seed in range(int(sys.argv[1])):
    chance = np.random.default_rng(seed)
    broken = bytearray(saved)
    for _ in range(int(chance.integers(1, 4))):
        broken[chance.integers(len(broken))] = chance.integers(256)
    try:
        learner = ubjson.read(bytes(broken), 0)[0]["learner"]
        flat_conversion._check(learner)
        trees = flat_conversion._trees(learner["gradient_booster"]["model"], 0, rows.shape[1], base)
        flat_trees.check(trees)
    except Exception:
        refused += 1
        continue
    out = np.empty((len(rows), 3), np.float32)
    walking.walker(trees).predict(rows, out)
    np.testing.assert_array_equal(out, slowly(trees, rows))
    walked += 1
print(refused, walked)
"""


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.thorough)])
def test_of_many_mutated_boosters_each_is_refused_or_walked_rightly(count: int) -> None:
    """In a process of its own, which a walk out of bounds would end. XGBoost, which some of them would end, has no part
    in it."""
    command = [sys.executable, "-W", "ignore", "-c", MUTATED, str(count)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    refused, walked = map(int, ran.stdout.split())
    assert refused + walked == count
    assert min(refused, walked) > count / 20
