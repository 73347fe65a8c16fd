"""An instance pool on a fake host whose instances, launches and clock a test makes fail, and the pool's invariants."""

import asyncio

from tests.endpoint.helpers.fake_host import FakeHost, Mood
from torpor_endpoint.core.ledger_records import InstanceLife
from torpor_endpoint.core.lifecycle import InstancePhase
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.in_service.incarnation import Incarnation

SLOT = Slot("shop", "v", 0)
WAITS_S = (0.0, 0.021, 0.3, 4.0, 16.0, 45.0)
DAY_S = 24 * 3600.0

BEGUN, READY, ENDED, NEVER_READY = (False, False), (True, False), (True, True), (False, True)
LIVES = ([BEGUN], [BEGUN, READY], [BEGUN, READY, ENDED], [BEGUN, NEVER_READY])
"""What the ledger may be told of one instance, in this order: whether it has been ready, and whether it has ended."""


class PoolOnFakeHost:
    """One pool, its host, its callers and its ledger. Each event is a method; `n` chooses the instance.

    Each instance has so many `containers`.
    """

    def __init__(
        self, host: FakeHost, start_delay_s: float = 0.0, containers: int = 1, *, multi_model: bool = False
    ) -> None:
        self.host = host
        self.lives: list[InstanceLife] = []
        self.clock_is_off_s = 0.0
        self.wanted = 0
        self.numbers = SlotNumbers()
        self.requests: list[Incarnation] = []
        self.drains_since_s: dict[Incarnation, float] = {}
        self.closing: asyncio.Task[None] | None = None
        self.containers = tuple(
            Container("torpor", name=f"container-{n + 1}", multi_model=multi_model) for n in range(containers)
        )
        variant = Variant("v", "m", self.containers, instances_min=0, startup_timeout_s=20.0)
        factory = InstanceFactory(
            host,
            lambda variant, slot: LaunchSpec(slot),
            self.epoch,
            self.lives.append,
            start_delay_s=lambda variant: start_delay_s,
        )
        self.pool = InstancePool("shop", variant, factory, self.numbers)

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()

    def epoch(self) -> float:
        return 1e9 + self.now() + self.clock_is_off_s

    # -- what may happen -------------------------------------------------------------------------------------------
    async def scale(self, n: int) -> None:
        self.wanted = n % 4 if self.closing is None else 0
        self.pool.scale(n % 4, "told")

    async def wake(self, n: int) -> None:
        self.wanted = max(self.wanted, 1) if self.closing is None else 0
        self.pool.wake()

    async def request(self, n: int) -> None:
        if self.pool.ready:
            incarnation = sorted(self.pool.ready, key=lambda one: str(one.slot))[n % len(self.pool.ready)]
            assert incarnation.phase is InstancePhase.READY
            incarnation.took()
            self.requests.append(incarnation)

    async def reply(self, n: int) -> None:
        if self.requests:
            self.pool.released(self.requests.pop(n % len(self.requests)))

    async def suspect(self, n: int) -> None:
        if self.requests:
            self.pool.suspect(self.requests[n % len(self.requests)])

    async def death(self, n: int) -> None:
        if self.host.living:
            sorted(self.host.living.items())[n % len(self.host.living)][1].die()

    async def mood(self, n: int) -> None:
        if self.host.living:
            sorted(self.host.living.items())[n % len(self.host.living)][1].mood = list(Mood)[n % len(Mood)]

    async def moods_to_come(self, n: int) -> None:
        self.host.mood = list(Mood)[n % len(Mood)]

    async def launches_fail(self, n: int) -> None:
        self.host.launches_to_fail = n

    async def slow_ends(self, n: int) -> None:
        self.host.dies_slowly_s = 15.0 * n

    async def clock_jumps(self, n: int) -> None:
        self.clock_is_off_s += DAY_S * (n - 2)

    async def wait(self, n: int) -> None:
        await asyncio.sleep(WAITS_S[n % len(WAITS_S)])

    async def close(self, n: int) -> None:
        if self.closing is None:
            self.wanted = 0
            self.closing = asyncio.create_task(self.pool.close("it is closed"))
            await asyncio.sleep(0)

    async def ready(self, n: int) -> None:
        """Scales to this many instances, and waits until they are ready."""
        await self.scale(n)
        await self.pool.until(lambda: len(self.pool.ready) == n)

    # -- what always holds -----------------------------------------------------------------------------------------
    def check(self) -> None:
        assert self.pool.size == self.wanted
        assert len(self.host.living) <= len(self.containers) * (self.pool.size + self.pool.leaving)
        assert all(incarnation.phase is InstancePhase.READY for incarnation in self.pool.ready)
        for incarnation in self.requests:
            if incarnation.phase is InstancePhase.DRAINING:
                self.drains_since_s.setdefault(incarnation, self.now())
        self.check_drains()
        check_lives(self.lives)

    def check_drains(self) -> None:
        """Checks that an instance has the full time for its last requests unless it died, and no longer."""
        for incarnation, since_s in self.drains_since_s.items():
            lasts_s = self.now() - since_s
            if incarnation in self.requests and incarnation.phase is InstancePhase.GONE:
                assert lasts_s >= TIMING.grace_s - 0.001
            if lasts_s > TIMING.grace_s + 1.0:
                assert incarnation.phase is InstancePhase.GONE

    async def end(self) -> None:
        """Closes the pool with the requests still in flight: nothing may be left."""
        await self.close(0)
        assert self.closing is not None
        await self.closing
        self.check()
        assert self.host.living == {}
        assert list(self.host.folder.iterdir()) == []
        assert (len(self.pool.ready), self.pool.leaving, self.numbers.take()) == (0, 0, 0)
        assert {life.instance for life in self.lives} == {life.instance for life in self.lives if life.stopped_s}


def check_lives(lives: list[InstanceLife]) -> None:
    """Checks that each life begins, may become ready, and ends at most once: with a reason, and not before it began."""
    for name in {life.instance for life in lives}:
        told = [life for life in lives if life.instance == name]
        stages = [(life.ready_s is not None, life.stopped_s is not None) for life in told]
        assert stages in LIVES
        for life in told:
            assert life.started_s <= (life.ready_s or life.started_s) <= (life.stopped_s or float("inf"))
            assert bool(life.why_stopped) == (life.stopped_s is not None)
