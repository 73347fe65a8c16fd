"""A seal holds for the folder that was unpacked, and for no other."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from torpor_container import typed_json
from torpor_container.artifacts.seals import BrokenSeal, Seal, digest_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "code").mkdir(parents=True)
    (made / "model.ubj").write_bytes(b"trees")
    (made / "code" / "inference.py").write_text("def model_fn(d): ...")
    (tmp_path / "neighbour").write_bytes(b"trees")
    return made


def rewrite(file: Path, content: bytes) -> None:
    """Other content of the same size, with the same date."""
    before = file.stat()
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by(file: Path, put: Callable[[Path], object]) -> None:
    file.unlink()
    put(file)


def link_folder(folder: Path) -> None:
    aside = folder.parents[1] / folder.name
    folder.rename(aside)
    folder.symlink_to(aside)


TOUCHES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another content, as long and as old": (lambda f: rewrite(f / "model.ubj", b"other"), "model.ubj was changed"),
    "a longer file": (lambda f: (f / "model.ubj").write_bytes(b"trees and more"), "model.ubj was changed"),
    "a further file": (lambda f: (f / "m.pkl").write_bytes(b"\x80"), "m.pkl was added"),
    "a further file in a folder": (lambda f: (f / "code" / "x.py").write_text(""), "code/x.py was added"),
    "a hidden one": (lambda f: (f / ".hidden").write_text(""), ".hidden was added"),
    "a file less": (lambda f: (f / "model.ubj").unlink(), "model.ubj was removed"),
    "a folder less": (lambda f: shutil.rmtree(f / "code"), "code/inference.py was removed"),
    "a link to the same content": (
        lambda f: replace_by(f / "model.ubj", lambda file: file.symlink_to("../neighbour")),
        "model.ubj is a link, or no file",
    ),
    "a folder that is a link": (lambda f: link_folder(f / "code"), "code is a link, or no file"),
    "a pipe": (lambda f: replace_by(f / "model.ubj", os.mkfifo), "model.ubj is a link, or no file"),
    "folders without end": (lambda f: os.makedirs(f / "/".join(["d"] * 200)), "was added"),
}  # fmt: skip


@pytest.mark.parametrize("touch", TOUCHES)
def test_whatever_touches_the_files_breaks_the_seal(folder: Path, touch: str) -> None:
    act, told = TOUCHES[touch]
    seal = Seal.of(folder)
    seal.check(folder)
    act(folder)
    with pytest.raises(BrokenSeal, match=told):
        seal.check(folder)


def test_a_file_whose_time_alone_changed_is_compared_by_its_content(folder: Path) -> None:
    seal = Seal.of(folder)
    (folder / "model.ubj").chmod(0o600)
    shutil.copytree(folder, folder.parent / "copy")
    seal.check(folder)
    seal.check(folder.parent / "copy")


def test_content_is_read_only_of_files_that_somebody_touched(folder: Path) -> None:
    read = list[str]()

    def reading(file: int) -> str:
        read.append(os.path.basename(os.readlink(f"/proc/self/fd/{file}")))
        return digest_of(file)

    seal = Seal.of(folder)
    seal.check(folder, reading)
    assert read == []
    (folder / "model.ubj").chmod(0o600)
    seal.check(folder, reading)
    assert read == ["model.ubj"]


def test_a_seal_can_be_saved(folder: Path) -> None:
    seal = Seal.of(folder)
    assert typed_json.read(Seal, json.loads(json.dumps(typed_json.written(seal)))) == seal
    with pytest.raises(typed_json.UnreadableRecord, match=r"Expected `array` of length 3, got 1"):
        typed_json.read(Seal, {"files": {"model.ubj": ["digest", [1]]}})


def test_a_folder_that_is_a_link_cannot_be_checked(folder: Path) -> None:
    seal = Seal.of(folder)
    shutil.move(folder, folder.parent / "moved")
    folder.symlink_to("moved")
    with pytest.raises(OSError, match="model"):
        seal.check(folder)


def test_the_digest_of_several_files_is_that_of_the_list_that_sha256sum_prints(folder: Path) -> None:
    paths = ("code/inference.py", "model.ubj")
    lines = "".join(f"{sha256((folder / path).read_bytes()).hexdigest()}  {path}\n" for path in paths)
    assert Seal.of(folder).sums == sha256(lines.encode()).hexdigest()
    shutil.rmtree(folder / "code")
    assert Seal.of(folder).sums == sha256(b"trees").hexdigest(), "one file is its own digest"
