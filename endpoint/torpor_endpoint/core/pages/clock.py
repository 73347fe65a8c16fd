"""The page of the travelling clock: what it shows, and how many stops its last journey had."""

from dataclasses import dataclass

from torpor_endpoint.core.pages import Json


@dataclass(frozen=True)
class ClockState:
    """A clock that travels."""

    now_s: float
    """What it shows, in epoch seconds."""
    ahead_s: float
    """How far it is ahead of real time."""
    stops: int = 0
    """How often it stood still on its last way, because something was due."""


def clock_page(now_s: float, ahead_s: float, stops: int = 0) -> Json:
    return {"now_s": now_s, "ahead_s": ahead_s, "stops": stops}
