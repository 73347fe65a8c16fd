"""An endpoint with thousands of records of each kind, and what an operation holds its event loop up for.

Each record is one that the walk through all operations has made, under another name: a kind that comes later is many
here by itself.
"""

import asyncio
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from copy import copy, deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

from botocore.awsrequest import AWSPreparedRequest

from tests.endpoint.helpers.model_artifacts import put
from torpor_account.aws.wire.asgi import App, Message
from torpor_account.metrics.metrics import METRICS
from torpor_account.metrics.registry import MetricRegistry
from torpor_endpoint.app import EndpointProcess
from torpor_endpoint.fleet.settling import Settling
from torpor_endpoint.options import Options
from torpor_endpoint.services.jobs.job_queue import JobQueue

ENDPOINTS = 250
MANY = {"models": 10_000, "endpoints": ENDPOINTS, "endpoint_configs": ENDPOINTS}
OTHERS = 200
"""Records of each other kind."""
OBJECTS = 2_000
"""In the walk's bucket: two pages."""
LINES = 20_000
"""In the log of an instance."""
RECORDS = "torpor.sqlite"
BEGINNING = ((Settling, "changed"), (JobQueue, "begin"))
"""What operations call, so that work begins."""
MOVING = ("Creating", "Updating", "Deleting", "SystemUpdating")
"""Statuses in which most operations are refused."""
Row = tuple[str, str, str]
"""Key, name and record."""


class SeenRecords:
    """All records that a data folder ever held when it was looked at, by table."""

    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / RECORDS
        self.rows: dict[str, dict[str, Row]] = {}

    def look(self, operation: str) -> None:
        """Before what may remove records."""
        if operation.startswith("Delete"):
            with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as database:
                for table in record_tables(database):
                    found = database.execute(f"SELECT key, name, record FROM {table}")
                    self.rows.setdefault(table, {}).update((key, (key, name, text)) for key, name, text in found)


def record_tables(database: sqlite3.Connection) -> list[str]:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {table: {row[1] for row in database.execute(f"PRAGMA table_xinfo({table})")} for table in tables}
    return [table for table in tables if {"key", "name", "record"} <= columns[table]]


def filled(data_dir: Path, seen: SeenRecords, folder: Path) -> None:
    """Make a data folder like the walk's, with many of each record under other names."""
    folder.mkdir()
    with closing(sqlite3.connect(data_dir / RECORDS)) as walked, closing(sqlite3.connect(folder / RECORDS)) as full:
        walked.backup(full)
        for table, rows in seen.rows.items():
            named = [row for row in rows.values() if "walk" in row[0]]
            for number in range(MANY.get(table, OTHERS) if named else 0):
                copies = [[at_rest(text.replace("walk", f"walk{number:05}")) for text in row] for row in named]
                full.executemany(f"INSERT OR IGNORE INTO {table} (key, name, record) VALUES (?, ?, ?)", copies)
            full.executemany(f"INSERT OR IGNORE INTO {table} (key, name, record) VALUES (?, ?, ?)", rows.values())
        full.commit()
        for table, number in MANY.items():
            assert full.execute(f"SELECT count(*) FROM {table}").fetchone()[0] >= number
    put(folder / "s3" / "walk", {"a": b"a", **{f"many-{number:05}.tar.gz": b"m" for number in range(OBJECTS)}})
    logs = [f"e-{number:03}/All" for number in range(ENDPOINTS)]
    put(folder / "logs" / "endpoints", {f"{one}/i-1.log": b"it began\n" for one in logs})
    put(folder / "logs" / "endpoints", {"walk/All/i-1.log": b"2026-11-30T12:00:00.000Z it answers\n" * LINES})


def at_rest(record: str) -> str:
    """The record with a status in which it may be changed."""
    for status in MOVING:
        record = record.replace(f'"status":"{status}"', '"status":"InService"')
    return record


class FullEndpoint:
    """Its application, in one event loop of this process. No instance runs, and nothing begins that is asked for."""

    def __init__(self, folder: Path) -> None:
        self._idle = ExitStack()
        for part, begins in BEGINNING:
            self._idle.enter_context(patch.object(part, begins, lambda *_: None))
        self._runner = asyncio.Runner()
        self._app: App = self._runner.run(self._made(folder))

    async def _made(self, folder: Path) -> App:
        self._process = EndpointProcess(Options(folder, port=1))
        count(self._process._parts.account.registry)
        return self._process.app()

    def longest_ms(self, request: AWSPreparedRequest) -> tuple[int, float]:
        """The status of the answer, and the most processor time of the loop's thread in one piece."""
        pieces: list[float] = []
        ordinary = asyncio.Handle._run

        def run(handle: asyncio.Handle) -> None:
            began_s = time.thread_time()
            ordinary(handle)
            pieces.append(time.thread_time() - began_s)

        with patch.object(asyncio.Handle, "_run", run):
            status = self._runner.run(self._status(request))
        return status, 1000 * max(pieces)

    def written(self, service: str, request: AWSPreparedRequest, number: int) -> tuple[int, float]:
        """As `longest_ms`, of a request of the walk about the records of this number, or else about a new one beside
        them. S3's objects are many in one bucket."""
        if service == "s3":
            return self.longest_ms(request)
        copied = f"walk{number:05}"
        status, longest_ms = self.longest_ms(renamed(request, copied))
        if status >= 300:
            status, again_ms = self.longest_ms(renamed(request, copied, f"new{number:05}"))
            longest_ms = max(longest_ms, again_ms)
        return status, longest_ms

    async def _status(self, request: AWSPreparedRequest) -> int:
        url, body, sent = urlsplit(request.url), body_of(request), list[Message]()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": request.method,
            "path": unquote(url.path) or "/",
            "raw_path": url.path.encode() or b"/",
            "query_string": url.query.encode(),
            "headers": headers(request),
            "client": ("127.0.0.1", 1),
            "scheme": "http",
        }
        await asyncio.sleep(0)
        await self._app(scope, receive, send)
        return int(sent[0]["status"])

    def close(self) -> None:
        self._process._parts.account.close()
        self._runner.close()
        self._idle.close()


def headers(request: AWSPreparedRequest) -> list[tuple[bytes, bytes]]:
    given = {_bytes(name).lower(): _bytes(value) for name, value in request.headers.items()}
    return [*({b"host": urlsplit(request.url).netloc.encode()} | given).items()]


def body_of(request: AWSPreparedRequest) -> bytes:
    """Also of one that was sent already."""
    body: Any = request.body or b""
    if hasattr(body, "read"):
        body.seek(0)
        body = body.read()
    return _bytes(body)


def renamed(request: AWSPreparedRequest, name: str, own: str | None = None) -> AWSPreparedRequest:
    """The request about records of this name instead of the walk's. `own`: another name for that of the request itself,
    which comes first."""
    other = copy(request)
    first, *others = body_of(request).split(b"walk", 1)
    other.body = b"".join((first, *((own or name).encode() + one.replace(b"walk", name.encode()) for one in others)))
    other.headers = deepcopy(request.headers)
    other.headers["Content-Length"] = str(len(other.body))
    return other


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def count(registry: MetricRegistry) -> None:
    """All metrics of each endpoint, for a while."""
    for metric in METRICS:
        if set(metric.dimensions) == {"EndpointName", "VariantName"}:
            for number in range(ENDPOINTS):
                at = {"EndpointName": f"walk{number:05}", "VariantName": "All"}
                registry.series(metric, at).add(1.0, registry.clock())


class _Prepared(Exception):
    def __init__(self, request: AWSPreparedRequest) -> None:
        super().__init__()
        self.request = request


def unfiltered(client: Any, operation: str) -> AWSPreparedRequest | None:
    """The request of an operation without parameters, for as many as it may tell at once; None if it requires some."""
    shape = client.meta.service_model.operation_model(operation).input_shape
    if shape is not None and shape.required_members:
        return None
    names = {wire: name for name, wire in client.meta.method_to_api_mapping.items()}
    most = (
        {}
        if shape is None
        else {name: one.metadata["max"] for name, one in shape.members.items() if _is_count(name, one)}
    )
    try:
        getattr(client, names[operation])(**most)
    except _Prepared as prepared:
        return prepared.request
    raise AssertionError(f"{operation} was not sent")


def _is_count(name: str, shape: Any) -> bool:
    return name.lower() in ("maxresults", "maxrecords", "maxitems", "limit") and "max" in shape.metadata


@contextmanager
def preparing(client: Any) -> Iterator[Any]:
    """A client that sends nothing."""

    def stop(request: AWSPreparedRequest, **_: Any) -> None:
        raise _Prepared(request)

    client.meta.events.register("before-send", stop)
    yield client
    client.close()


def told(seen: Sequence[float]) -> str:
    return ", ".join(f"{one:.0f}" for one in seen)
