"""Reads and moves the clock of an endpoint that was started with a travelling one."""

import json
import time

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused
from torpor_container.typed_json import read
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.clock import ClockState

MOVED_WITHIN_S = 600.0
"""How long a move may take, in real seconds: all that falls due on the way is done before the endpoint answers."""


def state(connection: EndpointConnection) -> ClockState:
    """What the clock shows. Raises EndpointRefused for an endpoint whose clock is the real one."""
    return read(ClockState, connection.json_page(PageName.CLOCK))


def now_s(connection: EndpointConnection) -> float:
    """The endpoint's time in epoch seconds: that of its travelling clock, or the real one."""
    try:
        return state(connection).now_s
    except EndpointRefused:
        return time.time()


def advance(connection: EndpointConnection, by_s: float) -> ClockState:
    """Move the clock forward by so many seconds. Raises EndpointRefused."""
    return _moved(connection, {"advance_s": repr(by_s)})


def move_to(connection: EndpointConnection, to_s: float) -> ClockState:
    """Move the clock forward to this time, in epoch seconds. Raises EndpointRefused."""
    return _moved(connection, {"to_s": repr(to_s)})


def _moved(connection: EndpointConnection, query: dict[str, str]) -> ClockState:
    return read(ClockState, json.loads(connection.page(PageName.CLOCK, query, MOVED_WITHIN_S, "POST")))
