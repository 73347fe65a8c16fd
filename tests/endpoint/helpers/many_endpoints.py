"""An endpoint process with 250 endpoints and 10,000 models in one instance, and what holds its event loop up.

The instance answers on a thread of its own, whose time does not count: what is measured is the processor time of the
loop's thread in one piece, from one await to the next.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.endpoint.helpers.instance_status import NOTHING
from tests.helpers.ledger_with_pages import LedgerWithPages, answer
from tests.helpers.machine_pace import holds_up
from torpor_account.metrics.metrics import METRICS
from torpor_account.metrics.registry import MetricRegistry
from torpor_container.modes.model_reports import ModelReports, StateRequest
from torpor_container.wire import LoadedModel
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.collector import Collector
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.readings import Readings
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.pages.app import OwnPages
from torpor_endpoint.pages.ledger import Pages

ENDPOINTS = 250
MODELS = 10_000
FULL = "e-100"
"""The endpoint whose instance has the models."""
TRIES = 8
"""The system may take some processor time by chance, but not each time."""
CONTAINER = Container("torpor", name="primary", multi_model=True, model_data_url="s3://m/")
T = TypeVar("T")


def models() -> list[LoadedModel]:
    return [
        {"name": f"m{n}.tar.gz", "size_bytes": 9, "in_flight": 0, "idle_s": n / 10, "format": "xgboost", "hits": n}
        for n in range(MODELS)
    ]


@contextmanager
def full_instance() -> Iterator[tuple[str, int]]:
    """Where an instance listens that has all the models."""
    reports, resident = ModelReports(), models()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = StateRequest.read(dict(parse_qsl(urlsplit(self.path).query)))
            resident[0]["hits"] += 1
            body = json.dumps(
                {**NOTHING, "budget_bytes": 1, "disk_budget_bytes": 1, **asked.told(resident, reports)}
            ).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield cast("tuple[str, int]", server.server_address)
        finally:
            server.shutdown()
            thread.join()


def pool(name: str, ready: list[Incarnation]) -> InstancePool:
    variant, traffic = Variant("v", "m", (CONTAINER,)), SimpleNamespace(held=0, in_flight=0, invocations=0)
    own = {"endpoint": name, "variant": variant, "ready": ready, "incarnations": ready, "size": len(ready)}
    rest = {
        "leaving": 0,
        "traffic": traffic,
        "groups": None,
        "versions": None,
        "neighbours": None,
        "place_of": lambda number: "",
    }
    return cast(InstancePool, SimpleNamespace(**own, **rest))


class ManyEndpoints:
    """The pages of an endpoint process, its metrics and its collector."""

    def __init__(self, folder: Path, instance: tuple[str, int]) -> None:
        folder.mkdir()
        self.recorded = recorded = LedgerWithPages(folder)
        slot = Slot(FULL, "v", 0)
        launched = Launched(slot, "i-1", cast(Any, instance), Phase.RUNNING)
        self.incarnation = Incarnation(slot, "i-1", [LiveContainer.of(CONTAINER, launched, asyncio.Future())])
        self.roster = roster = FleetRoster()
        for number in range(ENDPOINTS):
            name = f"e-{number:03}"
            live = FleetEndpoint(name, "arn", {"v": pool(name, [self.incarnation] if name == FULL else [])})
            roster.serve(live)
        self.registry = MetricRegistry(recorded.clock, endpoints=lambda: len(roster))
        for metric in METRICS:
            if set(metric.dimensions) == {"EndpointName", "VariantName"}:
                for live in roster:
                    at = {"EndpointName": live.name, "VariantName": "v"}
                    self.registry.series(metric, at).add(1.0, recorded.now_s)
        self.readings = Readings()
        self.collector = Collector(roster, self.registry, recorded.clock, readings=self.readings)
        pages = Pages(recorded.ledger.flush, recorded.reading)
        absent = cast(Any, None)
        self.own = OwnPages(
            roster,
            self.registry,
            self.collector.refresh,
            folder / "logs",
            lambda: pages,
            lambda: absent,
            lambda: absent,
        )

    async def page(self, target: str) -> bytes:
        status, body = await answer(self.own.app(), f"/_torpor/{target}")
        assert status == 200, body
        return body

    def close(self) -> None:
        self.incarnation.hang_up()


Work = Callable[[ManyEndpoints], Coroutine[Any, Any, T]]


async def measured(
    work: Work[T], folder: Path, instance: tuple[str, int], patch: pytest.MonkeyPatch
) -> tuple[float, T]:
    """The most processor time in one piece, in milliseconds, and what the work returns."""
    pieces: list[float] = []
    ordinary = asyncio.Handle._run

    def run(handle: asyncio.Handle) -> None:
        began_s = time.thread_time()
        ordinary(handle)
        pieces.append(time.thread_time() - began_s)

    many = ManyEndpoints(folder, instance)
    try:
        with patch.context() as patched:
            patched.setattr(asyncio.Handle, "_run", run)
            await asyncio.sleep(0)  # the piece that makes all this is over
            value = await work(many)
            await asyncio.sleep(0)
    finally:
        many.close()
    return 1000 * max(pieces), value


def done(work: Work[T], folder: Path, instance: tuple[str, int], patch: pytest.MonkeyPatch) -> T:
    """What the work returns. Its best try has no piece that holds a loop up; the first one imports what it needs."""
    seen: list[float] = []
    for number in range(TRIES):
        took_ms, value = asyncio.run(measured(work, folder / str(number), instance, patch))
        seen.append(took_ms)
        if not holds_up(took_ms):
            return value
    raise AssertionError(f"the event loop was held up for {seen} ms")
