"""A process that begins to send to instances that ran already hears their models first, and offers them together."""

import asyncio
import json
from collections.abc import Sequence
from typing import cast

from tests.endpoint.helpers.instance_status import MODEL, NOTHING
from tests.endpoint.helpers.virtual_time import run
from torpor_container import wire
from torpor_container.transport.upstream import Headers
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamBroken
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.asked_tiers import FOUND_MAX
from torpor_endpoint.in_service.first_meeting import WAITS_S, FirstMeeting
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer


class Telling:
    """A container that tells which models it has in memory, once its gate is open."""

    def __init__(self, *models: str, answer: bytes | None = None, broken: bool = False) -> None:
        self.definition = Container("torpor", multi_model=True)
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked: list[str] = []
        told = {**NOTHING, "models": [{**MODEL, "name": model} for model in models]}
        self._answer = json.dumps(told).encode() if answer is None else answer
        self._broken = broken

    @property
    def upstream(self) -> "Telling":
        return self

    async def send(
        self, method: str, path: str, headers: Headers, body: Sequence[bytes], timeout_s: float
    ) -> UpstreamAnswer:
        self.asked.append(f"{method} {path}")
        await self.gate.wait()
        if self._broken:
            raise UpstreamBroken("it says nothing")
        return UpstreamAnswer(200, [], [self._answer])


def incarnation(number: int, container: Telling) -> Incarnation:
    return Incarnation(Slot("e", "v", number), f"i-{number}", [cast(LiveContainer, container)])


class Begun:
    """A process that begins with these instances. `offered` has when each was, in seconds, by slot."""

    def __init__(self, *containers: Telling) -> None:
        self.ready = Placement[Incarnation](hands_over=lambda model, handover: None)
        self.meeting = FirstMeeting(self.ready)
        self.instances = [incarnation(number, one) for number, one in enumerate(containers)]
        self.meeting.expect(range(len(containers)))
        self.offered: dict[int, float] = {}

    async def meet(self, instance: Incarnation) -> None:
        await self.meeting.meet(instance)
        self.ready.offer(instance.slot.number, instance)
        self.offered[instance.slot.number] = asyncio.get_running_loop().time()


def test_calls_go_where_their_model_is_in_memory() -> None:
    async def story() -> None:
        names = [f"m{number}" for number in range(40)]
        begun = Begun(Telling(), Telling(*names), Telling())
        await asyncio.gather(*map(begun.meet, begun.instances))
        assert [begun.ready.pick(name).slot.number for name in names] == [1] * len(names)
        assert {begun.ready.pick(f"other {name}").slot.number for name in names} == {0, 1, 2}

    run(story())


def test_those_that_it_begins_with_are_offered_together_and_nobody_waits_long_for_a_silent_one() -> None:
    async def story() -> None:
        slow, late = Telling(), Telling()
        begun = Begun(Telling(), slow, late)
        slow.gate.clear()
        late.gate.clear()
        meetings = [asyncio.create_task(begun.meet(one)) for one in begun.instances]
        began_s = asyncio.get_running_loop().time()
        await asyncio.sleep(WAITS_S / 2)
        assert not begun.offered
        slow.gate.set()
        await asyncio.sleep(WAITS_S)
        assert set(begun.offered) == {0, 1}
        assert begun.offered[0] == began_s + WAITS_S
        late.gate.set()
        await asyncio.gather(*meetings)
        assert set(begun.offered) == {0, 1, 2}

    run(story())


def test_one_that_is_not_ready_is_not_waited_for_nor_are_those_that_come_later() -> None:
    async def story() -> None:
        begun = Begun(Telling(), Telling())
        meeting, clock = asyncio.create_task(begun.meet(begun.instances[0])), asyncio.get_running_loop().time
        await asyncio.sleep(WAITS_S / 4)
        begun.meeting.heard(1)
        await meeting
        assert begun.offered == {0: clock()}
        await begun.meet(incarnation(7, Telling()))
        assert begun.offered[7] == clock()

    run(story())


def test_an_instance_that_does_not_tell_is_offered_all_the_same() -> None:
    async def story() -> None:
        for silent in (Telling(answer=b""), Telling(answer=b'{"models": 1}'), Telling(broken=True)):
            begun = Begun(silent)
            await begun.meet(begun.instances[0])
            assert begun.ready.count == 1

    run(story())


def test_it_is_asked_for_no_more_models_than_are_remembered_and_for_no_decisions() -> None:
    async def story() -> None:
        one = Telling()
        begun = Begun(one)
        await begun.meet(begun.instances[0])
        (asked,) = one.asked
        assert asked.startswith(f"GET {wire.STATE}?")
        assert f"most={FOUND_MAX}" in asked

    run(story())
