"""Holds the schedule of faults, counts its occasions, and notes what has struck. For the event loop's thread."""

from collections.abc import Callable, Collection

from torpor_endpoint.core.pages import Json
from torpor_endpoint.core.pages.strikes import Strike, faults_page
from torpor_endpoint.core.testing.fault_schedule import FaultCounts, FaultKind, FaultSchedule, InjectedFault, Occasion

STRUCK_MAX = 10_000
"""The most strikes that are noted."""


class FaultInjector:
    """`epoch` gives the endpoint's time. Without a schedule nothing strikes."""

    def __init__(self, epoch: Callable[[], float]) -> None:
        self._epoch = epoch
        self._counts, self._began_s = FaultCounts(), epoch()
        self._struck: list[Strike] = []

    def begin(self, schedule: FaultSchedule) -> None:
        """Have these faults strike from now on, and forget the former ones."""
        self._counts, self._began_s = FaultCounts(schedule), self._epoch()
        self._struck.clear()

    def on(self, occasion: Occasion, name: str) -> list[InjectedFault]:
        """Count an occasion; the faults that strike it."""
        return self._counts.struck(occasion, name, self._epoch() - self._began_s)

    def spoils_next_read(self, name: str) -> bool:
        """Whether the next read of the object will get other bytes."""
        return any(
            fault.kind is FaultKind.CORRUPT_ARTIFACT
            for fault in self._counts.next_read(name, self._epoch() - self._began_s)
        )

    def note(self, fault: InjectedFault, on: str) -> None:
        """Note that a fault has struck."""
        if len(self._struck) < STRUCK_MAX:
            self._struck.append(Strike(str(fault), on, self._epoch()))

    def page(self) -> Json:
        return faults_page(self._struck, self._counts.left(self._epoch() - self._began_s))


def of_kinds(faults: Collection[InjectedFault], *kinds: FaultKind) -> list[InjectedFault]:
    return [fault for fault in faults if fault.kind in kinds]
