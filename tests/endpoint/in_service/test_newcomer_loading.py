"""Loads for handovers: what a former owner has in memory is loaded once, and a load that fails is tried again later."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_container import wire
from torpor_container.transport.upstream import Headers
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamBroken
from torpor_endpoint.core.placement import BUSY_MIN, Placement
from torpor_endpoint.core.resource_records import Container
from torpor_endpoint.core.routing.handing_over import AT_ONCE, RETRY_S, Handover
from torpor_endpoint.core.sending.adapter_headers import ADAPTER, ADAPTER_URL
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.asked_tiers import LOAD_REASON
from torpor_endpoint.in_service.incarnation import Incarnation, LiveContainer
from torpor_endpoint.in_service.newcomer_loading import AdapterOrders, ModelOrders, NewcomerLoading
from torpor_endpoint.in_service.wait_estimates import WaitEstimates

KEEPING = Container("torpor", multi_model=True)
NAMES = [f"m{number}" for number in range(40)]


@dataclass
class FakeContainer:
    """An instance's one container: what it has in memory, and which loads it was asked for."""

    tiers: dict[str, str] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)
    most: int = 0
    fails: bool = False
    answers: bool = True
    has: bool = False  # the models that it is to load
    says: bytes = b""  # in place of that
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    definition: Container = KEEPING
    _at_once: int = 0

    @property
    def upstream(self) -> "FakeContainer":
        return self

    async def send(
        self, method: str, path: str, headers: Headers, body: Sequence[bytes], timeout_s: float
    ) -> UpstreamAnswer:
        asked: Any = json.loads(b"".join(body))
        if not self.answers:
            raise UpstreamBroken("it says nothing")
        if path == wire.TIERS:
            tiers = {model: self.tiers[model] for model in asked["models"] if model in self.tiers}
            return UpstreamAnswer(200, [], [json.dumps({"tiers": tiers}).encode()])
        self.loads.append(asked["model"])
        self.reasons |= {value.decode() for name, value in headers if name == LOAD_REASON}
        self._at_once += 1
        self.most = max(self.most, self._at_once)
        await self.gate.wait()
        self._at_once -= 1
        said = self.says or json.dumps({"led": not self.has}).encode()
        return UpstreamAnswer(500 if self.fails else 200, [], [said])


def incarnation(number: int, container: FakeContainer) -> Incarnation:
    return Incarnation(Slot("e", "v", number), f"i-{number}", [cast(LiveContainer, container)])


class Variant:
    """A variant whose first instance had all calls before the second one came. `moving` go to that."""

    def __init__(self, orders: ModelOrders | None = None) -> None:
        self.former, self.newcomer = FakeContainer(dict.fromkeys(NAMES, "memory")), FakeContainer()
        self.loading: list[NewcomerLoading] = []
        self.ready = Placement[Incarnation](hands_over=lambda model, one: self.loading[0].begin(model, one))
        self.waits = WaitEstimates()
        self.loading.append(NewcomerLoading(self.ready, self.waits, orders or ModelOrders()))
        self.ready.offer(0, incarnation(0, self.former))
        self.call_all()
        self.ready.offer(1, incarnation(1, self.newcomer))
        self.moving = [name for name in NAMES if self.slot(name) == 0 and name in self.ready.moving]

    def slot(self, name: str) -> int:
        return self.ready.pick(name).slot.number

    def call_all(self) -> list[int]:
        return [self.slot(name) for name in NAMES]

    async def settled(self) -> None:
        """Waits until nothing more happens at this moment."""
        for _ in range(20 * len(NAMES)):
            await asyncio.sleep(0)


def test_the_models_are_loaded_once_a_few_at_a_time_and_then_called_at_the_newcomer() -> None:
    async def story() -> None:
        variant = Variant()
        for _ in range(3):
            assert set(variant.call_all()) == {0}
            await variant.settled()
        assert variant.newcomer.loads == variant.moving[:AT_ONCE]
        variant.newcomer.gate.set()
        await variant.settled()
        assert (variant.newcomer.loads, variant.newcomer.most) == (variant.moving, AT_ONCE)
        assert [variant.slot(name) for name in variant.moving] == [1] * len(variant.moving)
        assert not variant.ready.moving
        assert variant.newcomer.reasons == {
            "calls come here once it is loaded; until then i-0 serves them from its memory"
        }

    run(story())


def test_what_the_former_owner_has_on_disk_or_nowhere_or_does_not_tell_is_not_loaded() -> None:
    async def story() -> None:
        for tiers, answers in (
            ({}, True),
            (dict.fromkeys(NAMES, "disk"), True),
            (dict.fromkeys(NAMES, "memory"), False),
        ):
            variant = Variant()
            variant.former.tiers, variant.former.answers = tiers, answers
            await variant.settled()
            assert variant.newcomer.loads == []
            assert [variant.slot(name) for name in variant.moving] == [1] * len(variant.moving)

    run(story())


def test_a_load_that_fails_is_tried_again_with_a_call_after_a_while_and_the_model_stays_meanwhile() -> None:
    async def story() -> None:
        variant = Variant()
        variant.newcomer.fails = True
        variant.newcomer.gate.set()
        await variant.settled()
        assert (set(variant.call_all()), sorted(variant.newcomer.loads)) == ({0}, sorted(variant.moving))
        variant.newcomer.fails = False
        await asyncio.sleep(RETRY_S + 1.0)
        assert len(variant.newcomer.loads) == len(variant.moving), "nobody has called"
        assert set(variant.call_all()) == {0}
        await variant.settled()
        assert [variant.slot(name) for name in variant.moving] == [1] * len(variant.moving)

    run(story())


def test_loads_that_were_not_begun_when_the_newcomer_leaves_are_not() -> None:
    async def story() -> None:
        variant = Variant()
        await variant.settled()
        variant.ready.withdraw(1)
        variant.newcomer.gate.set()
        await variant.settled()
        assert variant.newcomer.loads == variant.moving[:AT_ONCE]
        assert set(variant.call_all()) == {0}

    run(story())


def test_an_adapter_is_registered_at_a_copy_by_its_name_and_place_and_one_that_was_deleted_is_not() -> None:
    async def story() -> None:
        told: list[tuple[str, Headers]] = []

        class Copy(FakeContainer):
            async def send(
                self, method: str, path: str, headers: Headers, body: Sequence[bytes], timeout_s: float
            ) -> UpstreamAnswer:
                told.append((path, headers))
                if not self.answers:
                    raise UpstreamBroken("it says nothing")
                return UpstreamAnswer(500 if self.fails else 200, [], [json.dumps({"led": not self.has}).encode()])

        orders, copy = AdapterOrders(lambda: {"red": "s3://shelf/red"}), Copy()
        load = Handover(incarnation(0, FakeContainer()), incarnation(1, copy))
        assert [await orders.is_needless(name, load) for name in ("red", "blue")] == [False, True]
        assert await orders.brought("red", load) is True
        assert told == [(wire.LOAD_ADAPTER, [(ADAPTER, b"red"), (ADAPTER_URL, b"s3://shelf/red")])]
        copy.has = True
        assert await orders.brought("red", load) is False
        copy.fails = True
        assert await orders.brought("red", load) is None
        copy.answers = False
        assert await orders.brought("red", load) is None

    run(story())


def test_loads_end_with_the_pool_and_begin_no_others() -> None:
    async def story() -> None:
        variant = Variant()
        await variant.settled()
        variant.loading[0].end()
        variant.newcomer.gate.set()
        await variant.settled()
        assert variant.newcomer.loads == variant.moving[:AT_ONCE]

    run(story())


def test_a_request_in_flight_at_the_end_begins_no_load_though_the_newcomer_has_none_going_on() -> None:
    async def story() -> None:
        variant = Variant()
        variant.newcomer.gate.set()
        await variant.settled()
        variant.newcomer.loads.clear()
        variant.loading[0].end()
        busy = next(name for name in NAMES if name not in variant.moving)
        for _ in range(BUSY_MIN + 1):
            variant.ready.pick(busy).took()
        assert busy in variant.ready.copied
        await variant.settled()
        assert variant.newcomer.loads == []

    run(story())


@pytest.mark.parametrize("says", [b"[]", b"no JSON", b"{}", b'{"led": 1}'])
def test_an_answer_of_another_release_is_a_load_that_failed(says: bytes) -> None:
    async def story() -> None:
        variant = Variant()
        variant.newcomer.says = says
        variant.newcomer.gate.set()
        await variant.settled()
        assert sorted(variant.newcomer.loads) == sorted(variant.moving)
        assert set(variant.call_all()) == {0}

    run(story())


def test_a_load_that_fails_by_a_fault_is_tried_again_too_and_the_next_ones_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(ModelOrders):
        fails = True

        async def brought(self, name: str, handover: Handover[Incarnation]) -> bool | None:
            if self.fails:
                raise RecursionError("a fault")
            return await super().brought(name, handover)

    async def story() -> None:
        orders = Faulty()
        variant = Variant(orders)
        variant.newcomer.gate.set()
        await variant.settled()
        assert (variant.newcomer.loads, set(variant.call_all())) == ([], {0})
        orders.fails = False
        await asyncio.sleep(RETRY_S + 1.0)
        assert set(variant.call_all()) == {0}
        await variant.settled()
        assert [variant.slot(name) for name in variant.moving] == [1] * len(variant.moving)

    run(story())
    assert "the load of m" in caplog.text


def test_a_copy_is_loaded_whatever_the_busy_owner_tells_and_the_time_that_it_took_is_known() -> None:
    async def story() -> None:
        variant = Variant()
        variant.newcomer.gate.set()
        await variant.settled()
        variant.newcomer.loads.clear()
        variant.former.answers = False
        variant.newcomer.gate.clear()
        busy = next(name for name in NAMES if name not in variant.moving)
        for _ in range(BUSY_MIN):
            variant.ready.pick(busy).took()
        assert variant.slot(busy) == 0
        await asyncio.sleep(2.5)
        assert (variant.newcomer.loads, variant.slot(busy)) == ([busy], 0)
        variant.newcomer.gate.set()
        await variant.settled()
        assert (variant.slot(busy), variant.waits.loads_s[busy]) == (1, 2.5)
        variant.ready.offer(2, incarnation(2, FakeContainer()))  # what is known of copies is old then
        variant.newcomer.has = True
        assert variant.ready.pick(busy).slot.number == 0
        await variant.settled()
        assert variant.waits.loads_s[busy] == 2.5, "an order that leads no load says nothing of its time"

    run(story())
