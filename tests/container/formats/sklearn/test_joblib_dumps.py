"""What joblib dumped is read as joblib reads it, by Python's own unpickler."""

import gc
import io
import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tests.container.helpers.estimators_of_trees import CASES, fitted
from tests.helpers.thorough_values import thorough
from torpor_container.errors import LoadFailed
from torpor_container.formats import pickled
from torpor_container.formats.format import Conventions
from torpor_container.formats.sklearn import joblib_dumps

TABLE = np.arange(24.0).reshape(2, 3, 4)
NODES = np.zeros(3, [("left", "<i8"), ("value", "<f8"), ("flag", "u1")])
TWICE = np.arange(5)

THINGS: dict[str, Any] = {
    "no array": {"a": 1, "note": "NumpyArrayWrapper"},
    "one array": TABLE,
    "arrays of many types": [
        np.ones(3, code) for code in ("?", "u1", "i2", "<i4", "<i8", "<f2", "<f4", "<f8", "<c16", "<U5", "S4", "<M8[s]")
    ],
    "no elements": [np.ones(0), np.ones((0, 3))],
    "no dimension": np.array(7.5),
    "by columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "a part of an array": TABLE[:, ::2, 1:3],
    "the other order of bytes": np.arange(4, dtype=">f8"),
    "nodes": NODES,
    "objects": np.array(["a", None, {"x": np.ones(2)}], object),
    "objects in a table": np.array([["a", "b"], ["c", "d"]], object),
    "an array twice": {"first": TWICE, "again": TWICE, "note": ["x"] * 3},
    "scalars": (np.float64(1.5), np.int64(3), np.bool_(True)),
    "long texts between arrays": [np.ones(2), "x" * 100_000, np.zeros(3), b"y" * 100_000, np.ones(1)],
    "many small things between arrays": [[index * 1_000 for index in range(60_000)], np.ones(2), [0.5] * 20_000, TABLE],
}


def dumped(thing: Any, **ways: Any) -> bytes:
    file = io.BytesIO()
    joblib.dump(thing, file, **ways)
    return file.getvalue()


class FieldByField(pickle.Pickler):
    """Pickles arrays of nodes without the bytes between their fields, which have any value."""

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is not np.ndarray or thing.dtype.names is None:
            return NotImplemented
        return list, ([thing[name].tobytes() for name in thing.dtype.names],)


def inside(thing: Any) -> bytes:
    file = io.BytesIO()
    FieldByField(file).dump(thing)
    return file.getvalue()


def loaded(content: bytes, folder: Path) -> Any:
    path = folder / "model.joblib"
    path.write_bytes(content)
    return pickled.opened(path, Conventions())


@pytest.mark.parametrize("protocol", [None, *thorough(2, 5)])
@pytest.mark.parametrize("what", [*THINGS, *CASES])
def test_what_is_loaded_is_what_joblib_loads(what: str, protocol: int | None, tmp_path: Path) -> None:
    content = dumped(fitted(what) if what in CASES else THINGS[what], protocol=protocol)
    ours, theirs = loaded(content, tmp_path), joblib.load(io.BytesIO(content))
    assert type(ours) is type(theirs)
    assert inside(ours) == inside(theirs)


def test_arrays_are_as_joblib_makes_them(tmp_path: Path) -> None:
    for array in (TABLE, np.asfortranarray(TABLE[0]), np.arange(4, dtype=">f8"), NODES):
        content = dumped(array)
        ours, theirs = loaded(content, tmp_path), joblib.load(io.BytesIO(content))
        assert type(ours) is np.ndarray
        assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
        assert ours.flags.writeable
        assert ours.flags.aligned


def test_joblib_interprets_no_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its unpickler would take ten times as long; it reads what is compressed alone."""
    content, packed = dumped(THINGS["nodes"]), dumped(THINGS["nodes"], compress=3)

    def load(path: Path) -> None:
        raise ValueError("joblib was asked")

    monkeypatch.setattr(joblib, "load", load)
    assert inside(loaded(content, tmp_path)) == inside(THINGS["nodes"])
    with pytest.raises(Exception, match="joblib was asked"):
        loaded(packed, tmp_path)


def test_a_file_without_alignment_is_read(tmp_path: Path) -> None:
    """joblib aligns arrays since 1.2, where the file says where it is."""

    class Pipe(io.BytesIO):
        def tell(self) -> int:
            raise io.UnsupportedOperation

    file = Pipe()
    joblib.dump([TABLE, TWICE], file)
    first, second = loaded(file.getvalue(), tmp_path)
    assert np.array_equal(first, TABLE)
    assert np.array_equal(second, TWICE)


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_a_file_that_is_cut_off_is_refused(cut: float, tmp_path: Path) -> None:
    content = dumped(fitted("forest"))
    with pytest.raises(Exception, match="cannot be unpickled"):
        loaded(content[: int(len(content) * cut)], tmp_path)


def test_a_file_that_ends_before_an_array_says_so(tmp_path: Path) -> None:
    content = dumped(TWICE)
    end = 11 + int.from_bytes(content[3:11], "little")
    with pytest.raises(LoadFailed, match="EOFError: the file ends before an array"):
        loaded(content[:end], tmp_path)


def test_an_array_within_a_frame_is_refused() -> None:
    content = dumped([TWICE, 1])
    length = int.from_bytes(content[3:11], "little")
    longer = content[:3] + (length + 1).to_bytes(8, "little") + content[11:]
    with pytest.raises(pickle.UnpicklingError, match="does not begin where a frame"):
        joblib_dumps.load(io.BufferedReader(io.BytesIO(longer)))


def test_a_load_is_over_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    joblib.dump(TABLE, path)
    gc.disable()
    with path.open("rb") as file:
        holders = sys.getrefcount(file)
        joblib_dumps.load(file)
        assert sys.getrefcount(file) == holders
    gc.enable()


def test_large_bytes_are_in_memory_once(tmp_path: Path) -> None:
    size = 8 * 1024 * 1024
    path = tmp_path / "model.joblib"
    joblib.dump({"ballast": bytes(size)}, path)
    tracemalloc.start()
    with path.open("rb") as file:
        assert len(joblib_dumps.load(file)["ballast"]) == size
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < size * 1.2


# -- instructions that stand where none are read -----------------------------------------------------------------------
HARM = b"builtins\nprint\n(Vharm\ntR."


def framed(instructions: bytes) -> bytes:
    return b"\x95" + len(instructions).to_bytes(8, "little") + instructions


def hostile() -> dict[str, bytes]:
    """Dumps whose frame reaches into what would be the padding of an array, and has instructions there."""
    content = dumped(TWICE)
    at = 11 + int.from_bytes(content[3:11], "little")
    behind, more = content[at + 1 + content[at] :], b"c" + HARM.ljust(98, b"N") + b"b"
    return {
        "a frame within a frame": content[:2] + framed(content[2:at] + more) + behind,
        "a longer frame": content[:2] + framed(content[11:at] + more) + behind,
        "a frame of unknown instructions": content[:2] + framed(b"Q" + content[11:at] + more) + behind,
        "a frame that ends in a mark": content[:2] + framed(content[11 : at - 1]) + framed(b"b" + more) + behind,
        "the last instruction is an argument": content[:2] + framed(content[11:at] + b"M" + b"\x01b") + behind,
    }


@pytest.mark.parametrize("what", hostile())
def test_no_instruction_in_the_place_of_an_array_is_done(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pickle.UnpicklingError):
        joblib_dumps.load(io.BufferedReader(io.BytesIO(hostile()[what])))
    assert "harm" not in capsys.readouterr().out


def test_a_frame_that_ends_within_an_instruction_is_read_in_order(tmp_path: Path) -> None:
    content = dumped([300, TWICE])
    at = content.index(b"M\x2c\x01") + 2
    size = int.from_bytes(content[3:11], "little")
    cut = content[:2] + framed(content[11:at]) + content[at : 11 + size] + content[11 + size :]
    number, array = loaded(cut, tmp_path)
    assert number == 300
    assert np.array_equal(array, TWICE)


def test_a_plain_pickle_is_read_in_order(tmp_path: Path) -> None:
    """Frames of any lengths change nothing: a file's reader in C would leave out what a large one has of a length."""
    large = b"C\x01x" * 50_000 + b"B\x01\x00"
    content = b"\x80\x04" + framed(large) + b"\x00\x00y" + b"."
    assert loaded(content, tmp_path) == b"y"
