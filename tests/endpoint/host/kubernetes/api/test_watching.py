"""The watch of a cluster's objects goes on, whatever the cluster tells or breaks off. In virtual time."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, cast

import pytest

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.watching import ObjectWatch
from torpor_endpoint.host.kubernetes.object_names import SLOT

Lines = list[bytes]
END = "the watch ends after its time"
WATCHED_S = 50.0


Changed = Callable[[Collection[str] | None], None]


def pod(name: str, version: int, slot: str = "") -> dict[str, Any]:
    labels = {"labels": {SLOT: slot}} if slot else {}
    return {"metadata": {"name": name, "resourceVersion": str(version), **labels}}


def event(kind: str, about: Mapping[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": about}).encode()


GONE = event("ERROR", {"code": 410, "message": "too old resource version"})
BOOKMARK = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})


class FakeCluster:
    """Lists its pods, and plays one script for each watch: lines to tell, faults to raise, or END. What comes after
    the last script is a watch without events. `calls` has what was called, and when."""

    def __init__(self, *watches: list[bytes | str | Exception], pods: int = 1) -> None:
        self.watches = list(watches)
        self.pods = [pod(f"pod-{number}", 1) for number in range(pods)]
        self.calls: list[tuple[str, float]] = []

    def path(self, resource: str) -> str:
        return resource

    async def call(self, verb: str, resource: str, query: Mapping[str, str]) -> dict[str, Any]:
        self._note("list")
        return {"items": self.pods, "metadata": {"resourceVersion": "5"}}

    async def lines(self, path: str, query: Mapping[str, str], *how: Any) -> AsyncGenerator[Lines, None]:
        self._note(f"watch from {query['resourceVersion']}")
        for step in self.watches.pop(0) if self.watches else [END]:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, bytes):
                if step != BOOKMARK or query.get("allowWatchBookmarks") == "true":
                    yield [step]
            else:
                await asyncio.sleep(WATCHED_S)

    def _note(self, what: str) -> None:
        self.calls.append((what, asyncio.get_running_loop().time()))

    def pauses(self) -> list[float]:
        """Between a watch and the list that follows it."""
        after = [(was, now) for was, now in zip(self.calls, self.calls[1:], strict=False) if now[0] == "list"]
        return [round(now_s - was_s, 3) for (_, was_s), (_, now_s) in after]


def told(cluster: FakeCluster, within_s: float, changed: Changed = lambda slots: None) -> dict[str, Any]:
    """Follow for so long, and return the objects of then."""
    return followed(cluster, within_s, changed).objects


def followed(cluster: FakeCluster, within_s: float, changed: Changed) -> ObjectWatch:
    watch = ObjectWatch(cast(KubernetesClient, cluster), "pods", "x=y", changed)

    async def story() -> None:
        await watch.begin()
        following = asyncio.create_task(watch.run())
        await asyncio.sleep(within_s)
        assert not following.done()
        following.cancel()
        await asyncio.wait({following})

    run(story())
    return watch


def test_changes_and_bookmarks_are_taken_and_the_next_watch_goes_on_from_there() -> None:
    cluster = FakeCluster([event("ADDED", pod("a", 6)), event("DELETED", pod("pod-0", 7)), BOOKMARK, END])
    assert list(told(cluster, 60.0)) == ["a"]
    assert [what for what, _ in cluster.calls] == ["list", "watch from 5", "watch from 9"]


PARTIAL = event("ADDED", pod("a", 6))[:20]


@pytest.mark.parametrize("broken", [PARTIAL, b"<html>", b"7", b'{"type": "ADDED", "object": {}}', GONE])
def test_what_cannot_be_taken_starts_the_watch_over_with_a_list(broken: bytes) -> None:
    cluster = FakeCluster([broken], [event("ADDED", pod("a", 6)), END])
    assert set(told(cluster, 30.0)) == {"pod-0", "a"}
    assert [what for what, _ in cluster.calls] == ["list", "watch from 5", "list", "watch from 5"]


@pytest.mark.parametrize("ends", [[GONE], [], [BOOKMARK], [HostError("it cannot be reached")]])
def test_a_watch_that_ends_at_once_again_and_again_waits_longer_each_time(ends: list[Any]) -> None:
    cluster = FakeCluster(*[ends] * 100)
    told(cluster, 60.0)
    assert cluster.pauses() == [1.0, 2.0, 5.0, 10.0, 10.0, 10.0, 10.0, 10.0]


def test_a_watch_that_held_begins_the_pauses_anew() -> None:
    lost = HostError("it cannot be reached")
    cluster = FakeCluster([lost], [lost], [END, lost], [lost])
    told(cluster, 70.0)
    assert cluster.pauses() == [1.0, 2.0, WATCHED_S + 1.0, 2.0]


def test_a_change_that_cannot_be_taken_in_does_not_end_the_watch() -> None:
    faults = [KeyError("status")]

    def changed(slots: Collection[str] | None) -> None:
        if len(cluster.calls) == 2:
            with suppress(IndexError):
                raise faults.pop()

    cluster = FakeCluster([event("ADDED", pod("a", 6)), END], [event("ADDED", pod("b", 7)), END])
    assert set(told(cluster, 30.0, changed)) == {"pod-0", "b"}


def test_an_event_names_the_slots_that_it_is_about_and_a_list_names_none() -> None:
    events = [
        event("ADDED", pod("a", 6, "first")),
        event("ADDED", pod("b", 7, "second")),
        event("MODIFIED", pod("a", 8, "second")),  # somebody gave it another label
        event("MODIFIED", pod("b", 9)),  # and took this one's away
        event("DELETED", pod("a", 10, "second")),
    ]
    told_of: list[object] = []
    watch = followed(FakeCluster([*events, END], pods=0), 30.0, lambda slots: told_of.append(slots and set(slots)))
    assert told_of == [None, {"", "first"}, {"", "second"}, {"first", "second"}, {"second", ""}, {"second"}]
    assert [len(watch.of_slot(label)) for label in ("first", "second", "")] == [0, 0, 1]
