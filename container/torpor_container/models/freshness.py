"""Decides whether a model in memory may answer a new request: it may be leaving, or S3 may have a newer version."""

from collections.abc import Callable

from torpor_container.models.disk_tier import DiskTier

ASKED_AGAIN_S = 1.0
"""An S3 on another machine is asked for each model at most so often, and a file of this machine before each answer."""


class Freshness:
    """`asks`: S3 is asked before a model answers from memory. Names are those of the models in memory."""

    def __init__(self, disk_tier: DiskTier, clock: Callable[[], float], asks: bool = False) -> None:
        self.asks = asks
        self.outgoing: dict[str, str] = {}
        """By model, why it answers no new request: it serves the requests that it has, and leaves."""
        self._disk_tier = disk_tier
        self._clock = clock
        self._ids: dict[str, str] = {}  # the version in memory
        self._asked_s: dict[str, float] = {}

    def loaded(self, name: str, model_id: str) -> None:
        self._ids[name] = model_id
        self._asked_s.pop(name, None)

    def gone(self, name: str) -> None:
        self.outgoing.pop(name, None)
        self._ids.pop(name, None)
        self._asked_s.pop(name, None)

    async def outdated(self, name: str) -> bool:
        """Whether S3 has another version than memory. Raises the artifact errors: what cannot be asked is not known."""
        now_s = self._clock()
        if name not in self._ids or now_s - self._asked_s.get(name, -ASKED_AGAIN_S) < ASKED_AGAIN_S:
            return False
        self._asked_s[name] = now_s
        loaded = self._ids[name]
        try:
            newest = await self._disk_tier.newest(name)
        except BaseException:
            self._asked_s.pop(name, None)
            raise
        if newest.near:
            self._asked_s.pop(name, None)
        return newest.model_id != loaded and self._ids.get(name) == loaded
