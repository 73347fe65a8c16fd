"""The step send of a request that a gateway sends on: it picks the instance, and waits for what the gateway tells.

The instance is the one that any router would send to: the machine of the request (`core.sending`) chooses it.
"""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, cast

from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream_answers import UpstreamAnswer
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.routing.handing_over import Handover
from torpor_endpoint.core.routing.second_copies import CopiedModel
from torpor_endpoint.core.sending.machine import ONLY_LOADED, Sending, SendingRules
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.sending_driver import driven, instance_of
from torpor_endpoint.routing.picker.picked_place import GATEWAY, GatewayRequest, Unreachable, place_for
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.choosing.model_chooser import ModelChooser
from torpor_endpoint.runtime.composed_router import Draw, RouterSite
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Served, routed
from torpor_endpoint.runtime.sending import RequestSender, Sent, outcome_of, served_or_raised

HOLD_S = 5.0
"""How long a gateway's request waits for an instance. A gateway waits for a picker no longer than its own limit, which
is 200 ms by Envoy's default, and seconds at those that know pickers."""
NOT_ALLOWED = "None of the endpoints that the gateway allows is ready. Try again."
NOT_REACHED = "The gateway did not reach the instance. Try again."


class PickingSender(RequestSender):
    """Sends as `RequestSender` what is no gateway's. `epoch` gives seconds since 1970."""

    def __init__(
        self, clock: Callable[[], float], strict: bool, hold_s: float = HOLD_S, epoch: Callable[[], float] = time.time
    ) -> None:
        super().__init__(clock, strict)
        self._hold_s = hold_s
        self._epoch = epoch

    async def send(self, passage: Passage, sent: Sent = None) -> Served:
        """As `RequestSender.send`. Of a gateway's request, the answer has no body if it is a success."""
        asked: GatewayRequest | None = passage.scope.get(GATEWAY)
        if asked is None:
            return await super().send(passage, sent)
        _check(passage)
        pool, until_s = routed(passage).pool, self._clock() + self._hold_s
        sending = self._machine_among(passage, asked)
        pool.traffic.came(self._traffic_clock())
        in_flight = pool.traffic.in_flight

        async def exchange() -> UpstreamAnswer:
            if asked.picked.done():
                raise RuntimeFault(Situation.UNAVAILABLE, detail=NOT_REACHED)
            asked.picked.set_result(self._place(passage, sending))
            if sent is not None:
                sent()
            return await asked.answered

        try:
            await driven(sending, self._clock, lambda: self._woken(passage, pool, sending, until_s), exchange)
        finally:
            sending.let_go()
            pool.traffic.went(self._traffic_clock())
        return served_or_raised(outcome_of(passage, sending, in_flight))

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Sent = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        """As `RequestSender.stream`; a gateway's request is refused."""
        if GATEWAY in passage.scope:
            raise _not_for_gateways(passage, "its answer is a stream: call it at a router")
        async with super().stream(passage, sent, waits=waits) as begun:
            yield begun

    def _place(self, passage: Passage, sending: Sending[Incarnation]) -> Any:
        """Raises RuntimeFault."""
        container = instance_of(sending).containers[sending.container]
        headers = [one for one in sending.headers if one != ONLY_LOADED]  # a gateway sends a request once
        try:
            return place_for(container.launched.placed_at, container.definition, headers, self._epoch())
        except Unreachable as why:
            raise _not_for_gateways(passage, str(why)) from why

    async def _woken(self, passage: Passage, pool: VariantPool, sending: Sending[Incarnation], until_s: float) -> None:
        """Wait as any request does. Raises RuntimeFault: a gateway gets 503 where no instance is ready in time."""
        if pool.ready.count:
            raise RuntimeFault(Situation.UNAVAILABLE, detail=NOT_ALLOWED)
        try:
            await self._held(passage, pool, sending, until_s)
        except RuntimeFault as fault:
            if fault.situation is not Situation.NOT_READY:
                raise
            detail = fault.fields["detail"]
            raise RuntimeFault(Situation.UNAVAILABLE, steps=fault.steps, detail=detail) from fault

    def _machine_among(self, passage: Passage, asked: GatewayRequest) -> Sending[Incarnation]:
        """The machine of the request. It sees the instances alone that the gateway allows."""
        rules = SendingRules(self._rules.strict)
        if asked.allowed is None:
            return self._machine(passage, rules)
        route = routed(passage)
        seen = cast(VariantPool, AllowedPool(route.pool, asked))  # the machine asks it for what `SendingPool` has
        passage.route, passage.way = route._replace(pool=seen), None
        try:
            return self._machine(passage, rules)
        finally:
            passage.route = route


def picking_steps(site: RouterSite, draw: Draw) -> tuple[Router, RequestSender]:
    """The steps of a router that also answers gateways."""
    sender = PickingSender(time.perf_counter, site.strict)
    return Router(site.roster, draw, site.strict, ModelChooser(sender, time.perf_counter)), sender


class AllowedPool:
    """A pool, of which some instances alone are ready."""

    def __init__(self, pool: VariantPool, asked: GatewayRequest) -> None:
        self._pool = pool
        self.ready = AllowedInstances(pool.ready, asked)
        self.neighbours = None  # no instance believes what a gateway brings of them

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


class AllowedInstances:
    """The part of a placement that a gateway allows, as `Sending` reads it. `all_ready` may change meanwhile."""

    moving: Mapping[str, Handover[Incarnation]] = MappingProxyType({})
    """None is known here: what the gateway allows may be neither a model's former owner nor its next one."""
    copied: Mapping[str, CopiedModel[Incarnation]] = MappingProxyType({})
    """Likewise."""

    def __init__(self, all_ready: Placement[Incarnation], asked: GatewayRequest) -> None:
        self._all = all_ready
        self._asked = asked

    @property
    def count(self) -> int:
        return len(self._allowed())

    def get(self, number: int) -> Incarnation | None:
        one = self._all.get(number)
        return one if one is not None and self._allows(one) else None

    def pick(self, model: str) -> Incarnation:
        return self._all.pick_among(model, self._allowed())

    def least_busy(self) -> Incarnation:
        return min(self._allowed(), key=lambda one: (one.in_flight, one.slot.number))

    def _allowed(self) -> set[Incarnation]:
        return {one for one in self._all if self._allows(one)}

    def _allows(self, one: Incarnation) -> bool:
        return self._asked.allows(one.containers[0].launched.placed_at)


def _check(passage: Passage) -> None:
    """Raises RuntimeFault for what needs the bodies that a gateway keeps to itself."""
    variant, why = routed(passage).pool.variant, ""
    if len(variant.containers) > 1:
        why = "its instances have several containers"
    elif variant.capture is not None and variant.capture.enabled and variant.capture.output:
        why = "its answers are captured"
    if why:
        raise _not_for_gateways(passage, f"{why}: call it at a router")


def _not_for_gateways(passage: Passage, why: str) -> RuntimeFault:
    detail = f"A gateway cannot send this request to endpoint {passage.home.endpoint}: {why}."
    return RuntimeFault(Situation.PARAMETER, detail=detail)
