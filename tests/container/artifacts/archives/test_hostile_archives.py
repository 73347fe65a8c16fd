"""Hostile archives: each is refused with its own reason, and writes nothing outside its folder."""

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import os
import random
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.hostile.archives import ARCHIVES, ESCAPED
from tests.container.helpers.tar_archives import member, tar_gz_of, tar_of, tar_with, with_checksum
from tests.helpers.example_counts import tries
from tests.helpers.thorough_values import thorough
from torpor_container.artifacts.archives.unpack import UnpackLimits, unpack
from torpor_container.artifacts.errors import ArtifactInvalid
from torpor_container.wire import Fault

GOOD = tar_of({"model.json": b"{}" * 400})
LIMITS = UnpackLimits(bytes_max=40_000, entries_max=20, path_bytes_max=120, depth_max=4)


def refusal(archive: bytes, folder: Path, name: str = "m.tar.gz", limits: UnpackLimits = LIMITS) -> str:
    (folder / "archive").write_bytes(archive)
    with pytest.raises(ArtifactInvalid) as refused:
        unpack(folder / "archive", folder / "model", limits, name)
    assert refused.value.fault is Fault.ARTIFACT_INVALID
    assert name in str(refused.value)
    return refused.value.reason


def one(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    return tar_with([(member(name, kind=kind, target=target), b"")])


def pax(name: str, value: str) -> bytes:
    header = member("m", 1)
    header.pax_headers = {name: value}
    return tar_with([(header, b"x")])


def sized(archive: bytes, field: bytes) -> bytes:
    """The first header with another size field."""
    return with_checksum(archive[:124] + field.ljust(12, b"\0") + archive[136:512]) + archive[512:]


HOSTILE: dict[str, tuple[bytes, str]] = {
    "absolute path": (one("/etc/cron.d/x"), "absolute path"),
    "parent path": (one("a/../../x"), "leads out"),
    "parent path by pax": (pax("path", "../x"), "leads out"),
    "absolute path by a long GNU name": (
        tar_with([(member("/" + "x" * 110), b"")], tarfile.GNU_FORMAT),
        "absolute path",
    ),
    "NUL in a pax path": (pax("path", "a\0b"), "no file name"),
    "symbolic link": (one("l", tarfile.SYMTYPE, "/etc"), "symbolic link"),
    "symbolic link inside": (one("l", tarfile.SYMTYPE, "model.json"), "tar -h"),
    "hard link": (one("l", tarfile.LNKTYPE, "model.json"), "hard link"),
    "character device": (one("d", tarfile.CHRTYPE), "device"),
    "block device": (one("d", tarfile.BLKTYPE), "device"),
    "named pipe": (one("p", tarfile.FIFOTYPE), "pipe"),
    "GNU sparse file": (one("s", tarfile.GNUTYPE_SPARSE), "sparse"),
    "pax sparse file": (pax("GNU.sparse.major", "1"), "sparse"),
    "unknown kind": (one("v", b"V"), "unknown type"),
    "twice": (tar_with([(member("m"), b""), (member("./m"), b"")]), "comes twice"),
    "file where a folder is": (tar_with([(member("m/x"), b""), (member("m"), b"")]), "comes twice"),
    "folder where a file is": (tar_with([(member("m"), b""), (member("m/x"), b"")]), "both a file and a folder"),
    "too deep": (one("a/b/c/d/e"), "too deep"),
    "too long": (one("a" * 60 + "/" + "b" * 60), "too long"),
    "too many": (tar_of({str(n): b"" for n in range(21)}), "more than 20"),
    "too many folders": (tar_with([(member(str(n), kind=tarfile.DIRTYPE), b"") for n in range(21)]), "more than 20"),
    "too large": (tar_of({"m": bytes(50_000)}), "more than 40000 bytes"),
    "no name": (one("."), "no name"),
    "only folders": (one("d", tarfile.DIRTYPE), "holds no file"),
    "no members": (tar_of({}), "holds no file"),
    "nothing in the gzip": (b"", "is empty"),
    "not a tar": (b"{" + b"x" * 600 + b"}", "not a tar"),
    "short and not a tar": (b"hello", "end mark"),
    "cut in a header": (GOOD[:300], "end mark"),
    "cut in a file": (GOOD[:700], "ends in the middle of a file"),
    "cut after a file": (GOOD[:1536], "end mark"),
    "damaged second header": (GOOD[:1536] + b"x" * 512 + bytes(1024), "header is damaged"),
    "garbage at the end": (GOOD + b"garbage", "something else"),
    "a second tar at the end": (GOOD + GOOD, "something else"),
    "a size beyond all bounds": (sized(GOOD, b"\x80" + b"\xff" * 11), "ends in the middle of a file"),
    "a negative size": (sized(GOOD, b"\xff" * 12), "not a number"),
    "a size that is no number": (sized(GOOD, b"12_3"), "not a number"),
    "a pax size that is no number": (pax("size", "-1"), "not a number"),
    "an extended header of a gigabyte": (sized(pax("x", "y"), b"10000000000"), "claims"),
    "a global path": (tar_with([(member("m"), b"")], for_all={"path": "elsewhere"}), "global"),
    "a long name without a member": (pax("path", "x" * 200)[:1024] + bytes(1024), "followed by no member"),
    "five long names in a row": (pax("a", "b")[:1024] * 5 + GOOD, "unknown type"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_for_its_own_reason(case: str, tmp_path: Path) -> None:
    tar, reason = HOSTILE[case]
    assert reason in refusal(gzip.compress(tar), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "model"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda gz: b"", "is empty"),
        (lambda gz: gz[:-1], "truncated"),
        (lambda gz: gz[: len(gz) // 2], "truncated"),
        (lambda gz: gz[:1], "neither"),
        (lambda gz: gz[:-8] + bytes(8), "damaged"),
        (lambda gz: gz + gzip.compress(b"") * 20_000, "more than 10000 gzip members"),
        (lambda gz: gz + b"<html>", "something else after the end of the gzip"),
        (lambda gz: gz + gzip.compress(b"more"), "something else after the end of the tar"),
        (lambda gz: b"<html>403</html>", "neither a gzip file nor a tar"),
        (lambda gz: bz2.compress(gzip.decompress(gz)), "it is a bzip2 file, and not a gzipped tar"),
        (lambda gz: lzma.compress(gzip.decompress(gz)), "it is an xz file, and not"),
        (lambda gz: b"PK\3\4" + gz, "it is a zip archive, and not"),
        (lambda gz: b"\x28\xb5\x2f\xfd" + gz, "it is a zstd file, and not"),
        (lambda gz: gzip.compress(b"{}" * 300), "its content is not a tar archive, as that of `tar -czf` is"),
    ],
)
def test_a_damaged_gzip_is_refused(damage: Callable[[bytes], bytes], reason: str, tmp_path: Path) -> None:
    assert reason in refusal(damage(tar_gz_of({"m": b"x" * 3000})), tmp_path)


def test_a_bomb_stops_at_the_ratio_long_before_it_is_unpacked(tmp_path: Path) -> None:
    pack = zlib.compressobj(9, wbits=31)
    tar = tar_with([(member("zeros", 0), b"")])
    bomb = pack.compress(sized(tar[:512], b"%o" % (200 << 20))) + pack.compress(bytes(200 << 20)) + pack.flush()
    reason = refusal(bomb, tmp_path, limits=UnpackLimits(ratio_max=100.0))
    assert "expands more than 100 times" in reason
    assert (tmp_path / "model/zeros").stat().st_size <= 100 * len(bomb)


def test_a_bare_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    assert "larger than" in refusal(b"x" * 40_001, tmp_path, name="m.onnx")


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive").write_bytes(bytes(20 << 20))
    done = threading.Event()

    def keep_changing() -> None:
        for at in itertools.takewhile(lambda _: not done.is_set(), itertools.count()):
            os.utime(tmp_path / "archive", ns=(at, at))

    other = threading.Thread(target=keep_changing)
    other.start()
    try:
        with pytest.raises(ArtifactInvalid, match="changed while"):
            unpack(tmp_path / "archive", tmp_path / "model", UnpackLimits(), "m.onnx")
    finally:
        done.set()
        other.join()


def test_a_pax_header_made_to_be_slow_is_not(tmp_path: Path) -> None:
    digits = b"1" * 60_000
    header = with_checksum(GOOD[:124] + b"%011o\0" % len(digits) + GOOD[136:156] + b"x" + GOOD[157:512])
    began_s = time.process_time()
    assert "pax header" in refusal(gzip.compress(header + digits + bytes(5000)), tmp_path, limits=UnpackLimits())
    assert time.process_time() - began_s < 10.0  # it takes milliseconds


PATHS = st.text("ab/.\0", max_size=12) | st.sampled_from(["..", "/", "../../x", "a/../..", "/tmp/torpor-escape", "l/x"])
KINDS = st.sampled_from([bytes([kind]) for kind in b"0\x0012345670LKxgSZ"])
MEMBERS = st.lists(st.tuples(PATHS, KINDS, PATHS, st.binary(max_size=3000)), max_size=8)


def lying_tar(members: list[tuple[str, bytes, str, bytes]]) -> bytes:
    tar = io.BytesIO()
    for path, kind, target, content in members:
        header = member("m", len(content), kind, "").tobuf(tarfile.USTAR_FORMAT)
        name, link = path.encode().ljust(100, b"\0"), target.encode().ljust(100, b"\0")
        tar.write(with_checksum(name + header[100:157] + link + header[257:512]))
        tar.write(content + bytes(-len(content) % 512))
    return tar.getvalue() + bytes(1024)


@settings(max_examples=tries(60), deadline=None)
@example(members=[("l", b"2", "..", b""), ("l/x", b"0", "", b"escaped")], flipped=0)
@given(members=MEMBERS, flipped=st.integers(0, 3))
def test_a_hostile_archive_never_escapes_the_folder_or_exceeds_the_limits(
    members: list[tuple[str, bytes, str, bytes]], flipped: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tmp_path = tmp_path_factory.mktemp("hostile")
    archive = bytearray(lying_tar(members))
    for at in range(flipped):
        archive[len(archive) * (at + 1) // 5] ^= 0x41
    (tmp_path / "archive").write_bytes(gzip.compress(archive))
    limits = UnpackLimits(bytes_max=12_000, entries_max=6)
    with contextlib.suppress(ArtifactInvalid):
        unpack(tmp_path / "archive", tmp_path / "model", limits, "m")
    left = list((tmp_path / "model").rglob("*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "model"]
    assert not any(path.is_symlink() for path in left)
    assert sum(path.stat().st_size for path in left if path.is_file()) <= limits.bytes_max
    assert sum(1 for path in left if path.is_file()) <= limits.entries_max
    assert not Path("/tmp/torpor-escape").exists()


@pytest.mark.parametrize("kind", ARCHIVES)
@pytest.mark.parametrize("seed", [1, *thorough(2)])
def test_no_archive_of_the_benchmark_leaves_its_folder(kind: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (archive := tmp_path / "archive").write_bytes(ARCHIVES[kind](random.Random(seed)))
    with contextlib.suppress(ArtifactInvalid):
        unpack(archive, tmp_path / "a" / "b" / "model", UnpackLimits(), "m.tar.gz")
    places = {path.parent for path in (*tmp_path.rglob("*"), *Path("/tmp").glob(f"{ESCAPED}*")) if path.is_file()}
    assert [place for place in places - {tmp_path} if not place.is_relative_to(tmp_path / "a" / "b" / "model")] == []
