"""The life of an application: its start, its end, and its failures at either."""

import asyncio
import logging

import pytest
from starlette.types import Receive, Scope, Send

from torpor_container.http.asgi_lifespan import ApplicationLife, ApplicationNotStarted

LOG = logging.getLogger("test_asgi_lifespan")


async def _starts(scope: Scope, receive: Receive, send: Send) -> None:
    for moment in ("startup", "shutdown"):
        assert (await receive())["type"] == f"lifespan.{moment}"
        scope["state"][moment] = True
        await send({"type": f"lifespan.{moment}.complete"})


async def _says_no(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no port"})


async def _raises(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("no port")


async def _returns(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()


async def _ends_badly(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    raise RuntimeError("a file is still open")


def test_an_application_starts_keeps_its_state_and_ends() -> None:
    async def story() -> None:
        state: dict[str, bool] = {}
        life = ApplicationLife(_starts, state, LOG)
        await life.start()
        assert state == {"startup": True}
        await life.end()
        assert state == {"startup": True, "shutdown": True}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("app", "why"), [(_says_no, "no port"), (_raises, "no port"), (_returns, "it returned too early")]
)
def test_an_application_that_cannot_start_says_why(app: object, why: str) -> None:
    async def story() -> None:
        with pytest.raises(ApplicationNotStarted, match=why):
            await ApplicationLife(app, {}, LOG).start()  # type: ignore[arg-type]

    asyncio.run(story())


def test_an_application_that_fails_to_end_is_logged_and_ends_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        life = ApplicationLife(_ends_badly, {}, LOG)
        await life.start()
        await life.end()

    asyncio.run(story())
    assert "a file is still open" in caplog.text
