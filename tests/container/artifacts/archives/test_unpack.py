"""Unpacking: the folder holds what the archive holds."""

import gzip
import os
import stat
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.container.helpers.tar_archives import member, tar_gz_of, tar_of, tar_with, with_checksum
from tests.helpers.example_counts import tries
from torpor_container.artifacts.archives.decompression import MEMBERS_MAX
from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.seals import Seal

MODEL = {"model.json": b"{}", "code/inference.py": b"pass", "deep/er/still": b"x" * 5000}


def unpack_bytes(archive: bytes, folder: Path, name: str = "houses/m.tar.gz", **limits: float) -> Seal:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "archive").write_bytes(archive)
    seal, digest = unpack(folder / "archive", folder / "model", UnpackLimits(**limits), name)  # type: ignore[arg-type]
    assert digest == sha256(archive).hexdigest(), "the digest is that of the artifact's bytes, whatever they hold"
    return seal


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_gzipped_tar_becomes_its_files(tmp_path: Path) -> None:
    unpacked = unpack_bytes(tar_gz_of(MODEL), tmp_path)
    assert files_in(tmp_path / "model") == MODEL
    assert unpacked == Seal.of(tmp_path / "model")
    assert (len(unpacked.files), unpacked.size_bytes) == (3, sum(map(len, MODEL.values())))


def test_a_plain_tar_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    unpack_bytes(tar_of(MODEL), tmp_path, name="ModelA")
    assert files_in(tmp_path / "model") == MODEL


def test_a_tar_from_before_the_magic_number_is_known_by_its_checksum(tmp_path: Path) -> None:
    archive = bytearray(tar_of({"m": b"x"}, tarfile.USTAR_FORMAT))
    archive[257:512] = bytes(255)
    archive[:512] = with_checksum(bytes(archive[:512]))
    unpack_bytes(bytes(archive), tmp_path, name="ModelA")
    assert files_in(tmp_path / "model") == {"m": b"x"}


def test_an_archive_may_name_its_own_root(tmp_path: Path) -> None:
    """As the SageMaker SDK does when it puts code into an artifact: `tar.add(folder, arcname="/")`."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "model.json").write_bytes(b"{}")
    with tarfile.open(tmp_path / "made", "w:gz") as tar:
        tar.add(tmp_path / "source", arcname=os.path.sep)
    unpack_bytes((tmp_path / "made").read_bytes(), tmp_path / "here")
    assert files_in(tmp_path / "here" / "model") == {"model.json": b"{}"}


def test_a_bare_model_file_keeps_its_objects_name(tmp_path: Path) -> None:
    sealed = unpack_bytes(b"\x08\x07onnx", tmp_path, name="a/b/house.onnx")
    assert sealed == Seal.of(tmp_path / "model")
    assert sealed.size_bytes == 6
    assert files_in(tmp_path / "model") == {"house.onnx": b"\x08\x07onnx"}


@pytest.mark.parametrize(
    "content", [b"", b"\x80\x04K\x01.", bytes(600), os.urandom(70_000)], ids=["empty", "pickle", "zeros", "long"]
)
def test_a_bare_file_that_gzip_compressed_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    """As joblib writes it: `joblib.dump(estimator, "house.joblib", compress=("gzip", 3))`."""
    packed = gzip.compress(content)
    sealed = unpack_bytes(packed, tmp_path, name="a/b/house.joblib")
    assert sealed == Seal.of(tmp_path / "model")
    assert files_in(tmp_path / "model") == {"house.joblib": packed}


def test_a_gzipped_tar_is_an_archive_whatever_its_name(tmp_path: Path) -> None:
    noise = os.urandom(70_000)
    unpack_bytes(gzip.compress(tar_of({"m": noise}), 0), tmp_path, name="ModelA")
    assert files_in(tmp_path / "model") == {"m": noise}


def test_several_gzip_members_and_padding_are_one_archive(tmp_path: Path) -> None:
    tar = tar_of(MODEL)
    empty = gzip.compress(b"") * (MEMBERS_MAX - 2)
    unpack_bytes(gzip.compress(tar[:700]) + gzip.compress(tar[700:]) + empty + bytes(512), tmp_path)
    assert files_in(tmp_path / "model") == MODEL


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_tar_dialect_and_long_names_work(tmp_path: Path, form: int) -> None:
    files = {f"{'d' * 60}/{'e' * 60}/{'n' * 90}": b"long", "./dot/./file": b"dots"}
    unpack_bytes(tar_of(files, form), tmp_path)
    assert set(files_in(tmp_path / "model")) == {f"{'d' * 60}/{'e' * 60}/{'n' * 90}", "dot/file"}


def test_folders_may_come_late_and_more_than_once(tmp_path: Path) -> None:
    folder = member("a", kind=tarfile.DIRTYPE)
    unpack_bytes(tar_with([(member("a/b", 1), b"x"), (folder, b""), (folder, b"")]), tmp_path)
    assert files_in(tmp_path / "model") == {"a/b": b"x"}


def test_a_comment_for_the_whole_archive_is_passed_over(tmp_path: Path) -> None:
    unpack_bytes(tar_with([(member("m", 1), b"x")], for_all={"comment": "a commit"}), tmp_path)
    assert files_in(tmp_path / "model") == {"m": b"x"}


def test_modes_of_the_archive_are_dropped(tmp_path: Path) -> None:
    header = member("tool", 1)
    header.mode = 0o6777
    unpack_bytes(tar_with([(header, b"x")]), tmp_path)
    assert stat.S_IMODE(os.stat(tmp_path / "model/tool").st_mode) & ~0o644 == 0


NAMES = st.lists(st.text("abcé .-_", min_size=1, max_size=70).filter(lambda s: s.strip(". ")), min_size=1, max_size=3)


@settings(max_examples=tries(24), deadline=None)
@given(
    files=st.dictionaries(NAMES.map("/".join), st.binary(max_size=1500), min_size=1, max_size=5),
    form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_an_archive_that_tarfile_writes_is_unpacked_unchanged(
    files: dict[str, bytes], form: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folders = {name[:at] for name in files for at, letter in enumerate(name) if letter == "/"}
    files = {name: content for name, content in files.items() if name not in folders}
    tmp_path = tmp_path_factory.mktemp("oracle")
    unpack_bytes(gzip.compress(tar_of(files, form)), tmp_path)
    assert files_in(tmp_path / "model") == files
