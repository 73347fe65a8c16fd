"""Hostile model files by a seed: XGBoost's JSON and UBJSON, ONNX and pickles, each made to end, fill or hold a process.

Some are whole models with one number changed, others were never models. A few load all the same, and may answer.
"""

import io
import json
import pickle
import random
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xgboost

from benchmarks.scene import COLUMNS

HUGE = (300_000_000, 2**31 - 1, 2**40, -1, -(2**31), 10_000_000)
DEEP = (10_000, 200_000, 1_000_000)
UNDER_EACH = 6
"""Mutations of bytes change so many at most."""


class Hostile(NamedTuple):
    """What was done, the file's name in the artifact, and what is in it."""

    kind: str
    file: str
    content: bytes
    packed: bytes | None = None  # the whole archive, if not one with this file

    def archive(self) -> bytes:
        if self.packed is not None:
            return self.packed
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            member = tarfile.TarInfo(self.file)
            member.size = len(self.content)
            archive.addfile(member, io.BytesIO(self.content))
        return packed.getvalue()


def hostile(seed: int, count: int) -> Iterator[Hostile]:
    """So many files, the kinds in turn."""
    chance = random.Random(seed)
    kinds = list(KINDS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield Hostile(kind, *KINDS[kind](chance))


def of_kind(kind: str, seed: int = 0) -> Hostile:
    return Hostile(kind, *KINDS[kind](random.Random(seed)))


# -- XGBoost -----------------------------------------------------------------------------------------------------------
BOOSTERS: dict[str, dict[str, Any]] = {
    "plain": {"objective": "reg:squarederror"},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "dart": {"booster": "dart"},
    "linear": {"booster": "gblinear"},
    "categories": {"tree_method": "hist", "max_cat_to_onehot": 1},
}


@cache
def booster(name: str) -> Any:
    noise = np.random.default_rng(3)
    rows = noise.normal(size=(200, COLUMNS)).astype(np.float32)
    label = (rows[:, 0] > 0).astype(np.float32) + (rows[:, 1] > 0)
    kinds = None
    if name == "categories":
        rows[:, 0] = noise.integers(0, 8, 200)
        label, kinds = np.isin(rows[:, 0], (1, 4, 6)).astype(np.float32), ["c", *["float"] * (COLUMNS - 1)]
    matrix = xgboost.DMatrix(rows, label, feature_types=kinds, enable_categorical=bool(kinds), nthread=1)
    return xgboost.train({"max_depth": 3, "nthread": 1, **BOOSTERS[name]}, matrix, 4)


def _document(name: str) -> Any:
    return json.loads(bytes(booster(name).save_raw("json")))


def _trees(document: Any) -> Any:
    gradient = document["learner"]["gradient_booster"]
    return gradient.get("gbtree", gradient)["model"]


def _json(document: Any) -> tuple[str, bytes]:
    return "model.json", json.dumps(document).encode()


def _learner_size(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart", "linear")))
    member = chance.choice(("num_class", "num_feature", "num_target"))
    document["learner"]["learner_model_param"][member] = str(chance.choice(HUGE))
    return _json(document)


def _classes(chance: random.Random) -> tuple[str, bytes]:
    document = _document("plain")
    document["learner"]["learner_model_param"]["num_class"] = "300000000"
    document["learner"]["objective"] = {
        "name": "multi:softprob",
        "softmax_multiclass_param": {"num_class": "300000000"},
    }
    return _json(document)


def _tree_member(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    tree = chance.choice(_trees(document)["trees"])
    member = chance.choice(("num_nodes", "size_leaf_vector", "num_feature", "num_deleted"))
    tree["tree_param"][member] = str(chance.choice(HUGE))
    return _json(document)


def _forest_member(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    member = chance.choice(("num_trees", "num_parallel_tree"))
    _trees(document)["gbtree_model_param"][member] = str(chance.choice((*HUGE, 0)))
    return _json(document)


def _cycle(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    tree = chance.choice(_trees(document)["trees"])
    side = tree[chance.choice(("left_children", "right_children"))]
    node = chance.choice([node for node, child in enumerate(side) if child > 0])
    side[node] = chance.choice((0, node))
    return _json(document)


def _lost_child(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    for tree in _trees(document)["trees"]:
        side = tree[chance.choice(("left_children", "right_children"))]
        side[0] = chance.choice((2**31 - 1, 1_000_000, 99, -7, -(2**31)))
    return _json(document)


def _lost_column(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    for tree in _trees(document)["trees"]:
        tree["split_indices"][0] = chance.choice((2**31 - 1, 10_000_000, COLUMNS, -3))
    return _json(document)


def _lost_group(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart")))
    model = _trees(document)
    member = chance.choice(("tree_info", "iteration_indptr"))
    model[member] = [chance.choice((*HUGE, 5)) for _ in model[member]]
    return _json(document)


def _categories(chance: random.Random) -> tuple[str, bytes]:
    document = _document("categories")
    for tree in _trees(document)["trees"]:
        member = chance.choice(("categories", "categories_nodes", "categories_segments", "categories_sizes"))
        tree[member] = [chance.choice((*HUGE, 77)) for _ in tree[member]] or [5]
    return _json(document)


def _weights(chance: random.Random) -> tuple[str, bytes]:
    if chance.random() < 0.5:
        document = _document("linear")
        document["learner"]["gradient_booster"]["model"]["weights"] = [1.0] * chance.choice((0, 1, COLUMNS, 100_000))
    else:
        document = _document("dart")
        document["learner"]["gradient_booster"]["weight_drop"] = [1.0] * chance.choice((0, 1, 100_000))
    return _json(document)


def _short_arrays(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(("plain", "classes", "dart", "categories")))
    tree = chance.choice(_trees(document)["trees"])
    member = chance.choice([name for name, value in tree.items() if isinstance(value, list) and value])
    tree[member] = tree[member][: chance.randrange(len(tree[member]))]
    return _json(document)


def _any_number(chance: random.Random) -> tuple[str, bytes]:
    document = _document(chance.choice(list(BOOSTERS)))
    places = list(_numbers(document))
    for _ in range(chance.randint(1, 3)):
        holder, key = chance.choice(places)
        holder[key] = str(chance.choice(HUGE)) if isinstance(holder[key], str) else chance.choice(HUGE)
    return _json(document)


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        if isinstance(inner, int | float) or (isinstance(inner, str) and inner.lstrip("-").isdecimal()):
            yield value, key
        else:
            yield from _numbers(inner)


def _deep_json(chance: random.Random) -> tuple[str, bytes]:
    depth = chance.choice(DEEP)
    opening = chance.choice((b"[", b'{"learner":'))
    return "model.json", b'{"learner":' + opening * depth


def _deep_ubjson(chance: random.Random) -> tuple[str, bytes]:
    return "model.ubj", b"{L" + (7).to_bytes(8, "big") + b"learner" + b"[" * chance.choice(DEEP)


def _ubjson_array(chance: random.Random) -> tuple[str, bytes]:
    content = bytearray(booster(chance.choice(("plain", "classes", "dart"))).save_raw("ubj"))
    name = chance.choice((b"left_children[$l#L", b"right_children[$l#L", b"split_indices[$l#L"))
    at = content.find(name) + len(name)
    if chance.random() < 0.5:
        content[at : at + 8] = chance.choice((2**60, 2**33, 2**63 - 1, 3)).to_bytes(8, "big")
    else:
        value = chance.choice((2**31 - 1, 1_000_000, 0, -9))
        content[at + 8 : at + 12] = value.to_bytes(4, "big", signed=True)
    return "model.ubj", bytes(content)


def _ubjson_bytes(chance: random.Random) -> tuple[str, bytes]:
    return "xgboost-model", _torn(bytes(booster(chance.choice(list(BOOSTERS))).save_raw("ubj")), chance)


def _torn(content: bytes, chance: random.Random) -> bytes:
    """With a few bytes changed, or without its end."""
    if chance.random() < 0.2:
        return content[: chance.randrange(30, len(content))]
    torn = bytearray(content)
    for _ in range(chance.randint(1, UNDER_EACH)):
        torn[chance.randrange(20, len(torn))] = chance.choice((0, 255, 127, 128, chance.randrange(256)))
    return bytes(torn)


# -- pickles -----------------------------------------------------------------------------------------------------------
class Called:
    """Pickled, it calls as it is loaded."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


CODES = (
    "__import__('os')._exit(0)",
    "__import__('os')._exit(3)",
    "__import__('os').abort()",
    "__import__('os').kill(__import__('os').getpid(), 9)",
    "__import__('os').kill(__import__('os').getpid(), 11)",
    "__import__('ctypes').string_at(1)",
    "__import__('sys').exit(4)",
    "bytearray(10**11)",
    "[bytearray(2**24) for _ in range(10**6)]",
    "b'x' * 2**33",
    "[open('/dev/null') for _ in range(10**6)]",
    "(_ for _ in ()).throw(KeyboardInterrupt)",
    "1 / 0",
    "exec('def f(): f()\\nf()')",
    "__import__('mmap').mmap(-1, 2**34).write(b'x' * 2**20)",
)
HANGS = ("__import__('time').sleep(10**6)", "exec('while True: pass')")


def _pickle(chance: random.Random) -> tuple[str, bytes]:
    return "model.pkl", pickle.dumps(Called(eval, chance.choice(CODES)))


def _hanging_pickle(chance: random.Random) -> tuple[str, bytes]:
    return "model.pkl", pickle.dumps(Called(eval, chance.choice(HANGS)))


def _torn_pickle(chance: random.Random) -> tuple[str, bytes]:
    return "model.pkl", _torn(pickle.dumps(booster("plain")), chance)


def _estimator(chance: random.Random) -> tuple[str, bytes]:
    """A decision tree whose nodes have a child that is not there, or that they come from."""
    from sklearn.tree import DecisionTreeRegressor

    noise = np.random.default_rng(5)
    rows = noise.normal(size=(60, COLUMNS))
    estimator = DecisionTreeRegressor(max_depth=3).fit(rows, rows[:, 0])
    state = estimator.tree_.__getstate__()
    nodes = state["nodes"].copy()
    member = chance.choice(("left_child", "right_child", "feature"))
    nodes[member][0] = chance.choice((0, 10**6, 2**31 - 1)) if member != "feature" else 10**7
    estimator.tree_.__setstate__({**state, "nodes": nodes})
    return "model.joblib", pickle.dumps(estimator)


# -- ONNX --------------------------------------------------------------------------------------------------------------
def _onnx(nodes: list[Any], constants: list[Any] | None = None) -> tuple[str, bytes]:
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, COLUMNS])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [given], [answer], constants or [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return "model.onnx", model.SerializeToString()


def _onnx_large(chance: random.Random) -> tuple[str, bytes]:
    """An answer, or something on the way to it, of gigabytes."""
    from onnx import TensorProto, helper

    size = chance.choice((600_000_000, 2**33, 2**40))
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [size])
    sums = [helper.make_node("ReduceSum", ["many"], ["y"])] if chance.random() < 0.5 else []
    out = "many" if sums else "y"
    return _onnx([helper.make_node("ConstantOfShape", ["shape"], [out]), *sums], [shape])


def _onnx_endless(chance: random.Random) -> tuple[str, bytes]:
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still"]),
            helper.make_node("Identity", ["v"], ["w"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, None),
        ],
    )
    trips = helper.make_tensor("trips", TensorProto.INT64, [], [2**62])
    on = helper.make_tensor("on0", TensorProto.BOOL, [], [True])
    return _onnx([helper.make_node("Loop", ["trips", "on0", "x"], ["y"], body=body)], [trips, on])


def _onnx_odd(chance: random.Random) -> tuple[str, bytes]:
    """An unknown operator, a cycle, weights in another file, or an index out of range."""
    from onnx import TensorProto, helper

    odd = chance.randrange(4)
    if odd == 0:
        return _onnx([helper.make_node("Explode", ["x"], ["y"], domain="evil")])
    if odd == 1:
        return _onnx([helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("Add", ["x", "z"], ["y"])])
    if odd == 2:
        outside = helper.make_tensor("w", TensorProto.FLOAT, [COLUMNS], [0.0] * COLUMNS)
        outside.ClearField("float_data")
        outside.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "../../../../etc/passwd"), ("length", "24")):
            entry = outside.external_data.add()
            entry.key, entry.value = key, value
        return _onnx([helper.make_node("Add", ["x", "w"], ["y"])], [outside])
    far = helper.make_tensor("far", TensorProto.INT64, [1], [2**40])
    return _onnx([helper.make_node("Gather", ["x", "far"], ["y"], axis=1)], [far])


def _onnx_torn(chance: random.Random) -> tuple[str, bytes]:
    from onnx import TensorProto, helper

    weights = helper.make_tensor("w", TensorProto.FLOAT, [COLUMNS, 3], [0.5] * COLUMNS * 3)
    _, content = _onnx([helper.make_node("MatMul", ["x", "w"], ["y"])], [weights])
    return "model.onnx", _torn(content, chance)


KINDS: dict[str, Callable[[random.Random], tuple[str, bytes]]] = {
    "XGBoost JSON, 300,000,000 classes": _classes,
    "XGBoost JSON, a size of the learner": _learner_size,
    "XGBoost JSON, a size of a tree": _tree_member,
    "XGBoost JSON, a size of the forest": _forest_member,
    "XGBoost JSON, a cycle": _cycle,
    "XGBoost JSON, a child that is not there": _lost_child,
    "XGBoost JSON, a column that is not there": _lost_column,
    "XGBoost JSON, a group that is not there": _lost_group,
    "XGBoost JSON, categories": _categories,
    "XGBoost JSON, weights": _weights,
    "XGBoost JSON, an array too short": _short_arrays,
    "XGBoost JSON, any numbers": _any_number,
    "XGBoost JSON, deep": _deep_json,
    "XGBoost UBJSON, deep": _deep_ubjson,
    "XGBoost UBJSON, an array": _ubjson_array,
    "XGBoost UBJSON, any bytes": _ubjson_bytes,
    "pickle, code": _pickle,
    "pickle, code that does not end": _hanging_pickle,
    "pickle, any bytes": _torn_pickle,
    "pickle, a decision tree": _estimator,
    "ONNX, gigabytes": _onnx_large,
    "ONNX, a loop that does not end": _onnx_endless,
    "ONNX, odd graphs": _onnx_odd,
    "ONNX, any bytes": _onnx_torn,
}
