"""A picker whose instances stand still: they are ready at addresses that nobody calls, and a test answers for them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc

from tests.endpoint.helpers.asking_gateway import GatewayStreamOf
from tests.helpers.ports import free_port
from torpor_account.aws.wire.asgi import App
from torpor_container.transport.address import Address, GuardedAddress
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.host import Launched, Phase, Slot
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import LiveEndpoint, Roster
from torpor_endpoint.routing.picker.picker_server import picker_served
from torpor_endpoint.routing.picker.picking_sender import PickingSender
from torpor_endpoint.routing.router.reports.pending_accounts import LedgerRows, MeterRows, PendingAccounts
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.app import AccountAndRegion
from torpor_endpoint.runtime.composed_router import ComposedRouter, RouterSite

TICKETS = {"TORPOR_TICKETS": "true"}
NOW_S = 1_700_000_000.0


class StillPool(VariantPool):
    """Has the instances that a test offers."""

    woken = 0
    size = 1

    def wake(self) -> None:
        self.woken += 1


def incarnation(number: int, address: Address, environment: dict[str, str], containers: int = 1) -> Incarnation:
    slot, ended = Slot("shop", "v", number), asyncio.get_running_loop().create_future()
    launched = Launched(slot, f"i-{number}", address, Phase.RUNNING)
    definition = Container("torpor", "s3://b/p/", environment=environment, multi_model=True)
    return Incarnation(
        slot, f"i-{number}", [LiveContainer.of(definition, launched, ended)] * containers, InstancePhase.READY
    )


def secret(number: int) -> bytes:
    return b"%032d" % number


class PickerGround:
    """A picker at an endpoint `shop` of so many instances, at 10.0.0.0, 10.0.0.1 and so on."""

    def __init__(self, channel: grpc.aio.Channel, pool: StillPool, port: int) -> None:
        self.channel, self.pool, self.port = channel, pool, port

    def stream(self, mode: int = 4) -> GatewayStreamOf:
        return GatewayStreamOf(self.channel, mode)

    def owner(self, model: str) -> str:
        """Where a router sends a request for this model."""
        return f"10.0.0.{self.pool.ready.pick(model).slot.number}:8080"


@asynccontextmanager
async def picker(
    instances: int = 8,
    variant: dict[str, Any] | None = None,
    address: Callable[[int], Address] | None = None,
    guarded: Callable[[App], App] = lambda app: app,
    **environment: str,
) -> AsyncIterator[PickerGround]:
    given = environment or TICKETS
    container = Container("torpor", "s3://b/p/", environment=given, multi_model=True)
    pool = StillPool("shop", Variant("v", "m", (container,), **(variant or {})))
    for number in range(instances):
        place = address(number) if address else GuardedAddress(f"10.0.0.{number}", 8080, secret(number))
        pool.ready.offer(number, incarnation(number, place, given))
    roster: Roster[StillPool] = Roster()
    roster.serve(LiveEndpoint("shop", "arn:aws:sagemaker:::endpoint/shop", {"v": pool}))
    accounts = PendingAccounts()
    site = RouterSite(roster, AccountAndRegion("123456789012"), False, LedgerRows(accounts), MeterRows(accounts), store)

    def steps(site: RouterSite, draw: Callable[[], float]) -> tuple[Router, PickingSender]:
        loop = asyncio.get_running_loop()
        return Router(roster, draw, False), PickingSender(loop.time, False, hold_s=0.05, epoch=lambda: NOW_S)

    composed, port, known = ComposedRouter(site, steps), free_port(), asyncio.Event()
    known.set()
    app: Any = composed.app(None)  # type: ignore[arg-type]  # nothing here is asynchronous
    async with (
        picker_served(guarded(app), "127.0.0.1", port, None, known),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield PickerGround(channel, pool, port)
    await composed.close()


def store(*asked: Any) -> Any:
    raise AssertionError("nothing is captured")
