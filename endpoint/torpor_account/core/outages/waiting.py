"""How work waits for the machine: a pause before each further try, and one outage for all who meet it. Pure."""

from dataclasses import dataclass

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0


def pause_s(failures: int) -> float:
    """The pause after so many failures in a row: twice as long each time, up to `LONGEST_PAUSE_S`."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(failures - 1, 30))


@dataclass
class Outage:
    """A failure of the machine that some work meets. While it lasts, one piece of work at a time tries.

    Times are of a clock that only goes forward.
    """

    failures: int = 0
    next_try_s: float = 0.0

    @property
    def lasts(self) -> bool:
        return self.failures > 0

    def failed(self, now_s: float) -> bool:
        """Some work failed: whether the outage begins with that. Work that began before the outage makes no pause
        longer."""
        began = not self.lasts
        if began or now_s >= self.next_try_s:
            self.failures += 1
            self.next_try_s = now_s + pause_s(self.failures)
        return began

    def worked(self) -> bool:
        """Some work succeeded: whether an outage ends with that."""
        ended, self.failures, self.next_try_s = self.lasts, 0, 0.0
        return ended
