"""A service that is made at its first call."""

import asyncio
from typing import Any

import pytest

from tests.account.aws.helpers.asgi_calls import call
from torpor_account.aws.errors import DATABASE_AWAY
from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import App, Receive, Scope, Send
from torpor_account.storage.databases.database import DatabaseFault


async def nothing(*_: Any) -> Any:
    raise AssertionError("nobody listens")


def test_an_app_is_made_once_for_any_number_of_calls_at_once() -> None:
    made: list[App] = []
    called: list[Scope] = []

    def make() -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            called.append(scope)

        made.append(app)
        return app

    async def calls() -> None:
        late = LazyApp(make)
        assert not made
        await asyncio.gather(*(late({"number": number}, nothing, nothing) for number in range(8)))

    asyncio.run(calls())
    assert (len(made), len(called)) == (1, 8)


def test_a_service_that_lacks_its_database_is_made_for_a_later_caller() -> None:
    answers: list[DatabaseFault | App] = [DatabaseFault("away"), nothing]

    def make() -> App:
        answer = answers.pop(0)
        if isinstance(answer, DatabaseFault):
            raise answer
        return answer

    late = LazyApp(make)
    refused = call(late, headers={"content-type": "application/x-amz-json-1.1"}, body=b"{}")
    assert refused is not None
    assert (refused.status, DATABASE_AWAY in refused.body.decode()) == (500, True)
    with pytest.raises(AssertionError, match="nobody listens"):
        asyncio.run(late({}, nothing, nothing))


def test_an_app_that_could_not_be_made_is_made_again_for_the_next_caller() -> None:
    answers: list[OSError | App] = [OSError("no more memory"), nothing]

    def make() -> App:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    async def calls() -> None:
        late = LazyApp(make)
        with pytest.raises(OSError, match="no more memory"):
            await late({}, nothing, nothing)
        with pytest.raises(AssertionError, match="nobody listens"):
            await late({}, nothing, nothing)

    asyncio.run(calls())
