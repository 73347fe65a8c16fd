"""Decides whether a model in memory may answer a new request: it may be retired, or S3 may have a newer version."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

from torpor_container.models.disk_tier import DiskTier

ASK_AGAIN_S = 1.0
"""An S3 on another machine is asked about each model at most this often. A local file is checked before each answer."""


class ServedArtifact(NamedTuple):
    """The artifact of a model in memory: its version, as its store names it, and the SHA-256 of its bytes, in hex. Each
    is empty where it is not known."""

    version: str = ""
    digest: str = ""


NO_ARTIFACT = ServedArtifact()


class Freshness:
    """What is known of the versions in memory. Names are those of the models in memory."""

    def __init__(self, disk_tier: DiskTier, clock: Callable[[], float], asks_s3: bool = False) -> None:
        """`asks_s3`: the keeper asks S3 for a newer version before a model answers from memory."""
        self.asks_s3 = asks_s3
        self.retired: dict[str, str] = {}
        """By model: why it answers no new request. It finishes the requests that it has, and leaves."""
        self._disk_tier = disk_tier
        self._clock = clock
        self._ids: dict[str, str] = {}  # the version in memory
        self._artifacts: dict[str, ServedArtifact] = {}  # the same, as the store names it
        self._asked_s: dict[str, float] = {}

    def loaded(self, name: str, model_id: str, artifact: ServedArtifact = NO_ARTIFACT) -> None:
        """This version is in memory now."""
        self._ids[name] = model_id
        self._artifacts[name] = artifact
        self._asked_s.pop(name, None)

    def gone(self, name: str) -> None:
        """The model has left memory."""
        self.retired.pop(name, None)
        self._ids.pop(name, None)
        self._artifacts.pop(name, None)
        self._asked_s.pop(name, None)

    def artifact_of(self, name: str) -> ServedArtifact:
        """What is known of the artifact of a model in memory."""
        return self._artifacts.get(name, NO_ARTIFACT)

    async def outdated(self, name: str) -> bool:
        """Whether S3 has another version than memory. Raises the artifact errors if S3 cannot say."""
        now_s = self._clock()
        if name not in self._ids or now_s - self._asked_s.get(name, -ASK_AGAIN_S) < ASK_AGAIN_S:
            return False
        self._asked_s[name] = now_s
        loaded = self._ids[name]
        with ExitStack() as ask_again:  # without an answer, and if to ask costs next to nothing
            ask_again.callback(self._asked_s.pop, name, None)
            newest = await self._disk_tier.newest(name)
            if not newest.local:
                ask_again.pop_all()
        return newest.model_id != loaded and self._ids.get(name) == loaded

    async def differs(self, name: str) -> bool:
        """As `outdated`, whenever it was asked before."""
        self._asked_s.pop(name, None)
        return await self.outdated(name)
