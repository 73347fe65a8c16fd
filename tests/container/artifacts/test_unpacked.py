"""The disk tier holds only whole artifacts, however the process ends."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from torpor_container.artifacts.errors import DiskFull, disk_full_for
from torpor_container.artifacts.seals import Seal
from torpor_container.artifacts.unpacked import MODEL, UnpackedArtifact, UnpackedArtifacts
from torpor_container.wire import Fault


def put(tier: UnpackedArtifacts, key: str, version: str = "1", content: bytes = b"model") -> UnpackedArtifact:
    workspace = tier.workspace()
    (workspace / "model").mkdir()
    (workspace / "model/m.json").write_bytes(content)
    return tier.publish(key, version, workspace, Seal.of(workspace / MODEL))


def test_a_published_artifact_is_found_at_its_model_id(tmp_path: Path) -> None:
    tier = UnpackedArtifacts(tmp_path, 1000, "bucket")
    entry = put(tier, "a.tar.gz")
    assert tier.find("a.tar.gz") == entry
    assert entry.directory == tmp_path / entry.model_id / "model"
    assert (entry.directory / "m.json").read_bytes() == b"model"
    assert tier.used_bytes == 5


def test_a_new_process_finds_what_was_finished_and_removes_the_rest(tmp_path: Path) -> None:
    before = UnpackedArtifacts(tmp_path, 1000, "bucket")
    entry = put(before, "a")
    (before.workspace() / "model").mkdir()
    (tmp_path / ("0" * 32)).mkdir()
    (tmp_path / "not ours").mkdir()
    after = UnpackedArtifacts(tmp_path, 1000, "bucket")
    assert after.scan() == [entry]
    assert {path.name for path in tmp_path.iterdir()} == {entry.model_id, "not ours"}


def test_artifacts_of_another_bucket_are_ignored(tmp_path: Path) -> None:
    put(UnpackedArtifacts(tmp_path, 1000, "one"), "a")
    assert UnpackedArtifacts(tmp_path, 1000, "two").scan() == []


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"key": "a"}'])
def test_a_damaged_record_counts_as_unfinished(tmp_path: Path, record: bytes) -> None:
    entry = put(UnpackedArtifacts(tmp_path, 1000), "a")
    (entry.directory.parent / "artifact.json").write_bytes(record)
    assert UnpackedArtifacts(tmp_path, 1000).scan() == []
    assert not entry.directory.exists()


@pytest.mark.parametrize(
    "odd", [{"boot": None}, {"key": 7}, {"version": []}, {"files": None}, {"files": {"m.json": 7}}], ids=str
)
def test_a_record_with_an_odd_member_counts_as_unfinished(tmp_path: Path, odd: dict[str, object]) -> None:
    record = put(UnpackedArtifacts(tmp_path, 1000), "a").directory.parent / "artifact.json"
    members = json.loads(record.read_text()) | odd
    record.write_text(json.dumps({name: value for name, value in members.items() if value is not None}))
    assert UnpackedArtifacts(tmp_path, 1000).scan() == []


def test_an_artifact_written_before_the_last_boot_is_not_trusted(tmp_path: Path) -> None:
    record = put(UnpackedArtifacts(tmp_path, 1000), "a").directory.parent / "artifact.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"boot": "an earlier one"}))
    assert UnpackedArtifacts(tmp_path, 1000).scan() == []


def test_a_new_version_takes_the_place_of_the_old(tmp_path: Path) -> None:
    tier = UnpackedArtifacts(tmp_path, 1000)
    old, new = put(tier, "a", "1", b"old"), put(tier, "a", "2", b"newer")
    assert tier.find("a") == new
    assert not old.directory.exists()
    assert tier.used_bytes == 5


def test_the_same_version_may_be_published_again(tmp_path: Path) -> None:
    tier = UnpackedArtifacts(tmp_path, 1000)
    first, second = put(tier, "a"), put(tier, "a")
    assert (second.directory, tier.fault(second)) == (first.directory, None)
    assert len(tier.entries()) == 1


def test_removing_frees_the_bytes_and_forgets(tmp_path: Path) -> None:
    tier = UnpackedArtifacts(tmp_path, 1000)
    entry = put(tier, "a")
    assert (tier.remove("a"), tier.remove("a")) == (5, 0)
    assert (tier.find("a"), tier.used_bytes, entry.directory.exists()) == (None, 0, False)


def test_an_artifact_that_can_never_fit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    tier = UnpackedArtifacts(tmp_path, 4)
    with pytest.raises(DiskFull, match="takes 5 bytes") as refused:
        put(tier, "a")
    assert refused.value.fault is Fault.NO_ROOM
    assert tier.entries() == []


def test_a_full_file_system_is_no_room_and_other_trouble_is_not() -> None:
    with pytest.raises(DiskFull, match=r"key: a\): No space left"), disk_full_for("a"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(PermissionError), disk_full_for("a"):
        raise PermissionError(errno.EACCES, "no")


def test_leftovers_of_a_removal_do_not_block_the_same_artifact(tmp_path: Path) -> None:
    left = put(UnpackedArtifacts(tmp_path, 1000), "a").directory.parent
    (left / "artifact.json").unlink()
    anew = put(UnpackedArtifacts(tmp_path, 1000), "a", content=b"anew")
    assert anew.directory.joinpath("m.json").read_bytes() == b"anew"


def test_unfinished_files_that_cannot_be_removed_do_not_block_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = UnpackedArtifacts(tmp_path, 1000).workspace()
    (left / "m.json").touch()
    with monkeypatch.context() as still_written_to:
        still_written_to.setattr(shutil, "rmtree", lambda folder, ignore_errors: None)
        after = UnpackedArtifacts(tmp_path, 1000)
        after.scan()
    assert left.exists()
    assert list(after.workspace().iterdir()) == []
    assert put(after, "a").directory.exists()


def test_an_artifact_that_cannot_be_removed_blocks_nothing_and_is_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = UnpackedArtifacts(tmp_path, 1000)
    left = put(tier, "a").directory.parent
    with monkeypatch.context() as still_written_to:
        still_written_to.setattr(shutil, "rmtree", lambda folder, ignore_errors: None)
        tier.remove("a")
    assert not left.exists()
    assert [path.name for path in tmp_path.glob(".unfinished/*/*")] == [left.name]
    entry = put(tier, "a", content=b"anew")
    assert (tier.find("a"), (entry.directory / "m.json").read_bytes()) == (entry, b"anew")
    assert list((tmp_path / ".unfinished").iterdir()) == []
