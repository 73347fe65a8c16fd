"""Has faults strike an endpoint in a test, and draws schedules of them."""

import random
import warnings
from collections.abc import Sequence

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, TorporError
from torpor.pages import faults
from torpor_endpoint.core.pages.strikes import Strike
from torpor_endpoint.core.testing.fault_schedule import KINDS, FaultKind, FaultSchedule, InjectedFault

ALL = tuple(FaultKind)
SECONDS = (0.05, 0.3)
"""The shortest and the longest seconds of a drawn fault."""


def drawn(
    seed: int,
    count: int = 5,
    *,
    kinds: Sequence[FaultKind] = ALL,
    models: Sequence[str] = ("",),
    within: int = 20,
) -> FaultSchedule:
    """A schedule of `count` faults of these kinds, for these models, that begin within so many occasions.

    The same arguments give the same schedule, on every machine. Print it to see it.
    """
    dice = random.Random(seed)
    return FaultSchedule(tuple(_drawn(dice, kinds, models, within) for _ in range(count)), drawn=True)


def _drawn(dice: random.Random, kinds: Sequence[FaultKind], models: Sequence[str], within: int) -> InjectedFault:
    kind, model, after = dice.choice(kinds), dice.choice(models), dice.randrange(within)
    seconds = round(dice.uniform(*SECONDS), 2)
    return InjectedFault(kind, model, after, dice.randint(1, 3), seconds if KINDS[kind].seconds is not None else None)


class NeverStruck(UserWarning):
    """A fault was injected, and no request of the test met it."""


class FaultInjection:
    """The faults of one endpoint process. Raises TorporError for one that was started without faults."""

    def __init__(self, connection: EndpointConnection) -> None:
        self._connection = connection
        try:
            faults.state(connection)
        except EndpointRefused as error:
            raise TorporError(f"{error}; in tests: torpor.testing.Start(faults=True)") from None
        self._schedule = FaultSchedule()
        self._missed: list[InjectedFault] = []

    def inject(self, schedule: FaultSchedule) -> None:
        """Have these faults strike from now on, in place of former ones."""
        self._missed = list(self.never_struck)
        faults.begin(self._connection, schedule)
        self._schedule = schedule

    def clear(self) -> None:
        """Have nothing strike from now on."""
        self.inject(FaultSchedule())

    @property
    def struck(self) -> tuple[Strike, ...]:
        """What has struck since the last `inject`, in its order."""
        return faults.state(self._connection).struck

    @property
    def left(self) -> FaultSchedule:
        """What has not struck yet, as a schedule of its own."""
        return faults.state(self._connection).left

    @property
    def never_struck(self) -> tuple[InjectedFault, ...]:
        """The faults that were injected here and have struck nothing, or had not when another schedule began.

        Of a `drawn` schedule it is enough that one has struck.
        """
        struck = {one.fault for one in self.struck} if len(self._schedule) else set()
        if struck and self._schedule.drawn:
            return tuple(self._missed)
        return (*self._missed, *(fault for fault in self._schedule if str(fault) not in struck))

    def warn(self) -> None:
        """Warn of faults that never struck: a test that passes without its fault proves nothing."""
        if missed := self.never_struck:
            lines = "; ".join(map(str, missed))
            warnings.warn(f"injected faults never struck: {lines}", NeverStruck, stacklevel=2)
