"""Shares the memory of one instance among its containers: reads what each uses, and sets their budgets.

`core.memory_shares` decides. Containers that give memory back do so first, and only what is free then is given out. So
the budgets never exceed the instance's memory. A container that does not answer keeps its budget.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from torpor_account.outer_edge import outer_edge
from torpor_container import wire
from torpor_container.settings import MIB
from torpor_container.transport.upstream_answers import UpstreamError
from torpor_container.typed_json import read
from torpor_endpoint.core.memory_shares import (
    ContainerMemory,
    MemoryPlan,
    fair_budgets,
    raised_budgets,
    replacement_budget,
)
from torpor_endpoint.fleet.timing import InstanceTiming
from torpor_endpoint.host.launch import MEMORY
from torpor_endpoint.in_service.asked_state import state_of
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 10.0
"""How long a container may take to evict models. If it takes longer, the next look goes on."""
HEADERS = ((b"content-type", b"application/json"),)


class MemorySharing:
    """Shares the memory of one incarnation that has several containers."""

    def __init__(self, plan: MemoryPlan, incarnation: Incarnation, timing: InstanceTiming) -> None:
        self._plan = plan
        self._incarnation = incarnation
        self._timing = timing
        self._moving = asyncio.Lock()
        self._known = [
            ContainerMemory(budget_bytes, 0, fixed=own)
            for budget_bytes, own in zip(plan.first_bytes, plan.own, strict=True)
        ]

    async def run(self) -> None:
        """Look from time to time, and soon after a container lacked room, until cancelled."""
        while True:
            await asyncio.sleep(self._timing.memory_pause_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.memory_period_s - self._timing.memory_pause_s):
                    await self._incarnation.lacks_room.wait()
            self._incarnation.lacks_room.clear()
            with outer_edge(log, "the memory of %s cannot be shared now", self._incarnation.slot):
                await self.look()

    async def look(self) -> None:
        """Read the state of each container, and move budgets where the fair ones differ."""
        async with self._moving:
            containers = list(self._incarnation.containers)
            await asyncio.gather(*map(self._read, containers, range(len(containers))))
            looked = list(self._known)
            fair = await self._lowered(containers)
            await self._set(containers, raised_budgets(self._plan.memory_bytes, self._known, fair))
        for container, was, now, new in zip(containers, looked, self._known, fair, strict=True):
            if was.presses and now.budget_bytes < new:
                container.lacked_room = True  # it gets the rest once others have given it back

    async def replaced(self, place: int) -> dict[str, str]:
        """The budget of a container that is started again now, as a variable: the others give its share back first.
        It counts from now on."""
        async with self._moving:
            containers, first_bytes = list(self._incarnation.containers), self._plan.first_bytes[place]
            own, others = self._plan.own[place], [other for other in range(len(containers)) if other != place]
            await asyncio.gather(*(self._read(containers[other], other) for other in others))
            for other in others:
                containers[other].lacked_room = self._known[other].lacked_room  # the next look acts on that
            budget_bytes = first_bytes if own else self._free(others, first_bytes)
            if budget_bytes < first_bytes:
                self._known[place] = ContainerMemory(0, 0, lacked_room=True)
                await self._lowered(containers)
                budget_bytes = self._free(others, first_bytes)
            self._known[place] = ContainerMemory(budget_bytes, 0, fixed=own)
        return {} if own else {MEMORY.variable: str(budget_bytes // MIB)}

    def _free(self, others: Sequence[int], share_bytes: int) -> int:
        return replacement_budget(self._plan.memory_bytes, [self._known[other] for other in others], share_bytes)

    async def _lowered(self, containers: Sequence[LiveContainer]) -> tuple[int, ...]:
        """The fair budgets. Those that are lower than the present ones are set."""
        fair = fair_budgets(self._plan.memory_bytes, self._known)
        await self._set(containers, [min(new, one.budget_bytes) for new, one in zip(fair, self._known, strict=True)])
        return fair

    async def _read(self, container: LiveContainer, place: int) -> None:
        """Learn what a container uses now. One that does not answer is fixed, until it answers again."""
        state = await state_of(container, container.shared_seq, most=0)
        if container is not self._incarnation.containers[place]:
            return  # it was replaced meanwhile
        if state is None:
            self._known[place] = replace(self._known[place], fixed=True)
            return
        lacked = container.lacked_room or state["waiting"] > 0 or any(map(_lacked_room, state["decisions"]))
        container.lacked_room, container.shared_seq = False, state["last_seq"]
        self._known[place] = ContainerMemory(state["budget_bytes"], state["used_bytes"], lacked, self._plan.own[place])

    async def _set(self, containers: Sequence[LiveContainer], budgets_bytes: Sequence[int]) -> None:
        """Set each budget that differs from the one that the container has."""
        changes = [
            self._change(container, place, budget_bytes)
            for place, (container, budget_bytes) in enumerate(zip(containers, budgets_bytes, strict=True))
            if budget_bytes != self._known[place].budget_bytes
        ]
        await asyncio.gather(*changes)

    async def _change(self, container: LiveContainer, place: int, budget_bytes: int) -> None:
        was = self._known[place]
        unsure = self._known[place] = replace(was, budget_bytes=max(was.budget_bytes, budget_bytes))
        body = json.dumps({"budget_bytes": budget_bytes}).encode()
        try:
            answer = await container.upstream.send("POST", wire.MEMORY, HEADERS, [body], ANSWER_WITHIN_S)
        except UpstreamError as error:  # it may have heard: the next look reads which budget it has
            log.warning("%s: %s did not change its memory: %s", self._incarnation.slot, container.name, error)
            return
        if answer.status != 200:
            log.warning("%s: %s refused to change its memory: %r", self._incarnation.slot, container.name, answer.body)
            return
        changed = read(wire.MemoryChanged, json.loads(answer.body))
        if self._known[place] is unsure:  # and the container was not replaced meanwhile
            self._known[place] = replace(was, **changed)


def _lacked_room(decision: wire.DecisionRecord) -> bool:
    """Whether a model was refused, or left for another one."""
    return decision["action"] == "refuse" or (decision["action"] == "evict" and bool(decision["for_model"]))
