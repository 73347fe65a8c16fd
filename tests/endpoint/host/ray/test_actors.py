"""The driver's table of actors, on an engine whose answers a test gives, and whose time it moves."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from heapq import heappop, heappush
from itertools import count
from typing import Any

import pytest

from torpor_endpoint.host.ray.actors import ActorTable
from torpor_endpoint.host.ray.driver_messages import EXITED, GONE, LEAVING, PENDING, RUNNING, ActorReport, News, Order

NAME = "shop/A/0/0"


class Unavailable(Exception):
    """Ray has lost the actor's process, and starts another."""


class Died(Exception):
    """The actor is gone for good."""


class FakeRay:
    """One cluster, as `Engine` and `DriverEvents`. Calls wait until the test answers them."""

    def __init__(self) -> None:
        self.actors: dict[str, str] = {}
        self.calls: list[tuple[str, str, tuple[Any, ...], Future[Any]]] = []
        self.made = count()
        self.now_s = 0.0
        self.drains: dict[str, float] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    # -- Engine --
    def names(self) -> list[str]:
        return list(self.actors)

    def get(self, name: str) -> Any:
        if name not in self.actors:
            raise ValueError(name)
        return self.actors[name]

    def create(self, order: Order) -> Any:
        return self.actors.setdefault(order["slot"], f"actor {next(self.made)}")

    def call(self, handle: Any, method: str, *arguments: Any) -> Any:
        future: Future[Any] = Future()
        self.calls.append((handle, method, arguments, future))
        return future

    def kill(self, handle: Any) -> None:
        self.actors = {name: actor for name, actor in self.actors.items() if actor != handle}

    def sizes(self) -> tuple[list[Mapping[str, float]], Mapping[str, float]]:
        return [{"CPU": 1.0}], {"CPU": 1.0}

    def draining(self) -> Mapping[str, float]:
        return self.drains

    def fault(self, error: BaseException) -> tuple[str, str]:
        return (PENDING, "") if isinstance(error, Unavailable) else (GONE, str(error))

    # -- DriverEvents --
    def after(self, pause_s: float, event: Callable[[], None]) -> None:
        heappush(self._timers, (self.now_s + pause_s, next(self.made), event))

    def answered(self, future: Any, event: Callable[[Any], None]) -> None:
        future.add_done_callback(event)

    # -- the test --
    def asked(self, method: str) -> "Future[Any]":
        """The oldest call of this method that waits."""
        return next(future for _, called, _, future in self.calls if called == method and not future.done())

    def passes(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= until_s:
            self.now_s, _, event = heappop(self._timers)
            event()
        self.now_s = until_s


class Told(list[News]):
    """The news, and what was done."""

    def states(self) -> list[str]:
        return [news["state"] for news in self]


@pytest.fixture
def ray() -> FakeRay:
    return FakeRay()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def table(ray: FakeRay, told: Told) -> ActorTable:
    return ActorTable(ray, ray, told.append)


def order(cpus: float = 1.0) -> Order:
    return Order(
        slot=NAME,
        launch="i-1",
        secret="",
        environment={},
        forgotten=[],
        asked={"CPU": cpus},
        version="",
        deployment="d",
        container="",
        instance="",
        role="",
        configuration="",
    )


def report(incarnation: str = "i-1-1", output: bytes = b"", offset: int = 0, ended: str | None = None) -> ActorReport:
    return ActorReport(
        incarnation=incarnation,
        host="h",
        port=1,
        since_s=0.0,
        node="n",
        ended=ended,
        output=output,
        offset=offset,
        asked={"CPU": 1.0},
        container="",
        instance="",
        configuration="",
    )


def launched(table: ActorTable, ray: FakeRay) -> None:
    table.launch(order(), lambda _: None)
    ray.asked("report").set_result(report())
    ray.passes(0.0)


def test_an_actor_is_pending_with_its_reason_until_it_reports(table: ActorTable, ray: FakeRay, told: Told) -> None:
    table.launch(order(cpus=4.0), lambda _: None)
    table.refresh()
    assert told.states() == [PENDING]
    assert "no node" in told[0]["reason"]
    ray.asked("report").set_result(report())
    assert told.states() == [PENDING, RUNNING]


def test_an_answer_without_news_is_not_told_and_the_next_question_follows(
    table: ActorTable, ray: FakeRay, told: Told
) -> None:
    launched(table, ray)
    before = len(told)
    ray.asked("report").set_result(report(offset=0))
    ray.passes(0.0)
    assert len(told) == before
    assert not ray.asked("report").done()


def test_output_is_asked_for_from_where_it_was_read(table: ActorTable, ray: FakeRay, told: Told) -> None:
    launched(table, ray)
    ray.asked("report").set_result(report(output=b"hello"))
    ray.passes(1.0)
    assert told[-1]["output"] == "aGVsbG8="
    assert ray.calls[-1][2][:2] == ("i-1-1", 5)


def test_the_end_of_an_instance_is_told_after_its_last_output(table: ActorTable, ray: FakeRay, told: Told) -> None:
    launched(table, ray)
    ray.asked("report").set_result(report(output=b"last", ended="it ended"))
    ray.passes(0.0)
    assert told[-1]["state"] == RUNNING
    ray.asked("report").set_result(report(offset=4, ended="it ended"))
    assert (told[-1]["state"], told[-1]["reason"]) == (EXITED, "it ended")


def test_a_lost_actor_is_pending_and_comes_back_as_another_incarnation(
    table: ActorTable, ray: FakeRay, told: Told
) -> None:
    launched(table, ray)
    ray.asked("report").set_exception(Unavailable())
    assert told[-1]["state"] == PENDING
    ray.passes(1.0)
    assert ray.calls[-1][2][:2] == ("", None)
    ray.asked("report").set_result(report("i-1-2"))
    assert told[-1]["report"]["incarnation"] == "i-1-2"


def test_a_node_that_drains_is_told_once_for_each_incarnation_on_it(
    table: ActorTable, ray: FakeRay, told: Told
) -> None:
    launched(table, ray)
    ray.asked("report").set_result(report())
    ray.passes(1.0)
    node = report()["node"]
    seen = []
    for drains in ({"another": 9.0}, {node: 7.0}, {node: 7.0}, {node: 0.0}, {}):
        ray.drains = drains
        table.refresh()
        seen.append([news["leaves_at_s"] for news in told if news["state"] == LEAVING])
    assert seen == [[], [7.0], [7.0], [7.0, 0.0], [7.0, 0.0, None]]
    ray.drains = {node: 8.0}
    table.refresh()
    ray.asked("report").set_exception(Unavailable())
    ray.passes(1.0)
    ray.asked("report").set_result(report("i-1-2"))
    table.refresh()
    assert [news["leaves_at_s"] for news in told if news["state"] == LEAVING][-2:] == [8.0, 8.0]


def test_an_actor_that_cannot_start_is_gone_with_the_reason(table: ActorTable, ray: FakeRay, told: Told) -> None:
    table.launch(order(), lambda _: None)
    ray.asked("report").set_exception(Died("no Torpor"))
    assert (told[-1]["state"], told[-1]["reason"]) == (GONE, "no Torpor")


def test_a_terminated_instance_says_its_last_words_before_its_actor_goes(
    table: ActorTable, ray: FakeRay, told: Told
) -> None:
    launched(table, ray)
    done: list[str] = []
    table.terminate(NAME, 5.0, done.append)
    assert (table.busy, done) == (True, [])
    ray.asked("stop").set_result(None)
    ray.calls[-1][3].set_result(report(output=b"bye", ended="it ended"))
    assert told[-1]["output"] == "Ynll"
    ray.calls[-1][3].set_result(report(offset=3, ended="it ended"))
    assert (done, ray.actors, told[-1]["state"], table.busy) == ([""], {}, GONE, False)


def test_an_instance_that_does_not_stop_goes_with_its_actor(table: ActorTable, ray: FakeRay) -> None:
    launched(table, ray)
    done: list[str] = []
    table.terminate(NAME, 5.0, done.append)
    ray.passes(60.0)
    assert (done, ray.actors) == ([""], {})


def test_a_second_termination_ends_with_the_first_and_a_launch_follows_it(table: ActorTable, ray: FakeRay) -> None:
    launched(table, ray)
    done: list[str] = []
    for _ in range(2):
        table.terminate(NAME, 5.0, done.append)
    table.launch(order(), done.append)
    assert [method for _, method, _, _ in ray.calls].count("stop") == 1
    ray.passes(60.0)
    assert (done, list(ray.actors.values())) == (["", "", ""], [ray.calls[-1][0]])
    assert ray.calls[-1][0] != ray.calls[0][0]


def test_a_waiting_instance_is_terminated_at_once(table: ActorTable, ray: FakeRay, told: Told) -> None:
    table.launch(order(), lambda _: None)
    done: list[str] = []
    table.terminate(NAME, 600.0, done.append)
    assert (done, ray.actors, told[-1]["state"]) == ([""], {}, GONE)


def test_a_new_driver_tells_nothing_of_an_actor_before_it_has_answered(
    table: ActorTable, ray: FakeRay, told: Told
) -> None:
    ray.actors, done = {NAME: "an earlier one"}, Told()
    table.watch(lambda _: done.extend(told))
    table.refresh()
    assert (told, done) == ([], [])
    ray.asked("report").set_result(report("i-0-1"))
    ray.passes(0.1)
    assert done.states() == [RUNNING]


def test_an_actor_that_a_new_driver_gets_no_answer_of_is_pending(table: ActorTable, ray: FakeRay, told: Told) -> None:
    ray.actors, done = {NAME: "an earlier one"}, Told()
    table.watch(lambda _: done.extend(told))
    ray.passes(11.0)
    assert done.states() == [PENDING]
