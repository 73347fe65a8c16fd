"""Reading S3: the expected object arrives whole, or an error gives the reason and no file remains."""

import asyncio
import hashlib
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.container.helpers.fake_s3 import FakeObject, FakeS3
from tests.helpers.waiting import PATIENCE_S
from torpor_container.artifacts.errors import (
    ArtifactError,
    ArtifactForbidden,
    ArtifactMissing,
    DownloadBroken,
    StoreUnreachable,
)
from torpor_container.artifacts.receiver import Receiver
from torpor_container.artifacts.stores.artifact_store import ArtifactHead
from torpor_container.artifacts.stores.s3 import S3ArtifactStore
from torpor_container.artifacts.stores.s3_access import S3Access, connect, usual_session
from torpor_container.wire import Fault

Story = Callable[[FakeS3, S3ArtifactStore], Awaitable[None]]
KEY = "houses/a b#c%41+é.tar.gz"
PATH = "/bucket/houses/a%20b%23c%2541%2B%C3%A9.tar.gz"
BODY = bytes(range(256)) * 9000  # three chunks


def access(url: str, **changes: float) -> S3Access:
    quick = {"patience_s": 2.0, "connect_timeout_s": 1.0, "retries_max": 1} | changes
    return S3Access(url, "eu-west-3", "test", "test", **quick)  # type: ignore[arg-type]


def play(story: Story, **changes: float) -> None:
    async def whole() -> None:
        async with FakeS3() as s3:
            await story(s3, S3ArtifactStore("bucket", access(s3.url, **changes)))

    asyncio.run(whole())


def test_an_object_arrives_whole_under_any_key(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects[PATH] = FakeObject(BODY)
        head = await store.head(KEY)
        assert head == ArtifactHead(len(BODY), f'"{hashlib.md5(BODY).hexdigest()}"')
        await store.get(KEY, head, tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY
        assert head.file is None

    play(story)


@pytest.mark.parametrize("key", ["out//job/m.tar.gz", "/out/m.tar.gz", "out/m/", "//a b+c%2f"])
def test_empty_segments_of_a_key_are_kept(key: str, tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects[f"/bucket/{quote(key, safe='/')}"] = FakeObject(BODY)
        head = await store.head(key)
        await store.get(key, head, tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY

    play(story)


def test_faults_of_a_key_with_an_empty_segment_are_those_of_any_other(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        for status, error in ((404, ArtifactMissing), (403, ArtifactForbidden), (500, StoreUnreachable)):
            s3.objects["/bucket/a//b"] = FakeObject(status=status)
            with pytest.raises(error, match=r"key: a//b"):
                await store.head("a//b")
        with pytest.raises(ArtifactMissing):
            await store.head("")  # a bucket is no object
        s3.objects["/bucket/a//b"] = FakeObject(b"new")
        with pytest.raises(DownloadBroken, match="overwritten"):
            await store.get("a//b", ArtifactHead(3, '"old"'), tmp_path / "archive")

    play(story, retries_max=0)


@pytest.mark.parametrize(
    ("status", "error", "fault"),
    [
        (404, ArtifactMissing, Fault.ARTIFACT_MISSING),
        (403, ArtifactForbidden, Fault.ARTIFACT_MISSING),
        (401, ArtifactForbidden, Fault.ARTIFACT_MISSING),
        (503, StoreUnreachable, Fault.STORE_UNREACHABLE),
        (301, StoreUnreachable, Fault.STORE_UNREACHABLE),
        (400, StoreUnreachable, Fault.STORE_UNREACHABLE),
    ],
)
def test_an_s3_error_status_becomes_the_matching_artifact_error(
    status: int, error: type[ArtifactError], fault: Fault, tmp_path: Path
) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(b"x", status=status)
        for attempt in (store.head("k"), store.get("k", ArtifactHead(1, '"v"'), tmp_path / "archive")):
            with pytest.raises(error, match=r"\(bucket: bucket, key: k\)") as raised:
                await attempt
            assert (type(raised.value), raised.value.fault) == (error, fault)

    play(story)
    assert not any(tmp_path.iterdir())


def test_a_port_without_a_listener_is_unreachable() -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3._server.close()
        with pytest.raises(StoreUnreachable, match="check the S3 endpoint"):
            await store.head("k")

    play(story)


def test_a_silent_store_is_unreachable_after_the_time_limit() -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(silent=True)
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StoreUnreachable):
                await store.head("k")

    play(story, patience_s=0.2, retries_max=0)


def test_a_download_that_breaks_off_is_resumed_where_it_was(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, cuts=1)
        await store.get("k", await store.head("k"), tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY
        assert "range" in s3.requests[-1][2]

    play(story)


def test_a_connection_reset_in_the_midst_is_resumed_too(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, cuts=1, resets=True)
        await store.get("k", await store.head("k"), tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY

    play(story)


def test_a_store_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, busy=2)
        head = await store.head("k")
        s3.objects["/bucket/k"].busy = 2
        await store.get("k", head, tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY
        assert [method for method, *_ in s3.requests] == ["HEAD"] * 3 + ["GET"] * 3

    play(story, retries_max=3)


def test_a_store_that_stays_busy_is_unreachable_after_the_retries() -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(busy=99)
        with pytest.raises(StoreUnreachable, match="503"):
            await store.head("k")
        assert len(s3.requests) == 3

    play(story, retries_max=2)


def test_a_slow_body_is_waited_for_as_long_as_it_comes(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, pause_s=0.05)
        await store.get("k", await store.head("k"), tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == BODY

    play(story, patience_s=0.3, retries_max=0)


def test_a_body_shorter_than_its_content_length_never_counts_as_complete(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(b"bytes", headers={"Content-Length": "9"})
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(StoreUnreachable):
                await store.get("k", await store.head("k"), tmp_path / "archive")

    play(story, patience_s=0.2, retries_max=0)
    assert not any(tmp_path.iterdir())


def test_a_resumed_download_never_continues_with_a_newer_object(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, cuts=1, successor=FakeObject(BODY[::-1]))
        with pytest.raises(StoreUnreachable):
            await store.get("k", await store.head("k"), tmp_path / "archive")

    play(story)
    assert not any(tmp_path.iterdir())


def test_a_download_that_keeps_breaking_off_never_counts_as_complete(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY, cuts=99)
        with pytest.raises(StoreUnreachable):
            await store.get("k", await store.head("k"), tmp_path / "archive")

    play(story)
    assert not any(tmp_path.iterdir())


def test_an_object_overwritten_since_it_was_seen_is_refused(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(b"old")
        head = await store.head("k")
        s3.objects["/bucket/k"] = FakeObject(b"new")
        with pytest.raises(DownloadBroken, match="overwritten"):
            await store.get("k", head, tmp_path / "archive")

    play(story)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("etag", "size_bytes", "reason"),
    [("0" * 32, 5, "MD5"), ("0" * 32 + "-7", 4, "5 of 4 bytes")],
)
def test_other_bytes_than_promised_are_refused(etag: str, size_bytes: int, reason: str, tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(b"bytes", etag=etag)
        with pytest.raises(DownloadBroken, match=reason):
            await store.get("k", ArtifactHead(size_bytes, f'"{etag}"'), tmp_path / "archive")

    play(story)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "object_",
    [
        FakeObject(b"bytes", etag="0" * 32 + "-7"),
        FakeObject(b"bytes", etag="0" * 32, headers={"x-amz-server-side-encryption": "aws:kms"}),
        FakeObject(b""),
    ],
    ids=["multipart", "encrypted with KMS", "empty"],
)
def test_an_etag_that_is_no_md5_is_not_checked_as_one(object_: FakeObject, tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = object_
        await store.get("k", await store.head("k"), tmp_path / "archive")
        assert (tmp_path / "archive").read_bytes() == object_.body

    play(story)


def test_a_cancelled_download_leaves_no_file(tmp_path: Path) -> None:
    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(BODY)
        head = await store.head("k")
        s3.objects["/bucket/k"].silent = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await store.get("k", head, tmp_path / "archive")

    play(story)
    assert not any(tmp_path.iterdir())


class SlowReceiver(Receiver):
    """Takes the chunks once the test allows it, and records its calls."""

    def __init__(self, into: Path) -> None:
        super().__init__(into)
        self.taking, self.go_on = threading.Event(), threading.Event()
        self.done: list[str] = []

    def take(self, chunk: bytes) -> None:
        self.taking.set()
        assert self.go_on.wait(60.0)
        super().take(chunk)
        self.done.append("taken")

    def abandon(self) -> None:
        super().abandon()
        self.done.append("abandoned")


def test_a_cancelled_download_waits_for_the_thread_that_still_writes(tmp_path: Path) -> None:
    slow = SlowReceiver(tmp_path / "archive")

    async def story() -> None:
        async with FakeS3() as s3:
            s3.objects[PATH] = FakeObject(BODY)
            store = S3ArtifactStore("bucket", access(s3.url), lambda into: slow)
            getting = asyncio.create_task(store.get(KEY, await store.head(KEY), tmp_path / "archive"))
            await asyncio.to_thread(slow.taking.wait, 10.0)
            getting.cancel()
            for _ in range(10):  # time for other threads too
                await asyncio.to_thread(lambda: None)
            assert (getting.done(), slow.done) == (False, [])
            slow.go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await getting

    asyncio.run(story())
    assert slow.done == ["taken", "abandoned"]
    assert not any(tmp_path.iterdir())


def test_the_environment_changes_neither_endpoint_nor_credentials_nor_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_REGION"):
        monkeypatch.setenv(name, "somebody-else")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")

    async def story(s3: FakeS3, store: S3ArtifactStore) -> None:
        s3.objects["/bucket/k"] = FakeObject(b"x")
        await store.head("k")
        assert s3.requests[-1][2]["authorization"].startswith("AWS4-HMAC-SHA256 Credential=test/")
        assert "/eu-west-3/s3/" in s3.requests[-1][2]["authorization"]
        assert "x-amz-security-token" not in s3.requests[-1][2]

    play(story)


def test_without_an_endpoint_it_is_aws_in_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    environment = {"AWS_DEFAULT_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    given = S3Access.read(environment | {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert connect("bucket", given).config["endpoint"] == "https://s3.eu-west-1.amazonaws.com"


def test_credentials_may_come_from_the_usual_chain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[default]\naws_access_key_id = from-a-file\naws_secret_access_key = b\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)

    async def story() -> str:
        async with FakeS3() as s3:
            s3.objects["/bucket/k"] = FakeObject(b"x")
            await S3ArtifactStore("bucket", S3Access(s3.url)).head("k")
            return s3.requests[-1][2]["authorization"]

    assert "Credential=from-a-file/" in asyncio.run(story())


def test_credentials_may_come_from_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    given = {"AccessKeyId": "from-a-container", "SecretAccessKey": "b", "Token": "c"}

    async def story() -> str:
        async with FakeS3() as s3:
            s3.objects["/keys"] = FakeObject(json.dumps(given | {"Expiration": "2099-01-01T00:00:00Z"}).encode())
            s3.objects["/bucket/k"] = FakeObject(b"x")
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{s3.url}/keys")
            store = await asyncio.to_thread(S3ArtifactStore, "bucket", S3Access(s3.url))
            await store.head("k")
            return s3.requests[-1][2]["authorization"]

    assert "Credential=from-a-container/" in asyncio.run(story())


def test_credentials_come_from_aws_and_never_from_the_endpoint_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    assert usual_session().client("sts").meta.endpoint_url == "https://sts.eu-west-3.amazonaws.com"


def test_secrets_do_not_show() -> None:
    assert "hidden" not in repr(S3Access(secret_access_key="hidden", session_token="hidden"))
