"""A picker verifies a gateway's callers as the router does that it is: nobody is sent to an instance unverified."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from tests.account.helpers.in_memory_iam import ACCOUNT
from tests.account.helpers.signed_requests import HOST, signed
from tests.endpoint.helpers.still_picker import PickerGround, picker
from tests.endpoint.routing.router.test_router_door import Control, a_users, roots
from tests.helpers.waiting import PATIENCE_S
from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.throttling import UNLIMITED
from torpor_account.access.verifying import AccessClocks, Verifier
from torpor_account.aws.wire.asgi import App
from torpor_account.gateway import Gateway
from torpor_endpoint.access.invocations import InvocationDoor
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.routing.router.reports.pending_accounts import DenialRows, PendingAccounts
from torpor_endpoint.routing.router.router_door import RouterDoor
from torpor_endpoint.services.service_register import ADDRESSES

PATH, ROW = "/endpoints/shop/invocations", b"1,2,3,4"


def door(callers: tuple[str, Identities]) -> Callable[[App], App]:
    """The router's own door before the router's application."""

    def guarded(app: App) -> App:
        identities = FollowedIdentities(Control(), *callers, ACCOUNT, time.time)
        clocks = AccessClocks(time.time, time.time)
        verifier = Verifier(identities.directory, clocks, ACCOUNT, "us-east-1", lambda arn: {})
        gateway = Gateway({"sagemaker-runtime": app}, app, ACCOUNT, ADDRESSES)
        denied = DenialNotes(DenialRows(PendingAccounts(), time.time).keep)
        inline = InvocationDoor(verifier, lambda scope: None)
        return RouterDoor(gateway, verifier, inline, UNLIMITED, identities, denied)

    return guarded


def told(story: Callable[[PickerGround], Awaitable[None]], callers: tuple[str, Identities]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(PATIENCE_S), picker(guarded=door(callers)) as made:
            await story(made)

    asyncio.run(whole())


def headers(body: bytes = ROW) -> dict[str, str]:
    """Those of a signed request, as a gateway tells them: the host is the authority."""
    named = {"X-Amzn-SageMaker-Target-Model": "a", "Content-Type": "text/csv"}
    found = {name.decode(): text.decode() for name, text in signed("sagemaker", "POST", PATH, named, body).headers}
    return {**{name: text for name, text in found.items() if name != "host"}, ":authority": HOST}


def test_a_signed_request_is_sent_to_an_instance_without_its_signature() -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(PATH, headers(), (ROW[:3], ROW[3:]))
        assert said.immediate is None
        assert said.destination == ground.owner("a")
        assert {"authorization", "x-amz-date"} <= set(said.removed)

    told(story, roots())


@pytest.mark.parametrize(
    ("given", "body"),
    [
        ({"x-amzn-sagemaker-target-model": "a", "content-type": "text/csv"}, ROW),
        (headers(), b"another body"),
        (headers() | {"x-amzn-sagemaker-target-model": "b"}, ROW),
        (headers() | {":authority": "another.example"}, ROW),
    ],
)
def test_what_is_not_signed_so_goes_to_no_instance(given: dict[str, str], body: bytes) -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(PATH, given, (body,))
        assert said.immediate is not None
        assert (said.immediate[0], said.destination) == (403, "")

    told(story, roots())


def test_a_user_without_the_right_goes_to_no_instance() -> None:
    async def story(ground: PickerGround) -> None:
        said = await ground.stream().asks(PATH, headers(), (ROW,))
        assert said.immediate is not None
        assert said.immediate[0] == 403
        assert b"sagemaker:InvokeEndpoint" in said.immediate[1]

    told(story, a_users())
