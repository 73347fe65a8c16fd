"""Holds the contents that were proved until they are loaded, so that what is loaded is what was proved."""

from weakref import WeakSet

from torpor_container.formats.format import Format
from torpor_container.formats.sound.one_reading import SOUND_MAX_BYTES, Contents
from torpor_container.trials.trial_process import TrialCandidate

HELD_MAX_BYTES = 4 * 1024 * 1024
"""The most that all contents together have which wait for their load, perhaps until there is room in memory. What is
beyond is read and proved once more as it is loaded."""


class ProvedContent:
    """One content that was proved, and waits for its load."""

    __slots__ = ("__weakref__", "_contents")

    def __init__(self, contents: Contents | None) -> None:
        self._contents = contents

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self._contents or ()))

    def take(self) -> Contents | None:
        """The content, which is held no longer; None if it was taken, or never held."""
        contents, self._contents = self._contents, None
        return contents


class ProvedContents:
    """Those of one instance. Threads may use it at the same time, and then hold a little more."""

    def __init__(self, held_max_bytes: int = HELD_MAX_BYTES) -> None:
        self._held_max_bytes = held_max_bytes
        self._waiting = WeakSet[ProvedContent]()

    def of(self, known: Format, candidate: TrialCandidate) -> ProvedContent | None:
        """The content of this model if its bytes show that it needs no trial, else None. Raises OSError."""
        if known.proof is None or candidate.disk_bytes > SOUND_MAX_BYTES:
            return None
        if (contents := known.proof.prove(candidate.path)) is None:
            return None
        waits = sum(one.size_bytes for one in list(self._waiting)) + sum(map(len, contents)) <= self._held_max_bytes
        proved = ProvedContent(contents if waits else None)
        if waits:
            self._waiting.add(proved)
        return proved
