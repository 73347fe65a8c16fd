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
from torpor_container.isolation.system_calls import MACHINES, METADATA, OF_FILES, REFUSED
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
    calls = [(NUMBERS[name], arguments) for name, _, arguments in asked]
    _, told = answers(zygote, folder, [SETUP, source(calls, folder)])
    errors: list[int] = json.loads(told)
    return errors


def source(calls: list[tuple[Any, list[Any]]], folder: Path) -> str:
    """A request for these calls: it answers their errors."""
    text = json.dumps(calls)
    places = {"model": folder / "models" / "own", "outside": folder, "python": os.__file__}
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return f"ASKED = {text!r}\n{MAKE}"


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


CREATE_TRUNCATE, TO_WRITE, LEASE, IMMUTABLE = 0x241, 1, 1024, ["=q", [0x10]]
NEW = ["path", "new"]
FURTHER: Mapping[str, tuple[int | None, int | None, list[Any], bool]] = {
    "open": (2, None, [FILE, CREATE_TRUNCATE, 0o600], True),
    "openat": (257, 56, [CWD, FILE, CREATE_TRUNCATE, 0o600], True),
    "creat": (85, None, [FILE, 0o600], True),
    "truncate": (76, 45, [FILE, 1], True),
    "mkdir": (83, None, [FILE, 0o700], False),
    "mkdirat": (258, 34, [CWD, FILE, 0o700], False),
    "mknod": (133, None, [FILE, 0o100600, 0], False),
    "mknodat": (259, 33, [CWD, FILE, 0o100600, 0], False),
    "mknodat, a device": (259, 33, [CWD, NEW, 0o020600, 0x103], False),
    "link": (86, None, [FILE, NEW], True),
    "linkat": (265, 37, [CWD, FILE, CWD, NEW, 0], True),
    "link, there": (86, None, [["path", "spare"], FILE], False),
    "linkat, there": (265, 37, [CWD, ["path", "spare"], CWD, FILE, 0], False),
    "symlink": (88, None, [["path", "x"], FILE], False),
    "symlinkat": (266, 36, [["path", "x"], CWD, FILE], False),
    "rename": (82, None, [FILE, NEW], True),
    "rename, over it": (82, None, [["path", "spare"], FILE], True),
    "renameat": (264, 38, [CWD, FILE, CWD, NEW], True),
    "renameat2": (316, 276, [CWD, FILE, CWD, NEW, 0], True),
    "renameat2, exchanged": (316, 276, [CWD, FILE, CWD, ["path", "spare"], 2], True),
    "unlink": (87, None, [FILE], True),
    "unlinkat": (263, 35, [CWD, FILE, 0], True),
    "rmdir": (84, None, [FILE], False),
    "setxattrat": (463, 463, [CWD, FILE, 0, NAME, ["=4q", [0, 0, 0, 0]], 16], False),
    "removexattrat": (466, 466, [CWD, FILE, 0, NAME], False),
    "file_setattr": (469, 469, [CWD, FILE, ["=4q", [0, 0, 0, 0]], 24, 0], False),
    "open_tree_attr": (467, 467, [CWD, FILE, 1, ["=4q", [1, 0, 0, 0]], 32], False),
    "openat2": (437, 437, [CWD, FILE, ["=3q", [CREATE_TRUNCATE, 0o600, 0]], 24], False),
    "mount": (165, 40, [FILE, FILE, None, 4096, None], False),
    "mount_setattr": (442, 442, [CWD, FILE, 0, ["=4q", [1, 0, 0, 0]], 32], False),
    "umount2": (166, 39, [FILE, 2], False),
    "pivot_root": (155, 41, [FILE, FILE], False),
    "chroot": (161, 51, [FILE], False),
    "swapon": (167, 224, [FILE, 0], False),
    "acct": (163, 89, [FILE], False),
    "quotactl": (179, 60, [0x800002, FILE, 0, 0], False),
    "name_to_handle_at": (303, 264, [CWD, FILE, ["=4q", [0, 0, 0, 0]], ["=q", [0]], 0], False),
    "uselib": (134, None, [FILE], False),
}
"""Other calls that change something by a path: their numbers, arguments, and whether they do so for a file of the
script's own."""
FURTHER_OPEN: Mapping[str, tuple[int | None, int | None, list[Any]]] = {
    "ftruncate": (77, 46, [FILE, 0]),
    "write": (1, 64, [FILE, NAME, 4]),
    "fallocate": (285, 47, [FILE, 0, 0, 9]),
    "ioctl, attributes": (16, 29, [FILE, 0x40086602, IMMUTABLE]),
    "ioctl, project": (16, 29, [FILE, 0x401C5820, ["=4q", [0, 0, 0, 0]]]),
    "ioctl, verity": (16, 29, [FILE, 0x40806685, ["=4q", [1, 0, 0, 0]]]),
    "fcntl, a lease": (72, 25, [FILE, LEASE, TO_WRITE]),
    "linkat": (265, 37, [FILE, ["path", ""], CWD, NEW, EMPTY_PATH]),
    "fsetxattr": (190, 7, [FILE, NAME, NAME, 4, 0]),
    "sync_file_range": (277, 84, [FILE, 0, 0, 7]),
}
DESTROYED: Mapping[str, Any] = {
    **{place: lead for place, lead in OTHERS.items() if "secret" in lead[1]},
    "beside a neighbour's": ["path", "../other/made"],
    "beside the object store's": ["path", "{outside}/s3/made"],
    "beside a neighbour's, by a linked folder": ["path", "folder.link/made"],
}
"""Only files of these tests are tried: were a call done, it would harm."""


def of_machine(calls: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Those that this machine has, each with its number first."""
    place = list(MACHINES).index(machine())
    return {name: (row[place], *row[2:]) for name, row in calls.items() if row[place] is not None}


def placed(number: int, shape: list[Any], lead: Any) -> tuple[int, list[Any]]:
    return number, [lead if one is FILE else one for one in shape]


def test_other_calls_change_own_files_and_no_other(zygote: ZygoteClient, folder: Path) -> None:
    for name in ("s3", "models/other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "secret").write_text("secret")
    secrets: list[Path | str] = [folder / "s3/secret", folder / "models/other/secret"]
    before = state(*secrets)
    fresh = "open('own', 'w').write('mine'); open('spare', 'w').close(); os.path.lexists('new') and os.remove('new')\n"
    asked = dict[tuple[str, str], str]()
    places: dict[str, Any] = {**DESTROYED, "its own": ["path", "own"]}
    for name, (number, shape, _) in of_machine(FURTHER).items():
        for place, lead in places.items():
            asked[name, place] = fresh + source([placed(number, shape, lead)], folder)
    for name, (number, shape) in of_machine(FURTHER_OPEN).items():
        for place, descriptor in OTHERS_OPEN.items():
            if place not in ("its output", "the interpreter's"):
                asked[name, place] = fresh + source([placed(number, shape, descriptor)], folder)
    _, *answered = answers(zygote, folder, [SETUP, *asked.values()])
    told = dict(zip(asked, answered, strict=True))
    allowed = {name for name, (_, _, own) in of_machine(FURTHER).items() if own}
    assert {name for (name, place), errors in told.items() if errors == "[0]" and place == "its own"} == allowed
    assert [one for one, errors in told.items() if errors == "[0]" and one[1] != "its own"] == []
    assert state(*secrets) == before
    assert [Path(one).read_text() for one in secrets] == ["secret"] * 2
    assert [os.listdir(one) for one in (folder / "models/other", folder / "s3")] == [["secret"]] * 2


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
