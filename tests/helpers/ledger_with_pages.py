"""A ledger in a folder, records to write into it, and its pages behind a real port of this process."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_account.storage.databases.database import Database, DatabasePart
from torpor_account.storage.databases.sqlite_file import SqliteFile
from torpor_container import wire
from torpor_endpoint.core.ledger_records import InstanceLife, InvocationRecord
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.ledger.ledger_schema import LEDGER
from torpor_endpoint.ledger.reader import LedgerReader
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.ledger.tables import RETENTION, Retention
from torpor_endpoint.pages.ledger import Pages

NOON_S = 1_800_000_000.0
"""A whole minute."""
ALWAYS_ON = Variant("v", "models", (Container("torpor", multi_model=True),), instance_type="ml.m5.large")
FIRST_USE = wire.ColdLoad(bytes=2**20, victims=["old"], reason="first use", took_s=0.2, efforts={})


@dataclass
class LedgerWithPages:
    """`now_s` is the clock."""

    folder: Path
    retention: Retention = RETENTION
    now_s: float = NOON_S
    opened: Callable[[DatabasePart], Database] | None = None
    """Opens the ledger's database; None for SQLite's file in the folder."""

    def __post_init__(self) -> None:
        opened = self.opened or (lambda part: SqliteFile(self.folder / "ledger.sqlite", part))
        self.ledger = Ledger(opened(LEDGER), self.clock, self.retention)
        self.reading = LedgerReader(self.ledger.tables, self.clock, self.retention)

    def clock(self) -> float:
        return self.now_s

    def app(self) -> Starlette:
        pages = Pages(self.ledger.flush, self.reading)
        table = {
            "/_torpor/health": _health,
            "/_torpor/cold-starts": pages.cold_starts_page,
            "/_torpor/costs": pages.costs_page,
        }
        return Starlette(routes=[Route(path, page) for path, page in table.items()])

    def flush(self) -> None:
        asyncio.run(self.ledger.flush())

    def again(self) -> "LedgerWithPages":
        """The next endpoint on the same folder."""
        return LedgerWithPages(self.folder, self.retention, self.now_s, self.opened)


def invocation(
    at_s: float = NOON_S,
    steps: dict[str, float] | None = None,
    *,
    model: str = "a",
    endpoint: str = "houses",
    instance: str = "i-1",
    status: int = 200,
    cold: wire.ColdLoad | None = None,
    moved: tuple[int, int] = (100, 50),
    effort: wire.EffortFields | None = None,
) -> InvocationRecord:
    """A warm one of 3 ms, unless `steps` say otherwise."""
    spent = steps if steps is not None else {"predict": 0.002, "overhead": 0.001}
    total_s = sum(spent.values())
    return InvocationRecord(at_s, "r", endpoint, "v", model, instance, status, spent, total_s, *moved, cold, effort)


def life(started_s: float = NOON_S, stopped_s: float | None = None, **members: Any) -> InstanceLife:
    known = {"endpoint": "houses", "variant": "v", "instance": "i-1", "slot": 0, "size": "ml.m5.large"}
    ended = "idle" if stopped_s is not None else ""
    times = {"started_s": started_s, "ready_s": started_s, "why_stopped": ended, "stopped_s": stopped_s}
    return InstanceLife(**{**known, "why_started": "a request came", **times, **members})


async def answer(app: Starlette, target: str, method: str = "GET") -> tuple[int, bytes]:
    """The status and the body of the answer, through ASGI."""
    path, _, query = target.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """The URL of a server that lives as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = asyncio.run(answer(app, self.path))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "region": "us-east-1", "account": "123456789012"})
