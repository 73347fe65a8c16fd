"""What an endpoint under test may do to an instance: its routes are there only with the means for it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.types import Message

from torpor_container import wire
from torpor_container.contract.contract_routes import Routes
from torpor_container.contract.control_means import ControlMeans
from torpor_container.errors import LoadOutOfMemory
from torpor_container.measuring.calendar import Calendar
from torpor_container.models.faulty_loader import FaultyLoader
from torpor_container.models.loader import Found, Loaded, Placed
from torpor_container.modes.model_reports import StateRequest


class NoServing:
    """Serves nothing: the routes of the clock ask for no model."""


async def no_state(asked: StateRequest) -> wire.InstanceStatus:
    raise NotImplementedError


async def no_change(budget_bytes: int) -> wire.MemoryChanged:
    raise NotImplementedError


def posted(calendar: Calendar | None, body: bytes) -> tuple[int, Any]:
    """The status and the JSON of a POST to the clock's path."""
    means = ControlMeans(calendar)
    routes = Routes(NoServing(), no_state, no_change, lambda: 0.0, means=means)  # type: ignore[arg-type]
    app = routes.app("", lambda app: None)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": wire.CLOCK, "headers": [], "query_string": b""}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def test_it_moves_the_calendar_and_tells_that_nothing_is_due() -> None:
    calendar = Calendar(lambda: 10.0, 0.0)
    status, body = posted(calendar, b'{"ahead_s": 1200.0}')
    assert (status, json.loads(body)) == (200, {"due_s": None})
    assert calendar() == 1210.0


def test_a_body_without_a_number_is_refused() -> None:
    for body in (b"", b"{}", b'{"ahead_s": "soon"}', b"[]"):
        status, said = posted(Calendar(lambda: 10.0, 0.0), body)
        assert status == 400
        assert b"the body must be" in said


def test_a_real_clock_has_no_such_route() -> None:
    status, _ = posted(None, b'{"ahead_s": 1200.0}')
    assert status == 404


def test_the_next_load_of_a_model_finds_no_memory() -> None:
    loader = FaultyLoader(OneModel())  # type: ignore[arg-type]  # only its loads are asked for

    async def loads() -> list[str]:
        outcomes = []
        for name in ("a", "b", "b"):
            found = await loader.recognise(Placed(name, "1", Path()))
            try:
                outcomes.append((await found.load()).note)
            except LoadOutOfMemory as error:
                outcomes.append(str(error))
        return outcomes

    loader.fail_next("b")
    assert asyncio.run(loads()) == ["fine", "b: a fault of the schedule leaves no memory for it", "fine"]


class OneModel:
    """A loader whose loads succeed."""

    async def recognise(self, placed: Placed) -> Found:
        async def load() -> Loaded:
            return Loaded(None, 1, note="fine")  # type: ignore[arg-type]  # nothing is called

        return Found(1, load)
