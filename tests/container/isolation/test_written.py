"""What a script's folders have is counted, up to a bound."""

from pathlib import Path

from torpor_container.isolation.written import DEPTH_MAX, WITHOUT_END, Written, written


def tree(folder: Path, depth: int) -> None:
    for _ in range(depth):
        (folder / "file").write_bytes(b"x")
        folder = folder / "d"
        folder.mkdir()


def test_files_and_folders_count_wherever_they_are(tmp_path: Path) -> None:
    tree(tmp_path, 3)
    blocks = sum(path.stat().st_blocks for path in tmp_path.rglob("*"))
    assert written([str(tmp_path), str(tmp_path / "gone")]) == Written(6, blocks * 512)


def test_the_count_ends_beyond_its_bound(tmp_path: Path) -> None:
    tree(tmp_path, 9)
    assert written([str(tmp_path)] * 2, 18 + 4).files == 18 + 5


def test_folders_without_end_have_more_than_any_bound(tmp_path: Path) -> None:
    tree(tmp_path, DEPTH_MAX + 1)
    assert written([str(tmp_path)]).files > WITHOUT_END
