"""Says when the endpoint that holds the records of a deployment has fallen silent, so that another may take them over.

The holder counts its beats in the records. Whoever waits looks at them again and again: what counts is how many of its
own looks in a row saw the same beat. So no clocks are compared, and one that was frozen itself did not look meanwhile.
"""

from typing import NamedTuple


class Beat(NamedTuple):
    """What one look sees. `holder` is empty once it has given the records up. `session` is the connection that has the
    lock, by its number; None if none has it."""

    holder: str
    number: int
    session: int | None


class HolderSilence:
    """The looks of one that waits. A holder is silent once more than `looks` of them in a row saw the same beat."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self._last: Beat | None = None
        self._same = 0

    def look(self, beat: Beat | None) -> None:
        """Take in one look. None: nobody has held the records yet. A silent holder whose connection has ended stays
        silent: it need not be waited for once more."""
        ended = self.is_silent and self._last is not None and beat == self._last._replace(session=None)
        if beat != self._last and not ended:
            self._same = 0
        self._last = beat
        self._same += 1

    @property
    def given_up(self) -> bool:
        """Whether nobody holds them, or wants them back."""
        return self._last is None or not self._last.holder

    @property
    def silent_session(self) -> int | None:
        """The connection to end: that of a silent holder."""
        return self._last.session if self._last is not None and self.is_silent else None

    @property
    def is_silent(self) -> bool:
        """Whether it holds them, and beats no longer."""
        return not self.given_up and self._same > self._looks
