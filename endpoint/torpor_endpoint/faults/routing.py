"""Routing with faults: the router throttles, and the sender kills or freezes the instance that a request goes to."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

from torpor_container import wire
from torpor_container.transport.stream_client import StreamConnection
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.waiting.quiet_timeout import patiently
from torpor_endpoint.core.testing.fault_schedule import FaultKind, InjectedFault, Occasion
from torpor_endpoint.faults.injector import FaultInjector, of_kinds
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.in_service.incarnation import Incarnation
from torpor_endpoint.in_service.pool import VariantPool
from torpor_endpoint.in_service.served_endpoints import ServedEndpoints
from torpor_endpoint.runtime.admitting import Router
from torpor_endpoint.runtime.choosing.model_chooser import ModelChooser
from torpor_endpoint.runtime.composed_router import Draw, RouterSite
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.passage import Passage, Served, routed
from torpor_endpoint.runtime.sending import RequestSender, Then

STRIKES = "torpor.faults"
"""The key of the scope under which a request keeps its faults between the inline way and the way by ASGI."""
OF_INSTANCES = (FaultKind.OUT_OF_MEMORY, FaultKind.INSTANCE_KILLED, FaultKind.INSTANCE_FROZEN)
ANSWER_WITHIN_S = 10.0
GONE_WITHIN_S = 10.0


def faulty_steps(
    injector: FaultInjector, host: LocalHost, site: RouterSite, draw: Draw
) -> tuple["FaultyRouter", "FaultySender"]:
    """As `plain_steps` of the composed router, with the faults of a schedule."""
    sender = FaultySender(time.perf_counter, site.strict, traffic_clock=site.idle_clock, injector=injector, host=host)
    chooser = ModelChooser(sender, time.perf_counter)
    return FaultyRouter(site.roster, draw, site.strict, injector, chooser), sender


class FaultyRouter(Router):
    """A router that throttles where a fault does. The first arguments are those of `Router`."""

    def __init__(
        self,
        roster: ServedEndpoints,
        draw: Draw,
        strict: bool,
        injector: FaultInjector,
        choosing: ModelChooser | None = None,
    ) -> None:
        super().__init__(roster, draw, strict, choosing)
        self._injector = injector

    def admit(self, passage: Passage) -> None:
        """Raises RuntimeFault also for a request that a fault throttles."""
        if of_kinds(faults_of(passage, self._injector), FaultKind.THROTTLED):
            raise RuntimeFault(Situation.THROTTLED)
        super().admit(passage)


class FaultySender(RequestSender):
    """A sender whose invocations are occasions of faults. The first arguments are those of `RequestSender`."""

    def __init__(
        self,
        clock: Callable[[], float],
        strict: bool,
        *,
        traffic_clock: Callable[[], float],
        injector: FaultInjector,
        host: LocalHost,
    ) -> None:
        super().__init__(clock, strict, traffic_clock=traffic_clock)
        self._injector = injector
        self._host = host

    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        await self._strike(passage)
        return await super().send(passage, sent)

    def send_inline(self, passage: Passage, then: Then) -> bool:
        if of_kinds(faults_of(passage, self._injector), *OF_INSTANCES):
            return False  # it comes by ASGI, where the strike may wait
        return super().send_inline(passage, then)

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None, *, waits: bool = True
    ) -> AsyncIterator[tuple[StreamConnection | None, Served]]:
        await self._strike(passage)
        async with super().stream(passage, sent, waits=waits) as begun:
            yield begun

    async def _strike(self, passage: Passage) -> None:
        """Have the faults of instances strike the one that would take the request, once one is ready."""
        faults = of_kinds(faults_of(passage, self._injector), *OF_INSTANCES)
        passage.scope[STRIKES] = []
        for fault in faults:
            pool, incarnation = routed(passage).pool, await self.chosen(passage)
            began_s = self._clock()
            note(self._injector, passage, fault, f" on {incarnation.id}")
            if fault.kind is FaultKind.OUT_OF_MEMORY:
                await _out_of_memory(incarnation, routed(passage).target or "")
            else:
                await self._signal(fault, pool, incarnation)
            passage.waited(wire.WaitStep.HOLD.value, self._clock() - began_s)

    async def _signal(self, fault: InjectedFault, pool: VariantPool, incarnation: Incarnation) -> None:
        """Kill the instance, and wait until its pool knows; or stop it, and resume it later."""
        slots = [replace(incarnation.slot, container=number) for number in range(len(incarnation.containers))]
        if fault.kind is FaultKind.INSTANCE_KILLED:
            for slot in slots:
                self._host.signal(slot, signal.SIGKILL)
            async with patiently(GONE_WITHIN_S):
                await pool.until(lambda: not pool.offered(incarnation))
            return
        for slot in slots:
            self._host.signal(slot, signal.SIGSTOP)
            resume = partial(self._host.signal, slot, signal.SIGCONT)
            asyncio.get_running_loop().call_later(fault.seconds or 0.0, resume)


def faults_of(passage: Passage, injector: FaultInjector) -> list[InjectedFault]:
    """The faults that strike this request: it is one occasion, whichever way it goes."""
    if STRIKES not in passage.scope:
        struck = injector.on(Occasion.INVOCATION, routed(passage).target or "")
        passage.scope[STRIKES] = struck
        for fault in of_kinds(struck, FaultKind.THROTTLED):
            note(injector, passage, fault)
    faults: list[InjectedFault] = passage.scope[STRIKES]
    return faults


def note(injector: FaultInjector, passage: Passage, fault: InjectedFault, where: str = "") -> None:
    route = routed(passage)
    injector.note(fault, f"{route.live.name}/{route.target or ''}{where}")


async def _out_of_memory(incarnation: Incarnation, model: str) -> None:
    """Have the next load of the model on an instance find no memory."""
    headers = ((b"content-type", b"application/json"),)
    body = json.dumps({"model": model}).encode()
    for container in incarnation.containers:
        with suppress(UpstreamError):  # it is gone: its memory is, too
            await container.upstream.send("POST", wire.OUT_OF_MEMORY, headers, [body], ANSWER_WITHIN_S)
