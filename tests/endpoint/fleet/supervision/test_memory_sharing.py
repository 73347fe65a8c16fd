"""The budgets of an instance's containers move: those that give do so first, and the sum never exceeds the memory."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint.helpers.instance_status import NOTHING
from tests.endpoint.helpers.pool_on_fake_host import SLOT
from tests.endpoint.helpers.virtual_time import run
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamTimedOut
from torpor_endpoint.core.memory_shares import MIB, MemoryPlan
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.fleet.supervision.memory_sharing import MemorySharing
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import Launched, Phase
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer

MEMORY_MIB = 1000


@dataclass(eq=False)
class FakeContainer(Upstream):
    """Reports its memory in MiB, and gives back what it uses beyond a new budget, except what is `in_use`."""

    budget: int
    used: int
    in_use: int = 0
    silent: bool = False
    waiting: int = 0
    decisions: list[dict[str, Any]] = field(default_factory=list)
    instance: "list[FakeContainer]" = field(default_factory=list)

    async def send(self, method: str, path: str, headers: Any, body: Any, *rest: Any, **more: Any) -> UpstreamAnswer:
        await asyncio.sleep(0.01)
        if self.silent:
            raise UpstreamTimedOut("silent")
        if method == "POST":
            self._change(json.loads(body[0])["budget_bytes"] // MIB)
            return answer({"budget_bytes": self.budget * MIB, "used_bytes": self.used * MIB})
        after = int(path.partition("after=")[2].partition("&")[0])
        state = {"budget_bytes": self.budget * MIB, "used_bytes": self.used * MIB, "waiting": self.waiting}
        return answer({**NOTHING, **state, "decisions": self.decisions[after:], "last_seq": len(self.decisions)})

    def _change(self, budget: int) -> None:
        self.used = max(self.in_use, min(self.used, budget))
        raised, self.budget = budget > self.budget, budget
        assert sum(one.budget for one in self.instance) <= MEMORY_MIB
        assert not raised or sum(max(one.budget, one.used) for one in self.instance) <= MEMORY_MIB

    def evicted(self) -> None:
        """A model left for another one."""
        self.decisions.append({"action": "evict", "for_model": "another", "seq": len(self.decisions) + 1})


def answer(document: dict[str, Any]) -> UpstreamAnswer:
    return UpstreamAnswer(200, [], [json.dumps(document).encode()])


def sharing(*containers: FakeContainer, own: int | None = None) -> tuple[MemorySharing, Incarnation]:
    """`own` is the value of the last container's owner, in MiB."""
    values = [None] * (len(containers) - 1) + [own and own * MIB]
    for one in containers:
        one.instance = list(containers)
    live = [
        LiveContainer(Container("torpor", name=f"c{n}"), launched, one, Multiplexed("", ""), asyncio.Future())
        for n, one in enumerate(containers)
        for launched in [Launched(SLOT, f"i-{n}", "", Phase.RUNNING)]
    ]
    incarnation = Incarnation(SLOT, "i", live)
    return MemorySharing(MemoryPlan.of(MEMORY_MIB * MIB, values), incarnation, TIMING), incarnation


def test_a_share_moves_to_a_container_that_evicts_and_comes_back_when_it_is_needed() -> None:
    async def story() -> None:
        small, large = FakeContainer(500, 80), FakeContainer(500, 300)
        shared, _ = sharing(small, large)
        await shared.look()
        assert (small.budget, large.budget) == (500, 500)
        large.evicted()
        await shared.look()
        assert (small.budget, large.budget) == (208, 792)
        large.used, small.used = 750, 185
        await shared.look()
        assert (small.budget, large.budget, large.used) == (500, 500, 500)

    run(story())


def test_memory_that_models_in_use_hold_moves_once_they_have_left() -> None:
    async def story() -> None:
        needy, large = FakeContainer(112, 110), FakeContainer(888, 850, in_use=700)
        shared, _ = sharing(needy, large)
        await shared.look()
        assert (needy.budget, large.budget, large.used) == (300, 500, 700)
        large.used, needy.used = 480, 20
        await shared.look()
        assert (needy.budget, large.budget) == (500, 500)

    run(story())


def test_a_container_that_does_not_answer_keeps_its_share() -> None:
    async def story() -> None:
        silent, large = FakeContainer(500, 80, silent=True), FakeContainer(500, 490)
        shared, _ = sharing(silent, large)
        await shared.look()
        assert (silent.budget, large.budget) == (500, 500)
        silent.silent = False
        await shared.look()
        assert (silent.budget, large.budget) == (208, 792)

    run(story())


def test_a_container_that_starts_again_gets_its_share_back_or_what_is_free() -> None:
    async def story() -> None:
        small, large = FakeContainer(500, 80), FakeContainer(500, 300)
        shared, _ = sharing(small, large)
        large.evicted()
        await shared.look()
        assert (small.budget, large.budget) == (208, 792)
        assert await shared.replaced(1) == {"TORPOR_MEMORY_MIB": "500"}
        assert small.budget == 208, "nothing is taken that is not needed"
        await shared.look()
        large.used, small.silent = 780, True
        assert await shared.replaced(0) == {"TORPOR_MEMORY_MIB": "500"}
        assert (large.budget, large.used) == (500, 500)
        large.in_use, large.used = 900, 900
        assert await shared.replaced(0) == {"TORPOR_MEMORY_MIB": "100"}

    run(story())


def test_an_owner_s_own_value_never_moves() -> None:
    async def story() -> None:
        small, large, own = FakeContainer(300, 10), FakeContainer(300, 290), FakeContainer(400, 399)
        shared, _ = sharing(small, large, own, own=400)
        await shared.look()
        assert (small.budget, large.budget, own.budget) == (138, 462, 400)
        assert await shared.replaced(2) == {}

    run(story())


def test_a_model_that_waits_for_room_counts_as_lack_of_room() -> None:
    async def story() -> None:
        small, large = FakeContainer(500, 80), FakeContainer(500, 300, waiting=1)
        shared, _ = sharing(small, large)
        await shared.look()
        assert large.budget == 792

    run(story())


def test_it_looks_soon_after_a_container_lacked_room() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        small, large = FakeContainer(500, 80), FakeContainer(500, 300)
        shared, incarnation = sharing(small, large)
        running = asyncio.create_task(shared.run())
        await asyncio.sleep(TIMING.memory_pause_s + TIMING.memory_period_s + 1.0)
        began_s = clock()
        incarnation.lacked_room(1)
        while large.budget == 500:
            await asyncio.sleep(0.01)
        assert clock() - began_s < 0.1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(story())
