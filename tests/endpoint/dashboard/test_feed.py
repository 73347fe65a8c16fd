"""The live feed works only while somebody watches, and once for all of them. Time is virtual."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint.helpers.virtual_time import run
from torpor_endpoint.dashboard.feed import BEHIND_MAX, Feed


@dataclass
class CountedLooks:
    """An endpoint that counts how often it is looked at; each look also happens, as one row of the timeline."""

    looks: int = 0
    takes_s: float = 0.0
    fails: set[int] = field(default_factory=set)

    async def look(self, before: Mapping[str, Any]) -> dict[str, Any]:
        self.looks += 1
        await asyncio.sleep(self.takes_s)
        if self.looks in self.fails:
            raise OSError("the disk is full")
        return {"endpoints": {"e": {"looks": self.looks}}}

    def later(self, number: int) -> tuple[list[dict[str, Any]], int]:
        return [{"number": one} for one in range(number + 1, self.looks + 1)], self.looks

    def feed(self) -> Feed:
        return Feed(self.look, self.later, lambda: 0.0)


async def told(messages: AsyncGenerator[bytes, None]) -> tuple[str, Any]:
    """The next message: its event and its content."""
    event, data = (await anext(messages)).decode().strip().split("\n")
    return event.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_viewer_gets_the_whole_and_then_what_changes() -> None:
    async def story() -> None:
        endpoint = CountedLooks()
        viewer = endpoint.feed().watch()
        event, whole = await told(viewer)
        assert (event, whole["patch"], whole["events"]) == (
            "snapshot",
            {"endpoints": {"e": {"looks": 1}}},
            [{"number": 1}],
        )
        event, change = await told(viewer)
        assert (event, change["events"]) == ("patch", [{"number": 2}])
        assert change["patch"] == {"endpoints": {"e": {"looks": 2}}}
        await viewer.aclose()

    run(story())


def test_viewers_share_the_looks_and_the_last_one_ends_them() -> None:
    async def story() -> None:
        endpoint = CountedLooks(takes_s=0.3)
        feed = endpoint.feed()
        assert endpoint.looks == 0
        viewers = [feed.watch() for _ in range(5)]
        firsts = await asyncio.gather(*map(told, viewers))
        assert endpoint.looks == 1
        assert all(message == firsts[0] for message in firsts)
        await asyncio.gather(*map(told, viewers))
        assert endpoint.looks == 2
        for viewer in viewers:
            await viewer.aclose()
        await asyncio.sleep(60.0)
        assert endpoint.looks <= 3
        again = feed.watch()
        assert (await told(again))[0] == "snapshot"
        await again.aclose()

    run(story())


def test_a_viewer_that_does_not_read_is_let_go() -> None:
    async def story() -> None:
        feed = CountedLooks().feed()
        slow, quick = feed.watch(), feed.watch()
        await told(slow)
        for _ in range(BEHIND_MAX + 3):
            await told(quick)
        read = [message async for message in slow]
        assert len(read) == BEHIND_MAX
        assert (await told(quick))[0] == "patch"
        await quick.aclose()

    run(story())


def test_one_fault_does_not_end_the_feed() -> None:
    async def story() -> None:
        viewer = CountedLooks(fails={2}).feed().watch()
        await told(viewer)
        assert (await told(viewer))[1]["patch"] == {"endpoints": {"e": {"looks": 3}}}
        await viewer.aclose()

    run(story())
