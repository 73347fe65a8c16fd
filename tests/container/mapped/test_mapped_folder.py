"""Files that several instances map: each appears whole, is counted, and leaves only when no instance holds it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from torpor_container.artifacts.errors import DiskTooSmall
from torpor_container.mapped.mapped_folder import MappedFile, MappedFolder, holders

NAME = MappedFolder.name_of("trees-1", "0" * 32, "model.ubj")


def put(folder: MappedFolder, name: str = NAME, content: bytes = b"x" * 100) -> MappedFile:
    return folder.put(name, lambda file: file.write(content))


def test_a_file_is_written_once_and_read_by_every_instance(tmp_path: Path) -> None:
    one, other = MappedFolder(tmp_path, 1000), MappedFolder(tmp_path, 1000)
    assert one.take(NAME) is None
    written = put(one)
    found = other.take(NAME)
    assert found is not None
    assert found.path.read_bytes() == b"x" * 100
    assert found.path.stat().st_ino == written.path.stat().st_ino
    assert put(other, content=b"later").path.read_bytes() == b"x" * 100


def test_the_count_of_holders_follows_takes_and_releases(tmp_path: Path) -> None:
    one, other = MappedFolder(tmp_path, 1000), MappedFolder(tmp_path, 1000)
    first = put(one)
    assert holders(first.path) == 1
    second = other.take(NAME)
    assert second is not None
    assert holders(first.path) == holders(second.path) == 2
    second.release()
    assert holders(first.path) == 1
    other.take(NAME)
    other.close()
    assert holders(first.path) == 1


def test_one_more_instance_is_charged_an_equal_share(tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path, 1000)
    assert folder.share_bytes(NAME) is None
    put(folder).release()
    assert folder.share_bytes(NAME) == 100
    folder.take(NAME)
    assert folder.share_bytes(NAME) == 50
    folder.take(NAME)
    assert folder.share_bytes(NAME) == 34


def test_forms_and_versions_have_names_of_their_own() -> None:
    names = {
        MappedFolder.name_of(kind, version, file)
        for kind in ("trees-1", "trees-2")
        for version in ("0" * 32, "1" * 32)
        for file in ("a", "b")
    }
    assert len(names) == 8


def test_a_failed_write_leaves_no_file(tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path, 1000)

    def write(file: BinaryIO) -> None:
        file.write(b"half")
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        folder.put(NAME, write)
    assert folder.take(NAME) is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size == 4]


def test_a_file_cannot_be_written_to(tmp_path: Path) -> None:
    assert put(MappedFolder(tmp_path, 1000)).path.stat().st_mode & 0o777 == 0o400


def test_the_least_recently_taken_file_that_nobody_holds_leaves_for_a_new_one(tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path, 350)
    held, oldest, newer = (put(folder, name) for name in ("held", "oldest", "newer"))
    oldest.release()
    newer.release()
    for age, name in enumerate(("held", "newer", "oldest")):
        next(tmp_path.glob(f"*/files/{name}")).touch()
        os.utime(next(tmp_path.glob(f"*/files/{name}")), (1e9 - age, 1e9 - age))
    put(folder, "new")
    assert folder.take("oldest") is None
    assert folder.take("newer") is not None
    assert held.path.read_bytes() == b"x" * 100


def test_a_file_that_is_held_keeps_its_bytes_when_its_name_is_removed(tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path, 1000)
    held = put(folder)
    next(tmp_path.glob(f"*/files/{NAME}")).unlink()
    assert held.path.read_bytes() == b"x" * 100
    assert folder.take(NAME) is None


def test_a_file_finds_no_room_where_all_others_are_held(tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path, 150)
    put(folder, "held")
    with pytest.raises(DiskTooSmall, match="it takes 100 bytes, and of 150 bytes for mapped files 100 are in use"):
        put(folder, "new")
    assert folder.take("new") is None


def test_an_instance_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from torpor_container.mapped.mapped_folder import MappedFolder; "
        f"MappedFolder(Path(sys.argv[1]), 1000).put({NAME!r}, lambda file: file.write(b'x')); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == -9
    held = MappedFolder(tmp_path, 1000).take(NAME)
    assert held is not None
    assert holders(held.path) == 1


def test_files_from_before_the_last_boot_are_removed(tmp_path: Path) -> None:
    earlier = tmp_path / "another-boot" / "files" / NAME
    earlier.parent.mkdir(parents=True)
    earlier.write_bytes(b"perhaps half of it")
    folder = MappedFolder(tmp_path, 1000)
    assert folder.take(NAME) is None
    put(folder)
    assert not earlier.exists()
