"""Machines that are announced to go: each instance on one gets a successor before it leaves, if there is room."""

import asyncio
from dataclasses import replace

import pytest

from tests.endpoint.helpers.fake_host import FakeHost
from tests.endpoint.helpers.pool_on_fake_host import PoolOnFakeHost
from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.core.placement import Placement
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint, FleetRoster
from torpor_endpoint.fleet.supervision.leaving_machines import MARGIN_S, LeavingMachines, moves_from
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.incarnation import Incarnation


class Fleet:
    """A pool on a fake host, and what looks for machines that go. Its time is the loop's."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.fake = PoolOnFakeHost(host)
        self.pool = self.fake.pool
        roster = FleetRoster()
        roster.serve(FleetEndpoint("shop", "arn", {"v": self.pool}))
        self.leaving = LeavingMachines(host, roster, self.fake.now)

    def announced(self, number: int, leaves_at_s: float) -> None:
        """The machine of this slot's instance is to go."""
        one = self.host.living[Slot("shop", "v", number)]
        one.launched = replace(one.launched, leaves_at_s=leaves_at_s)
        self.leaving.look()
        self.leaving.look()  # it is seen once

    @property
    def ready(self) -> list[int]:
        return sorted(one.slot.number for one in self.pool.ready)

    async def end(self) -> None:
        self.fake.wanted = self.pool.size
        await self.fake.end()


@pytest.mark.parametrize("leaves_in_s", [60.0, None])
def test_an_instance_leaves_its_machine_once_another_is_ready(leaves_in_s: float | None) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host)
            await fleet.fake.ready(2)
            busy = fleet.pool.ready.get(0)
            assert busy is not None
            busy.took()
            fleet.announced(0, 0.0 if leaves_in_s is None else fleet.fake.now() + leaves_in_s)
            assert (fleet.ready, fleet.pool.at_least) == ([0, 1], 0)
            await asyncio.sleep(0)
            assert fleet.pool.at_least == 3, "the sizer keeps both"
            await fleet.pool.until(lambda: fleet.ready == [1, 2])
            await asyncio.sleep(0.01)
            assert (busy.slot in host.living, fleet.pool.at_least) == (True, 0), "it finishes its request"
            fleet.pool.released(busy)
            await fleet.pool.until_left()
            assert sorted(slot.number for slot in host.living) == [1, 2]
            await fleet.end()

    run(story())


def test_an_instance_stays_where_no_other_has_room_in_time(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host)
            await fleet.fake.ready(2)
            host.launches_to_fail = 1_000
            fleet.announced(1, fleet.fake.now() + MARGIN_S + 30.0)
            await asyncio.sleep(31.0)
            assert (fleet.ready, fleet.pool.numbers, fleet.pool.at_least) == ([0, 1], [0, 1], 0)
            host.launches_to_fail = 0
            await fleet.end()

    run(story())
    assert "shop/v/1 stays on a machine that goes" in caplog.text
    assert "there is no room" in caplog.text


def test_an_instance_stays_where_there_is_no_slot_for_another_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host)
            await fleet.fake.ready(1)
            monkeypatch.setattr(fleet.pool, "take_slot", lambda: None)
            fleet.announced(0, 0.0)
            await asyncio.sleep(0)
            assert fleet.ready == [0]
            await fleet.end()

    run(story())
    assert "shop/v/0: its machine goes, and there is no slot for another instance" in caplog.text


def test_an_endpoint_that_ends_meanwhile_ends_the_successor_too() -> None:
    async def story() -> None:
        with FakeHost() as host:
            fleet = Fleet(host)
            await fleet.fake.ready(1)
            fleet.announced(0, 0.0)
            await asyncio.sleep(0)
            await fleet.end()
            assert not host.living

    run(story())


def test_each_model_of_an_instance_that_leaves_is_loaded_where_its_calls_will_come_to() -> None:
    ready, slots = Placement[Incarnation](), [Slot("shop", "v", number) for number in range(4)]
    all_four = [Incarnation(slot, f"i-{slot.number}", []) for slot in slots]
    for one in all_four:
        ready.offer(one.slot.number, one)
    leaving, others = all_four[2], {*all_four} - {all_four[2]}
    holders = {f"m{number}": {leaving} for number in range(40)} | {"elsewhere": others, "everywhere": {*all_four}}
    moves = dict(moves_from(leaving, ready, holders))
    assert moves.keys() == holders.keys() - {"elsewhere", "everywhere"}
    assert set(moves.values()) == others
    ready.withdraw(2)
    assert all(ready.pick(model) is owner for model, owner in moves.items())


def test_no_model_moves_once_no_other_instance_is_ready() -> None:
    ready, leaving, other = (
        Placement[Incarnation](),
        *(Incarnation(Slot("shop", "v", number), f"i-{number}", []) for number in range(2)),
    )
    ready.offer(0, leaving)
    ready.offer(1, other)
    moves = moves_from(leaving, ready, {"a": {leaving}, "b": {leaving}})
    assert next(moves) == ("a", other)
    ready.withdraw(1)
    assert list(moves) == []
