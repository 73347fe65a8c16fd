"""Files put into the store's folder, changed and removed by hand."""

import os
import shutil
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.s3_server import Server


@pytest.fixture
def folder(server: Server, bucket: str) -> Path:
    return Path(server.root, bucket)


def etag(body: bytes) -> str:
    return f'"{md5(body).hexdigest()}"'


def listed(s3: Any, bucket: str, **query: Any) -> dict[str, str]:
    return {entry["Key"]: entry["ETag"] for entry in s3.list_objects_v2(Bucket=bucket, **query).get("Contents", [])}


def test_an_ordinary_object_is_a_plain_file(s3: Any, bucket: str, folder: Path) -> None:
    s3.put_object(Bucket=bucket, Key="models/a.tar.gz", Body=b"model")
    assert (folder / "models" / "a.tar.gz").read_bytes() == b"model"


def test_a_file_copied_in_is_an_object_at_once(s3: Any, bucket: str, folder: Path, tmp_path: Path) -> None:
    assert listed(s3, bucket) == {}
    (tmp_path / "model").write_bytes(b"model")
    (folder / "models").mkdir()
    shutil.copy(tmp_path / "model", folder / "models" / "a b.tar.gz")
    assert listed(s3, bucket) == {"models/a b.tar.gz": etag(b"model")}
    got = s3.get_object(Bucket=bucket, Key="models/a b.tar.gz")
    assert (got["Body"].read(), got["ETag"], got["ContentType"]) == (b"model", etag(b"model"), "binary/octet-stream")


def test_a_file_is_found_before_any_list_has_seen_it(s3: Any, bucket: str, folder: Path) -> None:
    (folder / "model").write_bytes(b"model")
    assert s3.head_object(Bucket=bucket, Key="model")["ETag"] == etag(b"model")


def test_a_file_changed_by_hand_is_a_new_object(s3: Any, bucket: str, folder: Path) -> None:
    s3.put_object(Bucket=bucket, Key="model", Body=b"first", Metadata={"a": "1"})
    assert listed(s3, bucket) == {"model": etag(b"first")}
    (folder / "model").write_bytes(b"other")  # in place, and just as long
    assert listed(s3, bucket) == {"model": etag(b"other")}
    head = s3.head_object(Bucket=bucket, Key="model")
    assert (head["ETag"], head["Metadata"]) == (etag(b"other"), {})


def test_a_file_removed_by_hand_is_gone(s3: Any, bucket: str, folder: Path) -> None:
    for key in ("a/b", "a/c", "d"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    (folder / "d").unlink()
    with pytest.raises(ClientError, match="Not Found"):
        s3.head_object(Bucket=bucket, Key="d")
    shutil.rmtree(folder / "a")
    assert listed(s3, bucket) == {}


def test_a_folder_moved_by_hand_moves_its_objects(s3: Any, bucket: str, folder: Path) -> None:
    s3.put_object(Bucket=bucket, Key="old/deep/model", Body=b"model")
    assert listed(s3, bucket, Prefix="old/") == {"old/deep/model": etag(b"model")}
    (folder / "old").rename(folder / "new")
    assert listed(s3, bucket) == {"new/deep/model": etag(b"model")}
    assert s3.list_objects_v2(Bucket=bucket, Delimiter="/")["CommonPrefixes"] == [{"Prefix": "new/"}]


def test_a_folder_made_by_hand_is_a_bucket(s3: Any, server: Server) -> None:
    for name in ("made-by-hand", ".hidden", "No_Bucket"):
        (server.root / name).mkdir()
    (server.root / "made-by-hand" / "model").write_bytes(b"model")
    names = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    assert names & {"made-by-hand", ".hidden", "No_Bucket", ".torpor"} == {"made-by-hand"}
    assert listed(s3, "made-by-hand") == {"model": etag(b"model")}


def test_a_bucket_removed_and_made_again_by_hand_starts_empty(
    s3: Any, server: Server, bucket: str, folder: Path
) -> None:
    for key in ("ordinary", "kept/aside/"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    folder.rename(server.root.with_name(bucket))  # not deleted, or its inode might be given out again
    folder.mkdir()
    assert listed(s3, bucket) == {}
    with pytest.raises(ClientError, match="TagSet"):
        s3.get_bucket_tagging(Bucket=bucket)


def test_a_symbolic_link_is_never_followed(s3: Any, bucket: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "file").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    assert listed(s3, bucket) == {}
    for key in ("file", "folder/secret"):
        with pytest.raises(ClientError, match="Not Found"):
            s3.head_object(Bucket=bucket, Key=key)
    s3.put_object(Bucket=bucket, Key="folder/secret", Body=b"mine")
    s3.delete_object(Bucket=bucket, Key="folder/secret")
    assert (tmp_path / "secret").read_bytes() == b"secret"
    with pytest.raises(ClientError, match="not empty"):
        s3.delete_bucket(Bucket=bucket)


def test_a_file_that_is_not_regular_or_has_a_strange_name_is_no_object(s3: Any, bucket: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "new\nline").touch()
    (folder / os.fsdecode(b"not-\xff-utf8")).touch()
    assert listed(s3, bucket) == {}
    with pytest.raises(ClientError, match="Not Found"):
        s3.head_object(Bucket=bucket, Key="pipe")


def test_empty_folders_go_with_their_last_object(s3: Any, bucket: str, folder: Path) -> None:
    s3.put_object(Bucket=bucket, Key="a/b/c", Body=b"")
    s3.put_object(Bucket=bucket, Key="a/d", Body=b"")
    s3.delete_object(Bucket=bucket, Key="a/b/c")
    assert [path.name for path in (folder / "a").iterdir()] == ["d"]
    s3.delete_object(Bucket=bucket, Key="a/d")
    assert list(folder.iterdir()) == []


def test_a_file_put_in_place_of_an_object_kept_aside_wins(s3: Any, bucket: str, folder: Path) -> None:
    for key in ("pp", "pp/q"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"api")
    (folder / "pp").unlink()
    (folder / "pp").mkdir()
    (folder / "pp" / "q").write_bytes(b"hand")
    assert listed(s3, bucket) == {"pp/q": etag(b"hand")}
    assert s3.get_object(Bucket=bucket, Key="pp/q")["Body"].read() == b"hand"
