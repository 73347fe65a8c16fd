"""The router of an endpoint with faults: it throttles, and kills or freezes the instance that an invocation goes to."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from torpor_container import wire
from torpor_container.transport.streaming import StreamConnection
from torpor_container.transport.upstream import UpstreamError
from torpor_endpoint.core.testing.fault_schedule import FaultKind, InjectedFault, Occasion
from torpor_endpoint.faults.injector import FaultInjector, of_kinds
from torpor_endpoint.fleet.incarnation import Incarnation
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.fleet.roster import Roster
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.services.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.services.runtime.passage import Passage, Served
from torpor_endpoint.services.runtime.router import Router

STRIKES = "torpor.faults"
"""The key of the scope under which a request keeps its faults between the inline way and the way by ASGI."""
OF_INSTANCES = (FaultKind.OUT_OF_MEMORY, FaultKind.INSTANCE_KILLED, FaultKind.INSTANCE_FROZEN)
ANSWER_WITHIN_S = 10.0
GONE_WITHIN_S = 10.0


class FaultyRouter(Router):
    """A router whose invocations are occasions of faults. The first arguments are those of `Router`."""

    def __init__(
        self,
        roster: Roster,
        draw: Callable[[], float],
        clock: Callable[[], float],
        strict: bool,
        *,
        traffic_clock: Callable[[], float],
        injector: FaultInjector,
        host: LocalHost,
    ) -> None:
        super().__init__(roster, draw, clock, strict, traffic_clock=traffic_clock)
        self._injector = injector
        self._host = host

    def admit(self, passage: Passage) -> None:
        """Raises RuntimeFault also for a request that a fault throttles."""
        if of_kinds(self._faults_of(passage), FaultKind.THROTTLED):
            raise RuntimeFault(Situation.THROTTLED)
        super().admit(passage)

    async def send(self, passage: Passage, sent: Callable[[], None] | None = None) -> Served:
        await self._strike(passage)
        return await super().send(passage, sent)

    def send_inline(self, passage: Passage, then: Callable[[Served | RuntimeFault | None], None]) -> bool:
        if of_kinds(self._faults_of(passage), *OF_INSTANCES):
            return False  # it comes by ASGI, where the strike may wait
        return super().send_inline(passage, then)

    @asynccontextmanager
    async def stream(
        self, passage: Passage, sent: Callable[[], None] | None = None
    ) -> AsyncIterator[tuple[StreamConnection, Served]]:
        await self._strike(passage)
        async with super().stream(passage, sent) as begun:
            yield begun

    # -- strikes ---------------------------------------------------------------------------------------------------
    def _faults_of(self, passage: Passage) -> list[InjectedFault]:
        """The faults that strike this request: it is one occasion, whichever way it goes."""
        if STRIKES not in passage.scope:
            assert passage.route is not None, "the step route comes first"
            struck = self._injector.on(Occasion.INVOCATION, passage.route.target or "")
            passage.scope[STRIKES] = struck
            for fault in of_kinds(struck, FaultKind.THROTTLED):
                self._note(passage, fault)
        faults: list[InjectedFault] = passage.scope[STRIKES]
        return faults

    async def _strike(self, passage: Passage) -> None:
        """Have the faults of instances strike the one that would take the request, once one is ready."""
        faults = of_kinds(self._faults_of(passage), *OF_INSTANCES)
        passage.scope[STRIKES] = []
        for fault in faults:
            assert passage.route is not None, "the step route comes first"
            pool = passage.route.pool
            if not pool.ready:
                await self._hold(passage, pool, self._clock() + passage.limits.hold_s)
            began_s, incarnation = self._clock(), self._pick(passage)
            self._note(passage, fault, f" on {incarnation.id}")
            if fault.kind is FaultKind.OUT_OF_MEMORY:
                await _out_of_memory(incarnation, passage.route.target or "")
            else:
                await self._signal(fault, pool, incarnation)
            passage.waited(wire.WaitStep.HOLD.value, self._clock() - began_s)

    async def _signal(self, fault: InjectedFault, pool: InstancePool, incarnation: Incarnation) -> None:
        """Kill the instance, and wait until its pool knows; or stop it, and resume it later."""
        if fault.kind is FaultKind.INSTANCE_KILLED:
            self._host.signal(incarnation.slot, signal.SIGKILL)
            async with asyncio.timeout(GONE_WITHIN_S):
                await pool.until(lambda: not pool.offered(incarnation))
            return
        self._host.signal(incarnation.slot, signal.SIGSTOP)
        resume = partial(self._host.signal, incarnation.slot, signal.SIGCONT)
        asyncio.get_running_loop().call_later(fault.seconds or 0.0, resume)

    def _note(self, passage: Passage, fault: InjectedFault, where: str = "") -> None:
        assert passage.route is not None, "the step route comes first"
        self._injector.note(fault, f"{passage.route.live.name}/{passage.route.target or ''}{where}")


async def _out_of_memory(incarnation: Incarnation, model: str) -> None:
    """Have the next load of the model on an instance find no memory."""
    headers = ((b"content-type", b"application/json"),)
    body = json.dumps({"model": model}).encode()
    try:
        await incarnation.upstream.send("POST", wire.OUT_OF_MEMORY, headers, [body], ANSWER_WITHIN_S)
    except UpstreamError:
        return  # it is gone: its memory is, too
