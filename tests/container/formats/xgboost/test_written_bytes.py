"""What is taken for a file that XGBoost wrote, with sound trees, is loaded and walked without harm."""

import pickle
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
import xgboost

from tests.container.helpers.boosters_of_all_objectives import COLUMNS, booster, training
from tests.helpers.thorough_values import one_in
from torpor_container.formats.xgboost.written_bytes import EXTENSION, is_sound

PLAIN = ("reg:squarederror", "binary:logistic", "multi:softprob", "count:poisson", "reg:tweedie", "survival:cox")


def saved(objective: str = "reg:squarederror", **parameters: object) -> bytes:
    return bytes(booster(objective, **parameters).save_raw("ubj"))


@pytest.mark.parametrize("objective", PLAIN)
def test_boosters_of_common_objectives_are_as_written(objective: str) -> None:
    assert is_sound(saved(objective))
    assert is_sound(saved(objective), None)
    assert is_sound(saved(objective, num_parallel_tree=3, subsample=0.5))


def test_a_booster_with_names_attributes_and_early_stopping_is_as_written() -> None:
    trained = xgboost.train({"nthread": 1, "verbosity": 0}, training("reg:squarederror", 0), 5)
    trained.feature_names = [f"column {number}" for number in range(COLUMNS)]
    trained.feature_types = ["float"] * COLUMNS
    trained.set_attr(best_iteration="2", note="ä")
    assert is_sound(bytes(trained.save_raw("ubj")))


OTHERS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "JSON": lambda: bytes(booster("reg:squarederror").save_raw("json")),
    "dart": lambda: saved(booster="dart"),
    "linear": lambda: saved(booster="gblinear"),
    "a pickle": lambda: pickle.dumps(booster("reg:squarederror")),
    "no trees": lambda: saved(rounds=0),
    "cut off": lambda: saved()[:-1],
    "more behind it": lambda: saved() + b" ",
    "an objective of several quantiles": lambda: saved("reg:quantileerror"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_anything_else_is_to_be_tried(other: str) -> None:
    assert not is_sound(OTHERS[other]())


def mutated(known: bytes, seed: int) -> bytes:
    """The bytes with one or two of them changed, of which many stand where a parameter or a node does, or cut out."""
    chance = random.Random(seed)
    broken = bytearray(known)
    for _ in range(chance.randint(1, 2)):
        at = chance.randrange(len(broken))
        match seed % 4:
            case 0 | 1:
                broken[at] = chance.randrange(256)
            case 2:
                broken[at : at + 4] = chance.randint(-2, 12).to_bytes(4, "big", signed=True)
            case 3:
                del broken[at : at + chance.randint(1, 9)]
    return bytes(broken)


def array(content: bytes | bytearray, name: bytes) -> int:
    """Where the elements of the first array of a name begin."""
    return content.index(name + b"[$") + len(name) + len(b"[$l#L") + 8


BREAKS: dict[str, tuple[bytes, int, bytes]] = {
    "a child that is not there": (b"left_children", 0, (10_000).to_bytes(4, "big")),
    "a child that is the root": (b"left_children", 0, bytes(4)),
    "a child of two parents": (b"right_children", 0, (1).to_bytes(4, "big")),
    "another parent": (b"parents", 4, (3).to_bytes(4, "big")),
    "a column that is not there": (b"split_indices", 0, COLUMNS.to_bytes(4, "big")),
    "a column below zero": (b"split_indices", 0, b"\xff" * 4),
    "a split by categories": (b"split_type", 0, b"\x01"),
    "a missing cell that goes nowhere": (b"default_left", 0, b"\x02"),
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_tree_that_is_not_sound_is_to_be_tried(what: str) -> None:
    name, beyond, put = BREAKS[what]
    broken = bytearray(saved())
    at = array(broken, name) + beyond
    broken[at : at + len(put)] = put
    assert not is_sound(bytes(broken))


def told(name: str, value: str) -> bytes:
    """One parameter, as it stands in a file."""
    return b"L%b%bSL%b%b" % (len(name).to_bytes(8, "big"), name.encode(), len(value).to_bytes(8, "big"), value.encode())


TWICE = {
    "num_class": ("learner_model_param", "100000000"),
    "num_target": ("learner_model_param", "100000000"),
    "num_feature": ("learner_model_param", "1"),
    "base_score": ("learner_model_param", "[" * 100_000),
    "num_parallel_tree": ("gbtree_model_param", "1000000"),
    "scale_pos_weight": ("reg_loss_param", "2"),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_parameter_that_stands_twice_is_to_be_tried(name: str) -> None:
    """XGBoost takes the first of them, and so ended its process or took gigabytes."""
    within, value = TWICE[name]
    content = saved()
    at = content.index(within.encode() + b"{") + len(within) + 1
    assert not is_sound(content[:at] + told(name, value) + content[at:])


@pytest.mark.parametrize("best", ["-1", "-5", "6", "99999999999", "two", ""])
def test_a_best_iteration_that_is_none_is_to_be_tried(best: str) -> None:
    """XGBoost looks up where a round ends before it knows that there is one."""
    trained = booster("reg:squarederror").copy()
    trained.set_attr(best_iteration="5")
    assert is_sound(bytes(trained.save_raw("ubj")))
    trained.set_attr(best_iteration=best)
    assert not is_sound(bytes(trained.save_raw("ubj")))


def test_very_many_attributes_are_to_be_tried() -> None:
    trained = booster("reg:squarederror", seed=1).copy()
    trained.set_attr(**{f"attribute {number}": "" for number in range(2000)})
    assert not is_sound(bytes(trained.save_raw("ubj")))


def test_a_child_of_two_parents_is_to_be_tried_though_another_node_says_that_it_has_none() -> None:
    """XGBoost ended its process by such a tree: every node but the root was both children of the one before it."""
    broken = bytearray(saved(rounds=1, max_depth=1))
    for name, nodes in (
        ("left_children", (1, -1, -1)),
        ("right_children", (1, -1, -1)),
        ("parents", (2**31 - 1, 0, -1)),
    ):
        at = array(broken, name.encode())
        assert int.from_bytes(broken[at - 8 : at], "big") == 3
        broken[at : at + 12] = b"".join(node.to_bytes(4, "big", signed=True) for node in nodes)
    assert not is_sound(bytes(broken))


def test_trees_behind_the_last_boosting_round_are_to_be_tried() -> None:
    content = saved(rounds=3, num_parallel_tree=2, subsample=0.5)
    begin = content.index(b"iteration_indptr[#L") + len(b"iteration_indptr[#L")
    end = content.index(b"L" + (9).to_bytes(8, "big") + b"tree_info", begin)

    def by(parallel: int, rounds: range) -> bytes:
        begins = len(rounds).to_bytes(8, "big") + b"".join(b"i%c" % place for place in rounds)
        changed = content[:begin] + begins + content[end:]
        return changed.replace(told("num_parallel_tree", "2"), told("num_parallel_tree", str(parallel)))

    assert is_sound(by(2, range(0, 7, 2)))
    assert not is_sound(by(4, range(0, 7, 4)))


@pytest.mark.skipif(EXTENSION is None, reason="the extension was not built: there is no C compiler")
@pytest.mark.parametrize("objective", one_in(3, PLAIN[:3]))
def test_the_extension_and_python_take_the_same_of_mutated_files(objective: str) -> None:
    known, taken = saved(objective, rounds=3, max_depth=2), set[bool]()
    for seed in range(400):
        broken = mutated(known, seed)
        by_extension = is_sound(broken, EXTENSION)
        assert is_sound(broken, None) == by_extension, seed
        taken.add(by_extension)
    assert taken == {True, False}


@pytest.mark.skipif(EXTENSION is None, reason="the extension was not built: there is no C compiler")
@pytest.mark.parametrize("what", BREAKS)
def test_python_and_the_extension_find_the_same_trees_unsound(what: str) -> None:
    name, beyond, put = BREAKS[what]
    broken = bytearray(saved(max_depth=4))
    at = array(broken, name) + beyond
    broken[at : at + len(put)] = put
    assert not is_sound(bytes(broken), None)
    assert not is_sound(bytes(broken), EXTENSION)


MUTATED = """
import numpy as np
import xgboost
from tests.container.helpers.boosters_of_all_objectives import asked, booster
from torpor_container.formats.xgboost.written_bytes import is_sound
known = [bytes(booster(objective, rounds=3, max_depth=2).save_raw("ubj"))
         for objective in ("multi:softprob", "reg:squarederror", "binary:logistic")]
rows = xgboost.DMatrix(asked(1, 10), nthread=1)
taken = other = 0
for seed in range(%d):
    chance = np.random.default_rng(seed)
    broken = bytearray(known[seed %% len(known)])
    for _ in range(int(chance.integers(1, 4))):
        start = int(chance.integers(len(broken)))
        match seed %% 5:
            case 0 | 1:
                broken[start] = chance.integers(256)
            case 2:
                broken[start : start + 4] = int(chance.integers(-2, 12)).to_bytes(4, "big", signed=True)
            case 3:
                digits = [at for at, byte in enumerate(broken) if chr(byte) in "0123456789.E-"]
                broken[int(chance.choice(digits))] = ord(str(chance.choice(list("0123456789.E-"))))
            case 4:
                del broken[start : start + int(chance.integers(1, 30))]
    if not is_sound(bytes(broken)):
        other += 1
        continue
    taken += 1
    try:
        model = xgboost.Booster()
        model.set_param({"nthread": 1})
        model.load_model(broken)
        model.predict(rows)
        model.inplace_predict(asked(1, 10))
        model.save_raw("ubj")
    except (xgboost.core.XGBoostError, UnicodeDecodeError):
        pass
print(taken, other)
"""


def _mutated(count: int) -> None:
    ended = subprocess.run([sys.executable, "-c", MUTATED % count], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    taken, other = map(int, ended.stdout.split())
    assert min(taken, other) > count / 20


def test_what_is_taken_of_mutated_files_ends_no_process() -> None:
    _mutated(40)


@pytest.mark.thorough
def test_what_is_taken_of_many_mutated_files_ends_no_process() -> None:
    _mutated(20_000)
