"""A router's door lets in who may call, as long as the control lets the router know who that is."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT, database, iam_over
from tests.account.helpers.signed_requests import KEY, SECRET, signed
from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.throttling import UNLIMITED
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.aws.wire.asgi import Message, Receive, Response, Scope, Send, sent
from torpor_account.gateway import Gateway
from torpor_account.iam.identities.ids import KeyPair
from torpor_endpoint.access.invocations import InvocationDoor
from torpor_endpoint.routing.control.identity_publisher import IdentityPublisher
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient, ControlForbids
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.routing.router.reports.pending_accounts import DenialRows, PendingAccounts
from torpor_endpoint.routing.router.router_door import RouterDoor
from torpor_endpoint.services.service_register import ADDRESSES

Answer = tuple[str, Identities] | None
PATH = "/endpoints/e/invocations"
PAGE = "/_torpor/router"


class Control(ControlClient):
    """Answers each question for the identities by the next of `answers`, and then no more."""

    def __init__(self) -> None:
        self.answers: list[Callable[[], Awaitable[Answer]]] = []

    async def identities(self, after: str | None, within_s: float) -> Answer:
        if not self.answers:
            await asyncio.Event().wait()
        return await self.answers.pop(0)()


async def unchanged() -> Answer:
    return None


async def away() -> Answer:
    raise ControlAway("the control does not answer")


async def forbidden() -> Answer:
    raise ControlForbids("the control refuses: the key may not route")


def roots() -> tuple[str, Identities]:
    """The root calls with KEY."""
    with database() as found:
        return IdentityPublisher(found, KeyPair(KEY, SECRET)).identities()


def a_users() -> tuple[str, Identities]:
    """A user without a right calls with KEY."""
    with database() as found:
        iam = iam_over(found)
        iam.create_user(UserName="ann")
        made = iam.create_access_key(UserName="ann")["AccessKey"]
        version, told = IdentityPublisher(found, KeyPair("AKIAROOT", "root")).identities()
    keys = told.tables["access_keys"]

    def as_key(text: str) -> str:
        return text.replace(made["AccessKeyId"], KEY).replace(made["SecretAccessKey"], SECRET)

    own = tuple((as_key(name), as_key(parent), as_key(record)) for name, parent, record in keys)
    return version, replace(told, tables={**told.tables, "access_keys": own})


class Scene:
    """A router's door before a runtime that answers 200."""

    def __init__(self, callers: tuple[str, Identities] | None = None) -> None:
        self.control = Control()
        self.identities = FollowedIdentities(self.control, *(callers or roots()), ACCOUNT, time.time)
        clocks = AccessClocks(time.time, time.time)
        verifier = Verifier(self.identities.directory, clocks, ACCOUNT, "us-east-1", lambda arn: {})
        inline = InvocationDoor(verifier, lambda scope: lambda scope, body, tell: True)
        gateway = Gateway({"sagemaker-runtime": answering}, answering, ACCOUNT, ADDRESSES)
        self.accounts = PendingAccounts()
        denied = DenialNotes(DenialRows(self.accounts, lambda: 7.0).keep)
        self.door = RouterDoor(gateway, verifier, inline, UNLIMITED, self.identities, denied)

    async def asks(self, *answers: Callable[[], Awaitable[Answer]]) -> None:
        """Follow until the control has given these answers."""
        self.control.answers = list(answers)
        following = asyncio.create_task(self.identities.run())
        while self.control.answers:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    async def call(self, path: str, service: str, target: str | None = None) -> tuple[int, bytes]:
        messages: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            messages.append(message)

        await self.door(scope_of(path, service, target), receive, send)
        return messages[0]["status"], messages[1]["body"]

    def takes_inline(self) -> bool:
        scope = scope_of(PATH, "sagemaker")
        take = self.door.inline(scope)
        return take is not None and take(scope, b"", lambda *_: None)


def scope_of(path: str, service: str, target: str | None = None) -> Scope:
    """A signed request. `target` is what its first line has in place of the path."""
    request = signed(service, "GET" if service == "torpor" else "POST", path)
    given = (target or path).encode()
    parts: Scope = {"type": "http", "method": request.method, "headers": list(request.headers), "query_string": b""}
    return {**parts, "path": given.decode(), "raw_path": given}


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    await sent(Response(200, scope["path"].encode()), send)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_request_in_absolute_form_is_answered(scene: Scene) -> None:
    async def story() -> None:
        assert await scene.call(PATH, "sagemaker", f"http://127.0.0.1:4700{PATH}") == (200, PATH.encode())
        assert await scene.call(PAGE, "torpor", f"http://127.0.0.1:4700{PAGE}") == (200, PAGE.encode())

    asyncio.run(story())


def test_who_signs_for_another_name_does_not_reach_the_runtime(scene: Scene) -> None:
    async def story() -> None:
        for path in (PATH, "/", "/x"):
            status, body = await scene.call(path, "sagemaker-runtime")
            assert (status, b"serves nothing that is signed for as sagemaker-runtime" in body) == (400, True)

    asyncio.run(story())


def test_who_has_no_right_is_refused_in_the_form_of_what_it_called_and_noted(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(a_users())

    async def story() -> None:
        status, body = await scene.call(PATH, "sagemaker")
        assert (status, json.loads(body).keys()) == (403, {"message"})
        status, body = await scene.call(PAGE, "torpor")
        assert (status, body[:5]) == (403, b"User:")
        assert not scene.takes_inline()

    with caplog.at_level("INFO", "torpor_endpoint.audit"):
        asyncio.run(story())
    noted = [record.getMessage() for record in caplog.records]
    assert [text.split(" is not authorized to perform: ")[1].split()[0] for text in noted] == [
        "sagemaker:InvokeEndpoint",
        "torpor:ReadPages",
    ]
    batch = scene.accounts.batch()
    assert batch is not None
    assert [(kind, row["action"], row["at_s"]) for kind, row in batch.rows] == [
        ("denied", "sagemaker:InvokeEndpoint", 7.0),
        ("denied", "torpor:ReadPages", 7.0),
    ]


def test_a_router_that_may_not_follow_admits_nobody_until_it_may_again(scene: Scene) -> None:
    async def story() -> None:
        await scene.asks(unchanged, forbidden)
        for path, service in ((PATH, "sagemaker"), (PAGE, "torpor")):
            status, body = await scene.call(path, service)
            assert (status, b"This router admits nobody" in body) == (503, True)
        assert not scene.takes_inline()
        assert (await scene.call("/_torpor/health", "torpor"))[0] == 200
        await scene.asks(away)
        assert (await scene.call(PATH, "sagemaker"))[0] == 503
        await scene.asks(unchanged)
        assert (await scene.call(PATH, "sagemaker"))[0] == (await scene.call(PAGE, "torpor"))[0] == 200
        assert scene.takes_inline()

    asyncio.run(story())


def test_a_control_that_is_away_keeps_nobody_out(scene: Scene) -> None:
    async def story() -> None:
        await scene.asks(away)
        assert (await scene.call(PATH, "sagemaker"))[0] == 200
        assert scene.takes_inline()

    asyncio.run(story())


def test_an_answer_from_before_the_refusal_lets_nobody_in_again(scene: Scene) -> None:
    """Two questions are on their way at once: a long one, and one for a key that is not known."""

    async def story() -> None:
        late = asyncio.Event()

        async def allowed_before() -> Any:
            await late.wait()

        scene.control.answers = [allowed_before, forbidden]
        following = asyncio.create_task(scene.identities.run())
        await asyncio.sleep(0)
        await scene.identities.look_again()
        late.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert scene.identities.forbidden
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    asyncio.run(story())
