"""Moves an endpoint's clock forward, so that a test of twenty minutes without a call takes a moment."""

from datetime import UTC, datetime, timedelta
from typing import TypedDict, Unpack

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, TorporError
from torpor.pages import clock


class Units(TypedDict, total=False):
    """The parts of a span, as `datetime.timedelta` takes them."""

    days: float
    seconds: float
    milliseconds: float
    minutes: float
    hours: float
    weeks: float


class MovableClock:
    """The clock of one endpoint process. It goes on as real time does, and can be moved forward, never back.

    A move returns when everything that fell due on the way is done, in its order: variants sleep and wake, models leave
    memory and come back, alarms and scaling act, logs and rows of the ledger expire. Requests in flight go on in real
    time. Raises TorporError for an endpoint that was started without a travelling clock.
    """

    def __init__(self, connection: EndpointConnection) -> None:
        self._connection = connection
        try:
            clock.state(connection)
        except EndpointRefused as error:
            raise TorporError(f"{error}; in tests: torpor.testing.Start(travelling_clock=True)") from None

    @property
    def now(self) -> datetime:
        """What the clock shows, in UTC."""
        return _moment(clock.state(self._connection).now_s)

    def advance(self, by: timedelta | None = None, /, **units: Unpack[Units]) -> datetime:
        """Move the clock forward: `advance(minutes=20)`, or by a timedelta. Returns what it shows then."""
        if (by is None) == (not units):
            raise TypeError("say how far: advance(minutes=20), or advance(timedelta(minutes=20))")
        span = timedelta(**units) if by is None else by
        if span < timedelta(0):
            raise ValueError(f"the clock only goes forward, and not by {span}")
        return _moment(clock.advance(self._connection, span.total_seconds()).now_s)

    def set(self, moment: datetime) -> datetime:
        """Move the clock forward to this moment, which must have a time zone. Returns what it shows then."""
        if moment.tzinfo is None:
            raise ValueError(f"{moment} has no time zone: datetime(…, tzinfo=UTC)")
        if moment <= (now := self.now):
            raise ValueError(f"the clock shows {now} already: it only goes forward, and not to {moment}")
        return _moment(clock.move_to(self._connection, moment.timestamp()).now_s)


def _moment(epoch_s: float) -> datetime:
    return datetime.fromtimestamp(epoch_s, UTC)
