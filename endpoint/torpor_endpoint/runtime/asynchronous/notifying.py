"""Publishes to SNS topics how requests ended.

A notice stays in the queue until its topic has it: no crash loses it, and a topic that is not there for a while gets it
later.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from torpor_account.core.outages.waiting import pause_s
from torpor_account.metrics import metrics
from torpor_account.outer_edge import outer_edge
from torpor_account.topics import NotPublished, Topics
from torpor_endpoint.core.async_inference.topic_messages import tests_of
from torpor_endpoint.core.resource_records import AsyncInference
from torpor_endpoint.runtime.asynchronous.async_queue import AsyncQueue, UnsentNotice
from torpor_endpoint.runtime.asynchronous.metering import AsyncMeter

AT_ONCE = 16
"""So many notices are in memory, and on their way, at a time."""
PAUSES_S = (0.2, 1.0, 5.0, 30.0, 60.0)
"""Before a topic that refused a notice is tried again, by the number of refusals; the last one is repeated."""
IDLE_S = 3600.0

log = logging.getLogger(__name__)


class Trouble(NamedTuple):
    """A topic that refuses notices."""

    refusals: int
    until_s: float


class NoticeBoard:
    """`clock` gives seconds that only go forward."""

    def __init__(self, queue: AsyncQueue, topics: Topics, meter: AsyncMeter, clock: Callable[[], float]) -> None:
        self._queue = queue
        self._topics = topics
        self._meter = meter
        self._clock = clock
        self._troubles: dict[str, Trouble] = {}
        self._published: set[int] = set()
        """Numbers of notices that their topics have, while the queue does not know it."""
        self._news = asyncio.Event()

    def news(self) -> None:
        """The queue has another notice."""
        self._news.set()

    async def run(self) -> None:
        """Publish every notice that the queue has, for ever."""
        failures, wait_s = 0, 0.0
        while True:
            self._news.clear()
            with outer_edge(log, "notices of asynchronous requests cannot be published now") as edge:
                wait_s = await self._publish_some()
            failures = 0 if edge.fault is None else failures + 1  # the queue keeps the notices
            await (asyncio.sleep(pause_s(failures)) if failures else self._until_news(wait_s))

    async def _publish_some(self) -> float:
        """Publish the oldest notices whose topics work. Returns how long to wait for more. Raises RecordsFault."""
        now_s = self._clock()
        waiting = [topic for topic, trouble in self._troubles.items() if trouble.until_s > now_s]
        notices = await asyncio.to_thread(self._queue.unsent, waiting, AT_ONCE)
        ended = await asyncio.gather(*map(self._publish, notices), return_exceptions=True)
        for failed in (one for one in ended if isinstance(one, BaseException)):
            raise failed
        if notices:
            return 0.0
        left_s = [self._troubles[topic].until_s - now_s for topic in waiting]
        return min(left_s, default=IDLE_S)

    async def introduce(self, endpoint: str, variant: str, config: AsyncInference) -> None:
        """Send the test message of an endpoint that was created or updated to each topic of its configuration."""
        for notice in tests_of(config):
            try:
                await self._topics.publish(notice.topic, notice.text)
            except NotPublished as error:
                self._refused(endpoint, variant, notice.topic, error)

    async def _publish(self, one: UnsentNotice) -> None:
        """Raises RecordsFault if the topic has the notice, and the queue does not know it: it is not sent again."""
        topic = one.notice.topic
        if one.number not in self._published:
            try:
                await self._topics.publish(topic, one.notice.text)
            except NotPublished as error:
                self._refused(one.endpoint, one.variant, topic, error)
                return
            self._troubles.pop(topic, None)
            self._published.add(one.number)
        await self._queue.sent(one.number)
        self._published.discard(one.number)

    def _refused(self, endpoint: str, variant: str, topic: str, error: NotPublished) -> None:
        refusals = self._troubles[topic].refusals + 1 if topic in self._troubles else 1
        pause_s = PAUSES_S[min(refusals, len(PAUSES_S)) - 1]
        self._troubles[topic] = Trouble(refusals, self._clock() + pause_s)
        self._meter.count(metrics.NOTIFICATION_FAILURES, endpoint, variant)
        log.warning("endpoint %s: no message to %s, trying again in %g s: %s", endpoint, topic, pause_s, error)

    async def _until_news(self, within_s: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, within_s)):
                await self._news.wait()
        except TimeoutError:
            return
