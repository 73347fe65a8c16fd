"""Answers the page of the travelling clock: shows it, and moves it forward."""

from collections.abc import Awaitable, Callable
from math import isfinite

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from torpor_endpoint.clocks.travelling import ClockGoesForward, NotDone, TravellingClock
from torpor_endpoint.core.pages.clock import clock_page

ADVANCE, TO = "advance_s", "to_s"
HOW = f"say how far, or to what time: ?{ADVANCE}=1200 or ?{TO}=1767250800, in seconds"
FAR_S = 366 * 86_400.0
"""The longest way of one move."""

Travel = Callable[[float], Awaitable[int]]
"""Moves the clock to a time in epoch seconds, and returns the number of stops."""


class ClockPage:
    """The page of one clock."""

    def __init__(self, clock: TravellingClock, travel: Travel) -> None:
        self._clock = clock
        self._travel = travel

    async def show(self) -> Response:
        return JSONResponse(clock_page(self._clock.epoch(), self._clock.ahead_s))

    async def move(self, request: Request) -> Response:
        """Move the clock forward, and answer when all that fell due is done. Raises HTTPException."""
        try:
            stops = await self._travel(self._target_s(request))
        except ClockGoesForward as error:
            raise HTTPException(400, str(error)) from None
        except NotDone as error:
            raise HTTPException(503, str(error)) from None
        return JSONResponse(clock_page(self._clock.epoch(), self._clock.ahead_s, stops))

    def _target_s(self, request: Request) -> float:
        """In epoch seconds. Raises HTTPException 400."""
        given = [name for name in (ADVANCE, TO) if name in request.query_params]
        if len(given) != 1:
            raise HTTPException(400, HOW)
        [name] = given
        now_s, text = self._clock.epoch(), request.query_params[name]
        try:
            seconds = float(text)
        except ValueError:
            raise HTTPException(400, f"{name}={text!r} is no number of seconds") from None
        target_s = now_s + seconds if name == ADVANCE else seconds
        if not isfinite(seconds) or target_s - now_s > FAR_S:
            raise HTTPException(400, f"{name}={text!r} is further than a year: move it in several steps")
        return target_s
