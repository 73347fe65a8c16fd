"""The head of an object: its size, the type that its writer gave, its ETag, and its version as instances name it."""

from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from torpor_account.s3.access.embedded import EmbeddedStorage, ObjectHead
from torpor_account.s3.access.remote import RemoteStorage
from torpor_account.s3.object_store import ObjectStore

TYPES = [("text/csv", "text/csv"), ("", ""), ("binary/octet-stream", ""), ("application/octet-stream",) * 2]


@pytest.mark.parametrize(("written", "found"), TYPES)
def test_s3_s_own_type_is_none_of_the_writer_s(tmp_path: Path, written: str, found: str) -> None:
    objects = ObjectStore(tmp_path / "s3")
    objects.buckets.create("ours")
    storage = EmbeddedStorage(objects)
    storage.write(b"123", "ours", "in/a", written)
    place = (tmp_path / "s3/ours/in/a").stat()
    version = f"{place.st_mtime_ns}-3-{place.st_ino}"
    assert storage.head("ours", "in/a") == ObjectHead(3, found, md5(b"123").hexdigest(), version)
    objects.close()


class FakeClient:
    """Answers HeadObject as another S3 does."""

    def __init__(self, content_type: str) -> None:
        self._typed = {"ContentType": content_type} if content_type else {}

    def head_object(self, **asked: Any) -> dict[str, Any]:
        assert asked == {"Bucket": "theirs", "Key": "in/a"}
        return {"ContentLength": 3, "ETag": '"202c-2"', **self._typed}


@pytest.mark.parametrize(("written", "found"), TYPES)
def test_another_s3_is_asked_for_both_at_once(written: str, found: str) -> None:
    assert RemoteStorage(FakeClient(written)).head("theirs", "in/a") == ObjectHead(3, found, "202c-2", '"202c-2"')
