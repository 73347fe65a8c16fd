"""The store's bounds on memory, time and disk hold, however large its contents grow."""

import asyncio
import http.client
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.account.helpers.s3_server import Server, client, serving
from torpor_account.s3.app import S3App
from torpor_account.s3.object_store import ObjectStore

MIB = 2**20
LARGE_BYTES = 256 * MIB


def peak_mib(server: Server) -> int:
    lines = Path(f"/proc/{server.worker_pid()}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


@pytest.mark.thorough
@pytest.mark.slow
def test_memory_stays_flat_for_a_large_object(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(LARGE_BYTES)
    with serving(tmp_path / "store") as server:
        s3 = client(server.url)
        s3.create_bucket(Bucket="bucket")
        before_mib = peak_mib(server)
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        with sparse.open("rb") as file:
            connection.request("PUT", "/bucket/large", file)
            assert connection.getresponse().read() == b""
        connection.close()
        got = s3.get_object(Bucket="bucket", Key="large")["Body"]
        assert sum(len(piece) for piece in got.iter_chunks(MIB)) == LARGE_BYTES
        s3.copy_object(Bucket="bucket", Key="copy", CopySource="bucket/large")
        assert peak_mib(server) - before_mib < 40


def test_a_full_disk_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with serving(tmp_path, S3_SERVER_FILE_MAX_BYTES=str(8 * MIB)) as server:
        s3 = client(server.url)
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="k", Body=b"old")
        with pytest.raises(ClientError) as refused:
            s3.put_object(Bucket="bucket", Key="k", Body=b"x" * (9 * MIB))
        assert refused.value.response["Error"]["Code"] == "InsufficientStorage"
        assert refused.value.response["ResponseMetadata"]["RetryAttempts"] == 0
        assert s3.get_object(Bucket="bucket", Key="k")["Body"].read() == b"old"
        assert list((tmp_path / ".torpor" / "tmp").iterdir()) == []


async def answered(app: S3App, path: str, query: bytes) -> tuple[int, bytes]:
    """One GET without a server in between."""
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
    await app(scope, receive, send)
    return messages[0]["status"], b"".join(message.get("body", b"") for message in messages)


def page_costs(folder: Path, objects: int) -> list[float]:
    """The processor time of a page of 1,000 objects, of so many in their bucket, by query: the least of six."""
    (folder / "bucket").mkdir(parents=True)
    for number in range(objects):
        (folder / "bucket" / f"model-{number:06}.tar.gz").touch()
    store = ObjectStore(folder)
    app = S3App(store, account="123456789012", region="us-east-1")

    async def page_s(query: bytes) -> float:
        begun_s = time.process_time()
        status, body = await answered(app, "/bucket", b"list-type=2&encoding-type=url&" + query)
        assert (status, body.count(b"<Key>")) == (200, 1000)
        return time.process_time() - begun_s  # what else runs on the machine is not counted

    async def least_s() -> list[float]:
        queries = (b"", b"prefix=model-0", b"start-after=model-000500", b"delimiter=/")
        return [min([await page_s(query) for _ in range(6)]) for query in queries]

    costs = asyncio.run(least_s())
    store.close()
    return costs


@pytest.mark.thorough
def test_a_page_of_thirty_thousand_objects_costs_little_more_than_one_of_two_thousand(tmp_path: Path) -> None:
    few, many = (page_costs(tmp_path / str(objects), objects) for objects in (2_000, 30_000))
    assert max(many) < 3 * max(few)
