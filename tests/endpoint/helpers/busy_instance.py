"""A fake instance that answers each request with its state and uses half a core, and a collector that reads it."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from tests.endpoint.helpers.instance_status import NOTHING
from tests.endpoint.helpers.pool_on_fake_host import SLOT, PoolOnFakeHost
from torpor_account.metrics.registry import MetricRegistry
from torpor_container.wire import DeviceStatus
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.collector import Collector
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.host import Launched, Phase
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

DIMENSIONS = {"EndpointName": "shop", "VariantName": "v"}


def fleet_of(fake: PoolOnFakeHost) -> FleetRoster:
    roster = FleetRoster()
    roster.serve(FleetEndpoint("shop", "arn", {"v": fake.pool}))
    return roster


def collecting(fake: PoolOnFakeHost) -> tuple[MetricRegistry, Collector]:
    """The metrics, and a collector of the world's pool that writes them."""
    registry = MetricRegistry(fake.epoch)
    return registry, Collector(fleet_of(fake), registry, fake.epoch)


@asynccontextmanager
async def busy(
    socket: Path,
    decisions: Sequence[Mapping[str, Any]] = (),
    models: Sequence[Mapping[str, Any]] = (),
    device: DeviceStatus | None = None,
) -> AsyncIterator[Incarnation]:
    """An instance that listens as long as the block lasts, and tells of these decisions and models, and this device."""
    told: dict[str, Any] = {"decisions": list(decisions), "last_seq": len(decisions), "models": list(models)}
    told |= {} if device is None else {"device": device}
    server = await asyncio.get_running_loop().create_unix_server(lambda: _Busy(told), str(socket))
    launched = Launched(SLOT, "i-1", str(socket), Phase.RUNNING)
    container = LiveContainer.of(Container("torpor"), launched, asyncio.Future())
    incarnation = Incarnation(SLOT, "i-1", [container])
    try:
        yield incarnation
    finally:
        incarnation.hang_up()
        server.close()


class _Busy(asyncio.Protocol):
    """Its processor time has steps of 10 ms, as `os.times` has."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        cpu_s = int(50 * asyncio.get_running_loop().time()) / 100
        sizes = {"budget_bytes": 100, "used_bytes": 50, "disk_bytes": 10, "disk_budget_bytes": 100}
        seen = {"kept": True, **self._told, "unready": None, "fault": None}
        body = json.dumps({**NOTHING, **sizes, **seen, "cpu_s": cpu_s}).encode()
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
