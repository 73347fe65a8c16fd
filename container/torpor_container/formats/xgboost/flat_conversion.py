"""Makes flat trees of a booster, and proves on rows made from its own thresholds that they answer as XGBoost does.

Both answers must be equal to the bit. A booster that the layout does not cover, or whose answers differ, stays with
XGBoost: NotFlat says why.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from math import ceil, isinf, sqrt
from typing import Any

import numpy as np

from torpor_container.content import Rows
from torpor_container.formats.xgboost import flat_serving, ubjson
from torpor_container.formats.xgboost.boosters import Member
from torpor_container.formats.xgboost.flat_serving import TRANSFORMS, BoosterFacts
from torpor_container.formats.xgboost.learned_categories import CATEGORICAL
from torpor_container.formats.xgboost.older_versions import installed
from torpor_container.formats.xgboost.soundness import prove_saved
from torpor_container.trees import flat_trees
from torpor_container.trees.breadth_first import breadth_first
from torpor_container.trees.flat_trees import (
    MISSING_LEFT,
    NARROW,
    NARROW_COLUMNS_MAX,
    NARROW_NODES_MAX,
    FlatTrees,
    NotFlat,
)
from torpor_container.trees.pairing import paired
from torpor_container.trees.probes import probes, rows_for
from torpor_container.typed_json import written

PIECE_ROWS = 4096
"""So many probe rows are predicted at a time: a call of XGBoost for 1,000 rows takes half of four for 250."""
LEAST_ROWS = 256
"""At least so many go down a few trees."""
WHOLE_ROWS = 1024
"""So many probe rows go down all trees."""
ROWS_MAX = 256 * 1024
"""At most about so many go down a few trees each."""
PIECE_COSTS_ROWS = 5_000
"""To make probe rows of a few trees and call XGBoost for them takes as long as to send so many rows down one tree."""
LEFT_RIGHT_MISSING = 3


def converted(member: Member) -> bytes:
    """The file of flat trees of a booster. Raises NotFlat, and LoadFailed for an unsound one."""
    member.booster.set_param({"nthread": 1, "device": "cpu", "validate_parameters": False})
    member, content = member.asked(), bytes(member.booster.save_raw("ubj"))
    prove_saved(content, member.columns)
    trees, facts = flat(member, content)
    return flat_trees.written(trees, written(facts))


def flat(member: Member, content: bytes) -> tuple[FlatTrees, BoosterFacts]:
    """The booster as flat trees, and what else to know of it. `content` is what XGBoost writes of it, as UBJSON. Raises
    NotFlat."""
    saved, _ = ubjson.read(content, 0)
    learner = saved["learner"]
    _check(learner)
    assert member.traits is not None, "it was asked for them"
    base = _base(learner, saved["version"])
    trees = _trees(learner["gradient_booster"]["model"], member.traits.iterations[1], member.columns, base)
    facts = BoosterFacts(
        learner["objective"]["name"],
        int(learner["learner_model_param"].get("num_class", 0)),
        member.missing,
        member.pickled,
        list(learner["feature_names"]) or None,
        "",
    )
    flat_trees.check(trees)
    begins = list(map(int, learner["gradient_booster"]["model"]["iteration_indptr"]))
    count = _prove(member, trees, facts, begins[: 1 + (member.traits.iterations[1] or len(begins))])
    note = f"flat trees answer, equal to XGBoost {installed()} on {count} probe rows"
    notes = "; ".join(filter(None, (member.note, note)))
    return paired(trees), replace(facts, note=notes)


def _check(learner: Mapping[str, Any]) -> None:
    """Raise NotFlat for what flat trees do not cover."""
    kind, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if kind != "gbtree":
        raise NotFlat(f"its booster is {kind}, and flat trees are for gbtree alone")
    if objective not in TRANSFORMS:
        raise NotFlat(f"flat trees do not know the objective {objective}")
    if CATEGORICAL in learner["feature_types"]:
        raise NotFlat("some of its columns are categories")
    trees = learner["gradient_booster"]["model"]["trees"]
    if not trees:
        raise NotFlat("it has no trees")
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise NotFlat("its leaves are vectors")
    if any(np.any(tree["split_type"]) for tree in trees):
        raise NotFlat("it splits by categories")
    if (columns := int(learner["learner_model_param"]["num_feature"])) > NARROW_COLUMNS_MAX:
        raise NotFlat(f"it has {columns} columns, and flat trees know {NARROW_COLUMNS_MAX}")
    if (most := max(len(tree["left_children"]) for tree in trees)) > NARROW_NODES_MAX:
        raise NotFlat(f"one of its trees has {most} nodes, and a flat tree has at most {NARROW_NODES_MAX}")


def _trees(model: Mapping[str, Any], rounds: int, columns: int, base: Any) -> FlatTrees:
    """The trees of the first boosting rounds; of all, if `rounds` is 0."""
    count = int(model["iteration_indptr"][rounds]) if rounds else len(model["trees"])
    trees = model["trees"][:count]

    def joined(name: str, kind: Any) -> Any:
        return np.concatenate([np.asarray(tree[name]) for tree in trees]).astype(kind)

    sizes = np.array([len(tree["left_children"]) for tree in trees])
    ordered = breadth_first(joined("left_children", np.int64), joined("right_children", np.int64), sizes)
    nodes = np.zeros(len(ordered.order), NARROW)
    nodes["value"] = joined("split_conditions", "<f4")[ordered.order]
    nodes["left"] = ordered.left
    column = joined("split_indices", np.int64) | np.where(joined("default_left", bool), MISSING_LEFT, 0)
    nodes["column"] = np.where(ordered.left > 0, column[ordered.order], 0)
    roots = np.concatenate(([0], np.cumsum(ordered.sizes))).astype("<u4")
    return FlatTrees(nodes, roots, np.asarray(model["tree_info"][:count], "<u4"), base, columns)


def _base(learner: Mapping[str, Any], version: Any) -> Any:
    """The base margins, by XGBoost itself: the margins of a booster of the same objective whose leaves are all 0. Its
    float32 logarithms are not numpy's."""
    parameters = learner["learner_model_param"]
    groups = max(1, int(parameters.get("num_class", 0)), int(parameters.get("num_target", 1)))
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(groups)},
        "iteration_indptr": [0, groups],
        "tree_info": list(range(groups)),
        "trees": [_stump(number, parameters["num_feature"]) for number in range(groups)],
    }
    of_stumps = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": parameters,
        "objective": learner["objective"],
    }
    return _margins_of(json.dumps({"learner": of_stumps, "version": version}), int(parameters["num_feature"]))


@lru_cache(maxsize=64)
def _margins_of(stumps: str, columns: int) -> Any:
    """Most models of an instance have these in common."""
    from xgboost import Booster

    booster = Booster()
    booster.load_model(bytearray(stumps.encode()))
    booster.set_param({"nthread": 1, "device": "cpu", "validate_parameters": False})
    row = np.zeros((1, columns), np.float32)
    return booster.inplace_predict(row, predict_type="margin", validate_features=False).ravel().astype("<f4")


def _stump(number: int, columns: str) -> dict[str, Any]:
    """A tree of one leaf, which is 0, as XGBoost's JSON has it."""
    parameters = {"num_deleted": "0", "num_feature": columns, "num_nodes": "1", "size_leaf_vector": "1"}
    numbers = ("base_weights", "loss_changes", "split_conditions", "sum_hessian")
    integers = ("default_left", "split_indices", "split_type")
    lists = ("categories", "categories_nodes", "categories_segments", "categories_sizes")
    return {
        "id": number,
        "tree_param": parameters,
        "left_children": [-1],
        "right_children": [-1],
        "parents": [2**31 - 1],
        **{name: [0.0] for name in numbers},
        **{name: [0] for name in integers},
        **{name: [] for name in lists},
    }


def _prove(member: Member, trees: FlatTrees, facts: BoosterFacts, rounds: Sequence[int]) -> int:
    """Compare both, with the trees as they will be written. How many rows were equal. Raises NotFlat.

    The sums of a few rounds at a time show each node's ways, and those of all rounds the order of the sums and what the
    objective makes of them. To send every probe row down every tree would take ten times as long. `rounds`: the first
    tree of each boosting round, and where the last one ends.
    """
    served, infinite = paired(trees), isinf(facts.missing)
    whole = flat_serving.FlatPredictor(served, facts)
    count = 0
    for rows, _ in probes(trees, infinite=infinite, rows_max=min(WHOLE_ROWS, rows_for(trees.columns))):
        count += _compared(member.predictor(), whole, rows)
    nodes, last = int(np.count_nonzero(trees.nodes["left"])), len(rounds) - 1
    step = ceil(sqrt(last * PIECE_COSTS_ROWS / (LEFT_RIGHT_MISSING * nodes + 1)))
    firsts = range(0, last, step)

    @cache
    def both(first: int) -> tuple[Callable[[Rows], Any], Callable[[Rows], Any]]:
        """How the library and the flat trees add a few rounds."""
        some = slice(rounds[first], rounds[min(first + step, last)])
        by_trees = flat_serving.FlatPredictor(_only(served, some), facts, transform=lambda sums: sums)
        return member.margins(first, min(first + step, last)), by_trees

    rows_max = min(max(ROWS_MAX, LEAST_ROWS * len(firsts)), len(firsts) * rows_for(trees.columns))
    for rows, made_for in probes(trees, infinite=infinite, rows_max=rows_max):
        begins = np.searchsorted(made_for, trees.roots[rounds[::step]])
        for first, begin, end in zip(firsts, begins, [*begins[1:], len(rows)], strict=False):
            if begin < end:
                count += _compared(*both(first), rows[begin:end])
    return count


def _compared(by_library: Callable[[Rows], Any], by_trees: Callable[[Rows], Any], rows: Rows) -> int:
    """How many rows had equal answers. Raises NotFlat."""
    for start in range(0, len(rows), PIECE_ROWS):
        piece = rows[start : start + PIECE_ROWS]
        expected, answered = by_library(piece), by_trees(piece).reshape
        if expected.tobytes() != answered(expected.shape).tobytes():
            raise NotFlat(f"flat trees answered otherwise than XGBoost on one of {len(piece)} probe rows")
    return len(rows)


def _only(trees: FlatTrees, some: slice) -> FlatTrees:
    """The same model with some of its trees alone."""
    first, end = int(trees.roots[some.start]), int(trees.roots[some.stop])
    return replace(
        trees,
        nodes=trees.nodes[first:end],
        roots=trees.roots[some.start : some.stop + 1] - trees.roots[some.start],
        groups=trees.groups[some],
        pairs=None if trees.pairs is None else trees.pairs[some],
    )
