"""Says whether an event loop still turns, as a thread beside it sees it.

The loop counts its turns, and the thread looks before each of its beats. What counts is how many looks in a row saw the
same turn, so no clock is read: on a machine that has no time for either, neither looks nor turns go on.
"""

HUNG_LOOKS = 10


class LoopPulse:
    """The turns of one loop. It is not judged before its first turn, nor once it rests: at the start and at the end of
    a process there is no loop. One thread turns, another one looks."""

    def __init__(self, looks: int = HUNG_LOOKS) -> None:
        self._looks = looks
        self._turns = self._last = 0
        self._same = 0
        self._rests = True

    def turn(self) -> None:
        """The loop has turned."""
        self._turns += 1
        self._rests = False

    def rest(self) -> None:
        """The loop ends by itself."""
        self._rests = True

    def look(self) -> bool:
        """Look once more: whether the loop turns."""
        turns = self._turns
        self._same = 0 if self._rests or turns != self._last else self._same + 1
        self._last = turns
        return self._same < self._looks
