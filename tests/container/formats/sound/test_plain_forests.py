"""What is taken for a plain tree or forest is read by Python, and predicts with scikit-learn, without harm."""

import copyreg
import io
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree._tree import Tree

from tests.container.helpers.estimators_of_trees import CASES, COLUMNS, fitted
from tests.container.helpers.proved_models import is_proved, load_after_replacement
from torpor_container.formats.sklearn.sklearn_format import FORMAT
from torpor_container.formats.sound.known_instructions import TUPLES_MAX
from torpor_container.formats.sound.plain_forests import is_sound

PROTOCOL = 4
NEW = copyreg.__newobj__  # type: ignore[attr-defined]  # its stubs lack the function that pickle knows
OTHER = ("boosted", "by histograms", "tree of numbers", "tree of several", "forest of numbers", "forest of several")
PLAIN = [name for name in CASES if not name.startswith(OTHER)]


@pytest.mark.parametrize("name", PLAIN)
def test_plain_trees_and_forests_need_no_trial_and_answer(name: str, tmp_path: Path) -> None:
    content = pickle.dumps(fitted(name), PROTOCOL)
    (tmp_path / "model.pkl").write_bytes(content)
    assert is_sound(content)
    assert answers(tmp_path / "model.pkl")


def test_a_pickle_that_skops_may_take_for_an_archive_is_to_be_tried(tmp_path: Path) -> None:
    """A zip archive may have anything before it, and end with a comment: the rest of a pickle."""
    whole, archive = pickle.dumps(fitted("tree"), PROTOCOL), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        entries.writestr("schema.json", "{}")
        entries.comment = whole[len(BEGINNING) :]
    within = archive.getvalue().removesuffix(whole[len(BEGINNING) :])
    content = BEGINNING + b"B" + struct.pack("<I", len(within)) + within + whole[len(BEGINNING) :]
    for path, is_sound_there in {tmp_path / "model.pkl": True, tmp_path / "model.SKOPS": False}.items():
        path.write_bytes(content)
        assert zipfile.is_zipfile(path)
        assert is_proved(FORMAT, path) is is_sound_there


def test_a_forest_with_names_of_columns_is_plain() -> None:
    pandas = pytest.importorskip("pandas")
    forest = type(fitted("forest"))(3, random_state=3)
    frame = pandas.DataFrame(np.arange(40.0).reshape(10, 4), columns=list("wxyz"))
    assert is_sound(pickle.dumps(forest.fit(frame, frame["w"]), PROTOCOL))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(OTHER)])
def test_other_estimators_are_to_be_tried(name: str) -> None:
    assert not is_sound(pickle.dumps(fitted(name), PROTOCOL))


def answers(path: Path) -> bool:
    """Whether it predicts a row, though its file was replaced after its proof; if not, it has said why."""
    model = load_after_replacement(FORMAT, path)
    try:
        return len(model.predict(np.ones((1, model.layout.columns)))) == 1
    except Exception:  # noqa: BLE001  an estimator may raise anything
        return False


# -- what is to be tried -----------------------------------------------------------------------------------------------
class Changing(pickle.Pickler):
    """Pickles trees with another state, and other arguments."""

    def __init__(self, file: Any, state: Callable[[Any], object], arguments: Callable[[Any], object]) -> None:
        super().__init__(file, PROTOCOL)
        self._state, self._arguments = state, arguments

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, Tree):
            return NotImplemented
        made, arguments, state = thing.__reduce__()
        return made, self._arguments(arguments), self._state(state)


def same(given: Any) -> Any:
    return given


def changed(
    state: Callable[[Any], object] = same, arguments: Callable[[Any], object] = same, name: str = "tree"
) -> bytes:
    file = io.BytesIO()
    Changing(file, state, arguments).dump(fitted(name))
    return file.getvalue()


def node(**fields: int) -> Callable[[Any], object]:
    """Change the fields of the first node."""

    def change(state: Any) -> object:
        nodes = state["nodes"].copy()
        for field, value in fields.items():
            nodes[0][field] = value
        return state | {"nodes": nodes}

    return change


def leading_back(state: Any) -> object:
    nodes = state["nodes"].copy()
    inner = np.flatnonzero(nodes["left_child"] > 0)[-1]
    nodes[inner]["left_child"] = nodes[inner]["right_child"] = 0
    return state | {"nodes": nodes}


def attributes(name: str = "forest", **values: object) -> bytes:
    """A forest with other attributes, of which those of its first tree begin with `tree_`."""
    estimator = pickle.loads(pickle.dumps(fitted(name)))
    for attribute, value in values.items():
        first = attribute.startswith("first_")
        setattr(estimator.estimators_[0] if first else estimator, attribute.removeprefix("first_"), value)
    return pickle.dumps(estimator, PROTOCOL)


class Runs:
    def __reduce__(self) -> Any:
        return print, ("harm",)


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def frame(instructions: bytes) -> bytes:
    return b"\x95" + struct.pack("<Q", len(instructions)) + instructions


def named(module: str, name: str) -> bytes:
    return text(module) + text(name) + b"\x93"


KIND = named("sklearn.tree._classes", "DecisionTreeRegressor")
EMPTY = KIND + b")\x81"
BEGINNING = b"\x80\x04"
DEEP = b")" + b"\x85" * (TUPLES_MAX + 1)


def with_more(*instructions: bytes) -> bytes:
    """A plain pickle with instructions before its own: what these leave, nothing takes."""
    return BEGINNING + b"".join(instructions) + pickle.dumps(fitted("tree"), PROTOCOL)[2:]


def with_changed_fields(value: bytes) -> bytes:
    """Behind the nodes of a tree, instructions put a value where numpy keeps the first field of their type. The dict of
    these fields stays with the tree's values, until the true values take its place."""
    content = changed()
    made = content.index(b"}\x94", content.index(b"V64"))
    dict_of_fields = sum(one.name == "MEMOIZE" for one, _, _ in pickletools.genops(content[:made] + b"."))
    more = text("values") + b"h" + bytes([dict_of_fields]) + text("left_child") + value + b"s"
    at = content.index(text("values"))
    assert content[:3] == BEGINNING + b"\x95"
    return BEGINNING + frame(content[11:at] + more + content[at:])


class SharingPickler(pickle.Pickler):
    """Pickles estimators with attributes, and arrays of texts with a list of these, that all of them share."""

    def __init__(self, file: Any, members: dict[str, Any], texts: list[str]) -> None:
        super().__init__(file, PROTOCOL)
        self._members, self._texts = members, texts

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type(fitted("tree"))) and not hasattr(thing, "tree_"):
            return NEW, (type(thing),), self._members
        if isinstance(thing, np.ndarray) and thing.dtype.hasobject:
            made, arguments, (*state, _) = tuple(thing.__reduce__())
            return made, arguments, (*state, self._texts)
        return NotImplemented


def shared(estimators: int = 0, members: int = 1, arrays: int = 0, texts: int = 1) -> bytes:
    """A forest with further estimators, of so many attributes each, and with so many arrays of texts."""
    forest, file = pickle.loads(pickle.dumps(fitted("forest"))), io.BytesIO()
    forest.note = [type(fitted("tree"))() for _ in range(estimators)]
    for number in range(arrays):
        setattr(forest, f"note_{number}", np.array([""] * texts, object))
    SharingPickler(file, {f"a{number}": None for number in range(members)}, [""] * texts).dump(forest)
    return file.getvalue()


def shared_list() -> bytes:
    estimators = [type(fitted("tree"))() for _ in range(300)]
    several = [None] * 1000
    for estimator in estimators:
        estimator.note = several
    return attributes(note=estimators)


def of_one_tree(*states: str) -> bytes:
    """Very many trees, all with the same arrays."""
    first: dict[str, Any] = {}

    def same_arrays(state: Any) -> object:
        return state | {name: first.setdefault(name, state[name]) for name in states}

    file = io.BytesIO()
    Changing(file, same_arrays, same).dump(many_trees())
    return file.getvalue()


@cache
def many_trees() -> Any:
    rows = np.random.default_rng(7).random((600, COLUMNS))
    forest = type(fitted("forest"))(200, bootstrap=False, max_features=1.0, random_state=3)
    return forest.fit(rows, rows[:, 0])


def estimator_with(note: object) -> Any:
    estimator = type(fitted("tree"))()
    estimator.note = note
    return estimator


def grown(state: Any, by: int) -> object:
    return state | {"node_count": state["node_count"] + by}


OTHERS: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "its beginning": lambda: BEGINNING,
    "cut off": lambda: changed()[:-1],
    "more behind it": lambda: changed() + b".",
    "another protocol": lambda: pickle.dumps(fitted("tree"), 2),
    "a number": lambda: pickle.dumps(7, PROTOCOL),
    "a class": lambda: BEGINNING + KIND + b".",
    "an estimator without a state": lambda: BEGINNING + EMPTY + b".",
    "an estimator that was not fitted": lambda: pickle.dumps(type(fitted("forest"))(), PROTOCOL),
    "what runs": lambda: attributes(note=Runs()),
    "another class": lambda: attributes(note=np.random.default_rng(7)),
    "a tree without a state": lambda: changed(state=lambda state: None),
    "more nodes than there are": lambda: changed(lambda state: grown(state, 1)),
    "fewer nodes than there are": lambda: changed(lambda state: grown(state, -1)),
    "no nodes": lambda: changed(
        lambda state: state | {"node_count": 0, "nodes": state["nodes"][:0], "values": state["values"][:0]}
    ),
    "nodes of another type": lambda: changed(lambda state: state | {"nodes": state["values"]}),
    "nodes as a table": lambda: changed(lambda state: state | {"nodes": state["nodes"].reshape(1, -1)}),
    "values of another shape": lambda: changed(lambda state: state | {"values": state["values"].reshape(-1, 1)}),
    "values of another type": lambda: changed(lambda state: state | {"values": state["values"].astype(np.float32)}),
    "fewer values": lambda: changed(lambda state: state | {"values": state["values"][1:]}),
    "a depth below none": lambda: changed(lambda state: state | {"max_depth": -1}),
    "more in a tree": lambda: changed(lambda state: state | {"more": 1}),
    "a child that is not there": lambda: changed(node(left_child=10**6)),
    "a child before all": lambda: changed(node(right_child=-2)),
    "one child": lambda: changed(node(left_child=-1)),
    "a node that is its own child": lambda: changed(node(left_child=0)),
    "a node that leads back": lambda: changed(leading_back),
    "a column that is not there": lambda: changed(node(feature=COLUMNS)),
    "a column before all": lambda: changed(node(feature=-3)),
    "a tree of other columns": lambda: changed(arguments=lambda given: (COLUMNS + 1, *given[1:])),
    "a tree of no columns": lambda: changed(arguments=lambda given: (0, *given[1:])),
    "a tree of other classes": lambda: changed(arguments=lambda given: (given[0], given[1] + 1, given[2])),
    "a tree of several outputs": lambda: changed(arguments=lambda given: (given[0], given[1], 2)),
    "a tree of no classes": lambda: changed(arguments=lambda given: (given[0], given[1] * 0, given[2])),
    "columns that are no number": lambda: attributes(n_features_in_=5.0),
    "other columns": lambda: attributes(n_features_in_=COLUMNS - 1),
    "other columns of the first tree": lambda: attributes(first_n_features_in_=COLUMNS - 1),
    "several outputs": lambda: attributes(n_outputs_=2),
    "several outputs of the first tree": lambda: attributes(first_n_outputs_=2),
    "no trees": lambda: attributes(estimators_=[]),
    "trees that are a tuple": lambda: attributes(estimators_=tuple(fitted("forest").estimators_)),
    "a tree that is there twice": lambda: attributes(estimators_=[fitted("forest").estimators_[0]] * 2),
    "very many estimators that share their attributes": lambda: shared(estimators=300, members=1000),
    "very many estimators that share a list": shared_list,
    "very many arrays that share their texts": lambda: shared(arrays=300, texts=10_000),
    "very many trees that share their nodes and values": lambda: of_one_tree("nodes", "values"),
    "trees of another kind": lambda: attributes(estimators_=fitted("extra forest").estimators_),
    "fewer classes": lambda: attributes("forest of classes", classes_=np.array(["a"])),
    "fewer classes, as they say": lambda: attributes("forest of classes", classes_=np.array(["a"]), n_classes_=1),
    "fewer classes of the first tree": lambda: attributes("forest of classes", first_n_classes_=np.int64(1)),
    "classes that are no array": lambda: attributes("forest of classes", classes_=3),
    "names for other columns": lambda: attributes(feature_names_in_=np.array(["x"], object)),
    "names that are no texts": lambda: attributes(feature_names_in_=np.array([1] * COLUMNS, object)),
    "a list of lists": lambda: attributes(note=[[1]]),
    "a dict": lambda: attributes(note={"x": 1}),
    "an estimator with a dict in a list": lambda: attributes(note=[estimator_with({"x": 1})]),
    "an estimator with a dict in a tuple": lambda: attributes(note=(estimator_with({"x": 1}),)),
    "fields of a type that become a number": lambda: with_changed_fields(b"K\x07"),
    "fields of a type that become another type": lambda: with_changed_fields(b"NN\x86"),
    "an array of an object": lambda: attributes(note=np.array([Runs()], object)),
    "an array by columns": lambda: attributes(note=np.asfortranarray(np.ones((2, 3)))),
    "an array with the other order of bytes": lambda: attributes(note=np.ones(2, ">f8")),
    "an array of complex numbers": lambda: attributes(note=np.ones(2, complex)),
    "a class that is changed": lambda: with_more(KIND, b"N}", text("predict"), b"K\x07s\x86b"),
    "a class that is called": lambda: with_more(KIND, b")R"),
    "a class that is made with arguments": lambda: with_more(KIND, b"K\x07\x85\x81"),
    "a function that is changed": lambda: with_more(named("numpy", "dtype"), b"N}", text("x"), b"K\x07s\x86b"),
    "an array of no numbers": lambda: with_more(named("numpy", "ndarray"), b"K\x07\x85R"),
    "a place far away": lambda: with_more(b"Nr\xff\xff\xff\x7f"),
    "a text that is longer than the file": lambda: BEGINNING + b"X\xff\xff\xff\x7fx.",
    "a frame that is longer than the file": lambda: BEGINNING + b"\x95" + struct.pack("<Q", 1 << 40) + b"N.",
    "a number of very many digits": lambda: with_more(b"\x8a\xff" + b"\x7f" * 255),
    "a number by which very many keys have one hash": lambda: with_more(b"\x8a\x09" + bytes(8) + b"\x01"),
    "very many lists": lambda: with_more(b"](" + b"]" * (600 * 1024) + b"e"),
    "very many texts": lambda: with_more(b"](" + text("") * (600 * 1024) + b"e"),
    "very many frames": lambda: with_more(frame(b"") * (600 * 1024)),
    "a key of tuples within tuples": lambda: with_more(b"}" + DEEP + b"Ns"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_anything_else_is_to_be_tried(what: str) -> None:
    assert is_sound(changed())
    assert is_sound(changed(name="forest of classes"))
    assert is_sound(with_more(KIND, b")\x81}(", text("x"), b"K\x07ub](NNe})\x85Ns", b"\x8a\x08" + b"\x7f" * 8))
    assert is_sound(attributes(note=(fitted("tree"), 1)))
    assert not is_sound(OTHERS[what]())


def test_estimators_arrays_and_trees_may_share_a_little() -> None:
    assert is_sound(shared(estimators=3, members=10, arrays=3, texts=10))
    assert is_sound(of_one_tree())


# -- mutated files -----------------------------------------------------------------------------------------------------
def mutated(known: bytes, seed: int) -> bytes:
    """The bytes with one or two of them changed, cut out, doubled, or followed by others of the same file."""
    chance = random.Random(seed)
    broken = bytearray(known)
    for _ in range(chance.randint(1, 2)):
        at, other = chance.randrange(len(broken)), chance.randrange(len(broken))
        match chance.randrange(6):
            case 0:
                del broken[at]
            case 1:
                broken[at:at] = broken[other : other + chance.randint(1, 20)]
            case 2:
                broken[at] ^= 1 << chance.randrange(8)
            case 3:
                broken[at : at + 8] = struct.pack("<q", chance.choice([-2, -1, 0, 1, 2, 1 << 40]))
            case _:
                broken[at] = broken[other]
    return bytes(broken)


ANSWERING = """
import sys, warnings
from pathlib import Path
from tests.container.formats.sound.test_plain_forests import answers
from torpor_container.errors import LoadFailed
warnings.simplefilter("ignore")
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        answers(path)
    except LoadFailed:
        pass
    print(path.name, flush=True)
"""


def pickled() -> list[bytes]:
    return [pickle.dumps(fitted(name), PROTOCOL) for name in ("tree of classes", "forest of floats")]


def mutated_files_end_no_process(known: list[bytes], folder: Path, seeds: range) -> None:
    """Whatever is taken of mutated files is read and predicts, or fails with an error, in a process that goes on."""
    taken = 0
    for seed in seeds:
        broken = mutated(known[seed % len(known)], seed)
        if is_sound(broken):
            (folder / f"{seed}.pkl").write_bytes(broken)
            taken += 1
    assert taken > len(seeds) / 20, "most thresholds and values may have any bits"
    told = subprocess.run([sys.executable, "-c", ANSWERING, folder], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert len(told.stdout.split()) == taken


def test_what_is_taken_of_mutated_files_ends_no_process(tmp_path: Path) -> None:
    mutated_files_end_no_process(pickled(), tmp_path, range(60))


@pytest.mark.thorough
def test_what_is_taken_of_many_mutated_files_ends_no_process(tmp_path: Path) -> None:
    mutated_files_end_no_process(pickled(), tmp_path, range(60, 20_000))
