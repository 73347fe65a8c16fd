"""Each call that changes something by a path or a descriptor, made in a live box, for each kind of place: it is done
for the script's own files, and for no other, whatever leads there."""

import errno
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.container.helpers.boxed_scripts import answers
from torpor_container.isolation.abilities import found
from torpor_container.isolation.kernel import machine
from torpor_container.isolation.system_calls import METADATA, OF_FILES, REFUSED
from torpor_container.isolation.tracing.metadata import CALLS
from torpor_container.processes.zygote_client import ZygoteClient

pytestmark = pytest.mark.skipif(bool(found().missing()), reason="; ".join(found().missing()))

MAKE = """
import ctypes, json, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def attempt(number, arguments):
    held = []
    def given(one):
        if one is None or isinstance(one, int):
            return ctypes.c_long(one or 0)
        kind, value = one
        if kind == "path":
            return ctypes.c_char_p(value.encode())
        if kind == "through":  # the path of a descriptor that only leads there
            held.append(os.open(value, os.O_PATH))
            return ctypes.c_char_p(b"/proc/self/fd/%d" % held[-1])
        if kind == "open":
            held.append(os.open(value, os.O_RDONLY))
            return ctypes.c_long(held[-1])
        if kind == "led to":
            held.append(os.open(value, os.O_PATH))
            return ctypes.c_long(held[-1])
        if kind == "watches":
            held.append(libc.inotify_init1(0))
            return ctypes.c_long(held[-1])
        return ctypes.create_string_buffer(struct.pack(kind, *value))
    made = libc.syscall(ctypes.c_long(number), *map(given, arguments))
    failed = ctypes.get_errno() if made < 0 else 0
    for one in held:
        os.close(one)
    return failed
out = json.dumps([attempt(number, arguments) for number, arguments in json.loads(ASKED)])
"""
CWD = -100
FILE = object()
"""Where a call takes the path or the descriptor of the file."""
NO_FOLLOW, EMPTY_PATH = 0x100, 0x1000
DATES, SECONDS = ["=4q", [1, 0, 1, 0]], ["=2q", [1, 1]]
NAME, VALUE = ["path", "user.note"], ["=4s", ["mine"]]

BY_PATH: Mapping[str, list[Any]] = {
    "chmod": [FILE, 0o640],
    "fchmodat": [CWD, FILE, 0o640],
    "fchmodat2": [CWD, FILE, 0o640, 0],
    "chown": [FILE, -1, -1],
    "fchownat": [CWD, FILE, -1, -1, 0],
    "utime": [FILE, SECONDS],
    "utimes": [FILE, DATES],
    "futimesat": [CWD, FILE, DATES],
    "utimensat": [CWD, FILE, DATES, 0],
    "setxattr": [FILE, NAME, NAME, 4, 0],
    "removexattr": [FILE, NAME],
    "inotify_add_watch": [["watches", ""], FILE, 2],
}
BY_LINK: Mapping[str, list[Any]] = {
    "lchown": [FILE, -1, -1],
    "lsetxattr": [FILE, NAME, NAME, 4, 0],
    "lremovexattr": [FILE, NAME],
}
BY_DESCRIPTOR: Mapping[str, list[Any]] = {
    "fchmod": [FILE, 0o640],
    "fchmodat2": [FILE, ["path", ""], 0o640, EMPTY_PATH],
    "fchown": [FILE, -1, -1],
    "fchownat": [FILE, ["path", ""], -1, -1, EMPTY_PATH],
    "futimesat": [FILE, None, DATES],
    "utimensat": [FILE, None, DATES, 0],
    "fsetxattr": [FILE, NAME, NAME, 4, 0],
    "fremovexattr": [FILE, NAME],
}
OWN = {
    "its own": ["path", "own.txt"],
    "its own, from the root": ["path", "{model}/own.txt"],
    "its own, in a folder": ["path", "inner/../inner/own.txt"],
    "its own, by a link": ["path", "own.link"],
    "its own, by a descriptor's path": ["through", "own.txt"],
}
OTHERS = {
    "the object store's": ["path", "{outside}/s3/secret"],
    "a neighbour's": ["path", "../other/secret"],
    "a neighbour's, by a link": ["path", "neighbour.link"],
    "a neighbour's, by a linked folder": ["path", "folder.link/secret"],
    "the object store's, by a descriptor's path": ["through", "{outside}/s3/secret"],
    "the folder above": ["path", ".."],
    "the data folder": ["path", "{outside}"],
    "the interpreter's": ["path", "{python}"],
    "the system's": ["path", "/etc/passwd"],
}
OWN_OPEN = {"its own": ["open", "own.txt"], "its own folder's": ["open", "inner"]}
OTHERS_OPEN = {
    "a neighbour's": ["led to", "../other/secret"],
    "the object store's": ["led to", "{outside}/s3/secret"],
    "the folder above": ["led to", ".."],
    "the interpreter's": ["open", "{python}"],
    "its output": 1,
    "its input": 0,
}
SETUP = """
import os
open('own.txt', 'w').close(); os.mkdir('inner'); open('inner/own.txt', 'w').close()
os.symlink('own.txt', 'own.link')
os.symlink('../other/secret', 'neighbour.link'); os.symlink('../other', 'folder.link')
for name in ('own.txt', 'inner/own.txt', 'inner'): os.setxattr(name, b'user.note', b'mine')
"""
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOTSUP}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder outside of /tmp, of which a script has its own."""
    with TemporaryDirectory(dir="/var/tmp") as made:
        yield Path(made)


def attempts(calls: Mapping[str, list[Any]], places: Mapping[str, Any]) -> list[tuple[str, str, list[Any]]]:
    """Each call for each place."""
    return [
        (name, place, [lead if one is FILE else one for one in shape])
        for name, shape in calls.items()
        if NUMBERS.get(name) is not None
        for place, lead in places.items()
    ]


NUMBERS = {row.name: row.number(machine()) for row in (*METADATA, *REFUSED, *OF_FILES)} if found().filters else {}


def made(zygote: ZygoteClient, folder: Path, asked: list[tuple[str, str, list[Any]]]) -> list[int]:
    """The error of each attempt, 0 for none."""
    calls = json.dumps([(NUMBERS[name], arguments) for name, _, arguments in asked])
    places = {"model": folder / "models" / "own", "outside": folder, "python": os.__file__}
    for name, place in places.items():
        calls = calls.replace(f"{{{name}}}", str(place))
    _, told = answers(zygote, folder, [SETUP, f"ASKED = {calls!r}\n{MAKE}"])
    errors: list[int] = json.loads(told)
    return errors


def state(*paths: Path | str) -> list[tuple[int, int, int, int, list[str]]]:
    """What the calls change of files."""
    found = [(os.stat(path), os.listxattr(path)) for path in paths]
    return [(one.st_mode, one.st_uid, one.st_gid, one.st_mtime_ns, names) for one, names in found]


def test_every_call_of_the_table_is_tried() -> None:
    assert {*BY_PATH, *BY_LINK, *BY_DESCRIPTOR} == {*CALLS} == {row.name for row in METADATA}


def test_own_files_are_changed(zygote: ZygoteClient, folder: Path) -> None:
    calls = {name: shape for name, shape in BY_PATH.items() if "remove" not in name}
    asked = [*attempts(calls, OWN), *attempts(BY_LINK, {"its own": ["path", "inner/own.txt"]})]
    asked += attempts({"removexattr": BY_PATH["removexattr"]}, {"its own": OWN["its own"]})
    asked += attempts({name: shape for name, shape in BY_DESCRIPTOR.items() if "remove" not in name}, OWN_OPEN)
    told = made(zygote, folder, asked)
    assert [(name, place, error) for (name, place, _), error in zip(asked, told, strict=True) if error] == []


def test_no_other_file_is_changed(zygote: ZygoteClient, folder: Path) -> None:
    asked = [*attempts({**BY_PATH, **BY_LINK}, OTHERS), *attempts(BY_DESCRIPTOR, OTHERS_OPEN)]
    for name in ("s3", "models/other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "secret").write_text("secret")
    secrets: list[Path | str] = [folder / "s3/secret", folder / "models/other/secret"]
    others = [*secrets, folder, os.__file__, "/etc/passwd"]
    before = state(*others)
    told = made(zygote, folder, asked)
    allowed = [
        (name, place, errno.errorcode.get(error, "done"))
        for (name, place, _), error in zip(asked, told, strict=True)
        # a link of the script's own is its own to change, not what it leads to
        if error not in REFUSALS and not (name in BY_LINK and place == "a neighbour's, by a link")
    ]
    assert allowed == []
    after = state(*others)
    assert after[:2] + after[3:] == before[:2] + before[3:]
    assert after[2][:3] == before[2][:3]  # the instance makes temporary folders in it


FUZZED = r"""
import ctypes, mmap, os, random, struct
libc, rng = ctypes.CDLL(None, use_errno=True), random.Random(SEED)
edge = mmap.mmap(-1, mmap.PAGESIZE)  # text up to the end of its page
edge.seek(mmap.PAGESIZE - 8); edge.write(b"own.txt1")
texts = [b"", b"own.txt", b"./inner/../own.txt", b"/proc/self/fd/0", b"/dev/fd/9", b"x" * 5000, b"\xff", b"/", b".."]
texts += [b"/proc/self/root/etc/passwd", b"user.note", b"security.capability", b"trusted.x", b"own.txt/"]
dates = [0, 1, -1, 1 << 62, 0x3fffffff, 10 ** 9]
texts += [struct.pack("=4q", *(rng.choice(dates) for _ in range(4))) for _ in range(8)]
kept = [ctypes.create_string_buffer(text) for text in texts]
places = [ctypes.addressof(one) for one in kept]
places.append(ctypes.addressof(ctypes.c_char.from_buffer(edge)) + mmap.PAGESIZE - 8)
values = [0, 1, 2, 3, 9, -1, -100, 0o777, 0o7777, 0x100, 0x1000, 4096]
values += [1 << 20, 1 << 31, 1 << 62, -(1 << 63), 0xdead000, (1 << 63) - 4096]
for _ in range(1500):
    arguments = [ctypes.c_long(rng.choice(places if rng.random() < 0.5 else values)) for _ in range(6)]
    libc.syscall(ctypes.c_long(rng.choice(NUMBERS)), *arguments)
out = "alive"
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_call_with_any_arguments_gets_an_answer(zygote: ZygoteClient, folder: Path, seed: int) -> None:
    numbers = [row.number(machine()) for row in METADATA if row.number(machine()) is not None]
    setup, told = answers(zygote, folder, [SETUP, f"SEED, NUMBERS = {seed}, {numbers}\n{FUZZED}"])
    assert (setup, told) == ("None", "alive")
    assert [path.read_text() for path in (folder / "s3/secret", folder / "models/other/secret")] == ["secret"] * 2
