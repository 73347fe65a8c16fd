"""What an endpoint under test may do to an instance: move its clock, and have its next loads find no memory.

An instance of any other endpoint has no such routes.
"""

import json
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_container import wire
from torpor_container.errors import BadInput
from torpor_container.frozen_class import frozen
from torpor_container.measuring.calendar import Calendar
from torpor_container.models.faulty_loader import FaultyLoader
from torpor_container.modes.kept_mode import KeptMode, Serving
from torpor_container.typed_json import read


@frozen
class ControlMeans:
    """`calendar` is a clock that may be moved, and `loader` one whose loads may fail; None where there is none."""

    calendar: Calendar | None = None
    loader: FaultyLoader | None = None

    def routes(self, serving: Serving) -> list[Route]:
        table = []
        if self.calendar is not None:
            table.append(Route(wire.CLOCK, partial(move_clock, self.calendar, serving), methods=["POST"]))
        if self.loader is not None:
            table.append(Route(wire.OUT_OF_MEMORY, partial(fail_loads, self.loader), methods=["POST"]))
        return table


NO_MEANS = ControlMeans()


async def move_clock(calendar: Calendar, serving: Serving, request: Request) -> Response:
    """Raises BadInput."""
    try:
        ahead_s = read(wire.AheadOfTime, json.loads(await request.body()))["ahead_s"]
    except (ValueError, RecursionError):
        raise BadInput('the body must be {"ahead_s": seconds}') from None
    calendar.move(ahead_s)
    due_s = await serving.arrive() if isinstance(serving, KeptMode) else None
    moved: wire.MovedClock = {"due_s": due_s}
    return JSONResponse(moved)


async def fail_loads(loader: FaultyLoader, request: Request) -> Response:
    """Raises BadInput."""
    try:
        loader.fail_next(read(wire.FailingLoads, json.loads(await request.body()))["model"])
    except (ValueError, RecursionError):
        raise BadInput('the body must be {"model": "…"}') from None
    return JSONResponse({})
