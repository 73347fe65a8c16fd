"""What joblib dumped of plain trees and forests needs no trial: its arrays are read where they are."""

import ast
import gc
import gzip
import io
import pickle
import pickletools
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tests.container.formats.sound.test_plain_forests import (
    OTHER,
    PLAIN,
    Runs,
    answers,
    mutated_files_end_no_process,
    named,
    text,
)
from tests.container.helpers.estimators_of_trees import CASES, fitted
from tests.helpers.thorough_values import thorough
from torpor_container.formats.sound import joblib_stand_ins, pickle_stand_ins
from torpor_container.formats.sound.plain_forests import is_sound


def dumped(thing: Any, **ways: Any) -> bytes:
    file = io.BytesIO()
    joblib.dump(thing, file, **ways)
    return file.getvalue()


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3)], ids=str)
@pytest.mark.parametrize("name", PLAIN)
def test_dumped_trees_and_forests_need_no_trial_and_answer(name: str, compress: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    path.write_bytes(dumped(fitted(name), compress=compress))
    assert answers(path)


def test_a_dumped_forest_with_names_of_columns_and_classes_is_plain() -> None:
    pandas = pytest.importorskip("pandas")
    forest = type(fitted("forest of classes"))(3, random_state=3)
    frame = pandas.DataFrame(np.arange(40.0).reshape(10, 4), columns=list("wxyz"))
    assert is_sound(dumped(forest.fit(frame, np.array(["low", "high"] * 5, object))))


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(OTHER)])
def test_other_dumped_estimators_are_to_be_tried(name: str) -> None:
    assert not is_sound(dumped(fitted(name)))


@pytest.mark.parametrize("compress", ["bz2", "lzma", "xz"])
def test_what_is_compressed_otherwise_is_to_be_tried(compress: str) -> None:
    assert not is_sound(dumped(fitted("tree"), compress=(compress, 3)))


# -- what is to be tried -----------------------------------------------------------------------------------------------
MARKS = text("joblib.numpy_pickle") + text("NumpyArrayWrapper") + b"\x93"
MARK = MARKS + b")\x81"
DUMP = dumped(fitted("tree of classes"))


def noted(note: Any) -> bytes:
    estimator = pickle.loads(pickle.dumps(fitted("tree of classes")))
    estimator.note = note
    return dumped(estimator)


def behind(array: bytes, before: bytes = DUMP) -> int:
    """Where the instructions end behind which this array is: its padding is before it."""
    at = before.index(array)
    while before[at - 1] == 0xFF:
        at -= 1
    return at - 1


CLASSES = np.asarray(fitted("tree of classes").classes_).tobytes()


def with_changed(old: bytes, new: bytes) -> bytes:
    """The dump of a tree with other instructions, of which all have the same length."""
    assert len(old) == len(new)
    assert old in DUMP
    return DUMP.replace(old, new, 1)


def in_frame(*instructions: bytes) -> bytes:
    """The dump with instructions before its own, in a frame of theirs."""
    more = b"".join(instructions)
    return DUMP[:2] + b"\x95" + len(more).to_bytes(8, "little") + more + DUMP[2:]


def longer_frame() -> bytes:
    """The frame before the first array reaches into its bytes."""
    length = int.from_bytes(DUMP[3:11], "little")
    return DUMP[:3] + (length + 1).to_bytes(8, "little") + DUMP[11:]


def at_classes(*instructions: bytes) -> bytes:
    """The dump with instructions between the mark of the classes and their bytes, in a frame of theirs."""
    at, more = behind(CLASSES), b"".join(instructions)
    return DUMP[:at] + b"\x95" + len(more).to_bytes(8, "little") + more + DUMP[at:]


def with_padding(padding: bytes) -> bytes:
    """The dump with these bytes between the first array's instructions and its own bytes."""
    at = behind(CLASSES)
    return DUMP[:at] + padding + DUMP[DUMP.index(CLASSES) :]


def frame_within_a_frame() -> bytes:
    """The first array's frame ends in a frame that reaches into the padding, where other instructions stand."""
    at = behind(CLASSES)
    begin = DUMP.rindex(b"\x95", 0, at)
    more = b"builtins\nprint\n(Vharm\ntR.".ljust(98, b"N") + b"b"
    inner = DUMP[begin:at] + b"c" + more
    return DUMP[:begin] + b"\x95" + len(inner).to_bytes(8, "little") + inner + DUMP[DUMP.index(CLASSES) :]


def frame_that_cuts_an_instruction() -> bytes:
    """A pickle that is read in two ways: who leaves out the two bytes that a frame has of a length takes for bytes what
    are instructions for all others."""
    more = named("builtins", "print") + text("harm") + b"\x85R"
    plain = pickle.dumps(fitted("tree of classes"), 4)
    cut = b"\x95" + (3).to_bytes(8, "little") + b"B\x04\x00"
    return plain[:2] + cut + b"\x00\x00\x01\x00AA" + more.ljust(0x1_0000 - 2, b"N") + plain[2:]


OTHERS: dict[str, Callable[[], bytes]] = {
    "a frame within a frame": frame_within_a_frame,
    "a frame that cuts an instruction": frame_that_cuts_an_instruction,
    "no padding": lambda: with_padding(b"\x00"),
    "more padding than joblib writes": lambda: with_padding(b"\x11" + b"\xff" * 17),
    "other padding": lambda: with_padding(b"\x02\xffN"),
    "nothing compressed": lambda: zlib.compress(b""),
    "compressed and cut off": lambda: zlib.compress(DUMP)[:-1],
    "more behind what is compressed": lambda: zlib.compress(DUMP) + b".",
    "more behind what gzip compressed": lambda: gzip.compress(DUMP) + gzip.compress(b"."),
    "compressed twice": lambda: zlib.compress(zlib.compress(DUMP)),
    "cut off in an array": lambda: DUMP[: DUMP.index(CLASSES) + 1],
    "cut off before an array": lambda: DUMP[: behind(CLASSES)],
    "cut off behind an array": lambda: DUMP[: DUMP.index(CLASSES) + len(CLASSES)],
    "more behind it": lambda: DUMP + b".",
    "another protocol": lambda: dumped(fitted("tree"), protocol=2),
    "what runs": lambda: noted(Runs()),
    "a large text": lambda: noted("x" * 70_000),
    "an array of what runs": lambda: noted(np.array([Runs()], object)),
    "an array of numbers that are objects": lambda: noted(np.array([1, 2], object)),
    "an array by columns": lambda: noted(np.asfortranarray(np.ones((2, 3)))),
    "an array with the other order of bytes": lambda: noted(np.ones(2, ">f8")),
    "an array of no dimension": lambda: noted(np.array(7.0)),
    "a frame that reaches into an array": longer_frame,
    "an array by columns, as it says": lambda: with_changed(
        b"\x8c\x05order\x94\x8c\x01C", b"\x8c\x05order\x94\x8c\x01F"
    ),
    "an array of another alignment": lambda: with_changed(
        b"numpy_array_alignment_bytes\x94K\x10", b"numpy_array_alignment_bytes\x94K\x20"
    ),
    "an array that says no alignment": lambda: with_changed(
        b"numpy_array_alignment_bytes", b"numpy_array_alignment_bytez"
    ),
    "an array that may or may not be mapped": lambda: with_changed(b"allow_mmap\x94\x88", b"allow_mmap\x94N"),
    "an array of another class": lambda: with_changed(b"\x8c\x07ndarray", b"\x8c\x07ndarraz"),
    "a mark without a state": lambda: with_note(MARK),
    "a mark that is called": lambda: in_frame(MARK, b")R"),
    "a mark with a list": lambda: in_frame(MARK, b"]b"),
    "a mark that is no class": lambda: in_frame(text("joblib.numpy_pickle"), text("NumpyPickler"), b"\x93"),
    "a mark that is changed": lambda: in_frame(MARKS, b"N}", text("x"), b"K\x07s\x86b"),
    "instructions behind a mark": lambda: at_classes(b"]a"),
    "a state for what is no mark": lambda: at_classes(b"}b"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_any_other_dump_is_to_be_tried(what: str) -> None:
    assert is_sound(DUMP)
    assert is_sound(zlib.compress(DUMP))
    assert is_sound(noted(np.ones(2)))
    assert is_sound(noted("x" * 60_000))
    assert is_sound(in_frame(MARKS))
    assert is_sound(with_padding(b"\x02\xff\xff"))
    assert not is_sound(OTHERS[what]())


@pytest.mark.parametrize("note", ["x", b"x"])
def test_a_proof_is_over_with_its_content(note: object) -> None:
    """Garbage that waits for its collection would be memory that no model explains."""
    content = noted(note)
    gc.disable()
    holders = sys.getrefcount(content)
    assert is_sound(content) is (note == "x")
    assert sys.getrefcount(content) == holders
    gc.enable()


# -- what the pickle keeps for later ----------------------------------------------------------------------------------
def kept(name: str) -> bytes:
    """Takes the first mark of an array that the pickle kept (`mark`), or the first text after it."""
    number, mark = 0, None
    for operation, argument, _ in pickletools.genops(DUMP[: behind(CLASSES)] + b"."):
        if operation.name == "NEWOBJ":
            mark = number
        number += operation.name == "MEMOIZE"
        if argument == "subclass":
            break
    assert mark is not None
    return b"h" + bytes([mark if name == "mark" else number])


def with_note(*instructions: bytes) -> bytes:
    """The dump with one more attribute of the tree, behind its classes."""
    begin, note = DUMP.index(CLASSES) + len(CLASSES), b"\x8c\x04note" + b"".join(instructions)
    length = int.from_bytes(DUMP[begin + 1 : begin + 9], "little") + len(note)
    return DUMP[: begin + 1] + length.to_bytes(8, "little") + note + DUMP[begin + 9 :]


def test_a_mark_is_no_array_where_the_pickle_kept_it() -> None:
    """joblib puts the array in the mark's place, and keeps the mark."""
    assert is_sound(with_note(kept("text")))
    assert not is_sound(with_note(kept("mark")))


def test_a_mark_has_its_array_once() -> None:
    """joblib calls no mark, and reads another array for one that has a state again."""
    assert is_sound(with_note(b"N"))
    assert not is_sound(with_note(kept("mark"), b")R"))
    assert not is_sound(with_note(kept("mark"), b"}(", text("subclass"), b"Nub"))


def test_what_unpacks_to_more_than_an_instance_reads_at_once_is_to_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zlib.compress(DUMP)
    assert is_sound(packed)
    monkeypatch.setattr(joblib_stand_ins, "UNPACKED_MAX_BYTES", len(DUMP) - 1)
    assert not is_sound(packed)


# -- frames ------------------------------------------------------------------------------------------------------------
NAMING = """
import sys
from pathlib import Path

from torpor_container.errors import LoadFailed
from torpor_container.formats import pickled
from torpor_container.formats.format import Conventions

found = set()
sys.addaudithook(lambda event, about: found.add(about) if event == "pickle.find_class" else None)
loaded = 0
for path in Path(sys.argv[1]).iterdir():
    pickled.opened(path, Conventions())
    try:
        pickled.load_content(path.read_bytes(), path, Conventions())
    except LoadFailed:
        pass
    loaded += 1
print(repr((loaded, found)))
"""


def with_frame(content: bytes, seed: int) -> bytes:
    """The same with a frame that begins anywhere, and ends anywhere behind that."""
    chance = random.Random(seed)
    at = chance.randrange(2, len(content))
    ends = [end for end in range(at, len(content)) if content[end - 1] == ord("b")]
    near = chance.randrange(at, min(at + 300, len(content)) + 1)
    end = chance.choice(ends) if ends and chance.random() < 0.5 else near
    return content[:at] + b"\x95" + (end - at).to_bytes(8, "little") + content[at:]


def without_frames(content: bytes) -> bytes:
    """A pickle, as Python wrote it."""
    begins = [at for operation, _, at in pickletools.genops(content) if operation.name == "FRAME" and at is not None]
    for at in reversed(begins):
        content = content[:at] + content[at + 9 :]
    return content


@pytest.mark.parametrize("seeds", [range(500), *thorough(range(500, 2_000))], ids=str)
def test_what_is_taken_with_frames_anywhere_names_only_what_is_known(tmp_path: Path, seeds: range) -> None:
    """What is loaded is what was proved, whatever frames say."""
    print_harm = (named("builtins", "print") + text("harm") + b"\x85R").decode("latin1")
    tree = pickle.loads(pickle.dumps(fitted("tree of classes")))
    tree.note = print_harm
    known = [without_frames(pickle.dumps(tree, 4)), DUMP[:2] + DUMP[11:], frame_within_a_frame(), DUMP]
    taken = 0
    for seed in seeds:
        content = with_frame(known[seed % len(known)], seed)
        if is_sound(content):
            (tmp_path / f"{seed}.joblib").write_bytes(content)
            taken += 1
    assert taken > len(seeds) / 200
    told = subprocess.run([sys.executable, "-c", NAMING, tmp_path], capture_output=True, text=True, check=False)
    loaded, found = ast.literal_eval(told.stdout)
    assert loaded == taken
    assert found - {("joblib.numpy_pickle", "NumpyArrayWrapper")} <= pickle_stand_ins._NAMES.keys()


# -- mutated files -----------------------------------------------------------------------------------------------------
def dumps() -> list[bytes]:
    return [dumped(fitted(name)) for name in ("tree of classes", "forest of floats")]


def test_what_is_taken_of_mutated_dumps_ends_no_process(tmp_path: Path) -> None:
    mutated_files_end_no_process(dumps(), tmp_path, range(60))


@pytest.mark.thorough
def test_what_is_taken_of_many_mutated_dumps_ends_no_process(tmp_path: Path) -> None:
    mutated_files_end_no_process(dumps(), tmp_path, range(60, 20_000))
