"""An endpoint's files are closed to other users: new files, and those that existed before."""

import os
from pathlib import Path

from torpor_account.storage.private import close_all, closed_to_others


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mode & 0o777 for path in folder.rglob("*")}


def test_a_folder_that_others_could_read_is_closed_to_them_with_all_in_it(tmp_path: Path) -> None:
    bucket = tmp_path / "s3" / "bucket"
    bucket.mkdir(parents=True)
    (bucket / "model").write_bytes(b"1")
    (bucket / "model").chmod(0o664)
    for folder in (tmp_path, bucket, bucket.parent):
        folder.chmod(0o755)
    assert closed_to_others(tmp_path)
    close_all(tmp_path)
    assert modes(tmp_path) == {"s3": 0o700, "s3/bucket": 0o700, "s3/bucket/model": 0o600}
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert not closed_to_others(tmp_path)


def test_the_target_of_a_link_keeps_its_permissions(tmp_path: Path) -> None:
    kept, outside = tmp_path / "kept", tmp_path / "outside"
    kept.mkdir()
    outside.mkdir()
    (outside / "file").touch()
    os.chmod(outside, 0o755)
    os.chmod(outside / "file", 0o644)
    (kept / "folder").symlink_to(outside)
    (kept / "file").symlink_to(outside / "file")
    close_all(kept)
    assert (outside.stat().st_mode & 0o777, (outside / "file").stat().st_mode & 0o777) == (0o755, 0o644)
