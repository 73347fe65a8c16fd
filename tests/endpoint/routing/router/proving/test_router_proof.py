"""How a router comes to its certificate, and renews it by its clock."""

import asyncio
import json
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tests.endpoint.helpers.peer_authorities import TestedPeers
from tests.endpoint.routing.control.test_pages_for_routers import Control
from torpor_account.core.outages.waiting import pause_s
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.peer_names import PeerRole
from torpor_container.typed_json import read
from torpor_endpoint.peers.authority_records import RENEWED_AFTER_S
from torpor_endpoint.peers.peer_authority import new_key
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient, ControlForbids, ControlRefused
from torpor_endpoint.routing.router.proving.router_proof import LOOK_S, REFUSED_S, RouterProof

NAME, OTHER = "r-0123456789abcdef", "r-fedcba9876543210"
UNKNOWN_CURVE = """-----BEGIN PUBLIC KEY-----
MFYwEAYHKoZIzj0CAQYFK4EEAGMDQgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==
-----END PUBLIC KEY-----
"""


class AnsweringControl(ControlClient):
    """The page of a control, without the wire."""

    def __init__(self, tested: TestedPeers | None) -> None:
        super().__init__("http://nowhere")
        self.asked = 0
        self._page = Control(None if tested is None else tested.peers).face.certificate

    async def certificate(self, router: str, public_key: bytes) -> PeerCredential:
        self.asked += 1
        return read(PeerCredential, await self.answered(router, public_key.decode()))

    async def answered(self, router: str, key: str) -> Any:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": json.dumps({"router": router, "key": key}).encode()}

        answer = await self._page(Request({"type": "http", "method": "POST", "headers": []}, receive))
        return json.loads(bytes(answer.body))


def test_a_router_has_its_own_key_certified_and_again_once_it_is_time() -> None:
    async def story() -> None:
        tested = TestedPeers()
        control = AnsweringControl(tested)
        proof = RouterProof(NAME, control, lambda: tested.now_s)
        assert await proof.look()
        first = control.peers.credential
        assert first.name == tested.peers.name_of(PeerRole.ROUTER, NAME)
        assert control.peers.client is not None  # key and certificate belong together
        assert not await proof.look()
        tested.now_s += RENEWED_AFTER_S
        assert await proof.look()
        assert (control.asked, control.peers.credential.ends_s) == (2, first.ends_s + RENEWED_AFTER_S)
        assert control.peers.credential.own != first.own

    asyncio.run(story())


def test_a_router_asks_again_where_the_control_has_another_authority_and_calls_it_by_what_comes() -> None:
    async def story() -> None:
        tested = TestedPeers()
        control = AnsweringControl(tested)
        proof = RouterProof(NAME, control, lambda: tested.now_s, secures=True)
        assert await proof.look()
        control.distrusted = True
        assert await proof.look()
        assert (control.asked, control.distrusted) == (2, False)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("tested", "router", "key", "why"),
    [
        (None, NAME, "", "no certificates of its own"),
        (TestedPeers(), "control.control", "", "no name of a router"),
        (TestedPeers(), NAME, "no key", "public key"),
        (TestedPeers(), NAME, UNKNOWN_CURVE, "unknown kind"),
    ],
)
def test_a_control_certifies_the_keys_of_routers_alone(
    tested: TestedPeers | None, router: str, key: str, why: str
) -> None:
    with pytest.raises(HTTPException) as refused:
        asyncio.run(AnsweringControl(tested).answered(router, key))
    assert why in refused.value.detail


def test_a_control_signs_nothing_more_for_a_refused_router() -> None:
    tested = TestedPeers()
    tested.peers.refuse(tested.peers.name_of(PeerRole.ROUTER, NAME))
    _, public = new_key()
    with pytest.raises(HTTPException, match="403"):
        asyncio.run(AnsweringControl(tested).answered(NAME, public.decode()))
    assert asyncio.run(AnsweringControl(tested).answered(OTHER, public.decode()))["name"].startswith(OTHER)


class Over(Exception):
    """The story has seen enough."""


def pauses_of(answers: list[ControlAway | None], control: AnsweringControl) -> list[float]:
    """How long a router waits after each of these answers, the last of which is got for ever."""

    class Answering(AnsweringControl):
        async def certificate(self, router: str, public_key: bytes) -> PeerCredential:
            answer = answers[min(len(pauses), len(answers) - 1)]
            if answer is not None:
                raise answer
            return await control.certificate(router, public_key)

    pauses = list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(answers):
            raise Over

    with pytest.raises(Over):
        asyncio.run(RouterProof(NAME, Answering(None), lambda: 0.0, pause).run())
    return pauses


def test_a_router_that_is_refused_says_so_once_and_seldom_asks_again(caplog: pytest.LogCaptureFixture) -> None:
    refused, other = ControlForbids("r-1 is refused"), ControlRefused("no certificates of its own")
    assert pauses_of([refused, refused, refused, other, other], AnsweringControl(None)) == [REFUSED_S] * 5
    assert [record.getMessage().rpartition(": ")[2] for record in caplog.records] == [str(refused), str(other)]


def test_a_router_whose_control_is_away_asks_again_soon_and_then_less_often() -> None:
    away = ControlAway("it does not answer")
    assert pauses_of([away] * 3, AnsweringControl(None)) == [pause_s(1), pause_s(2), pause_s(3)]
    assert pauses_of([away, away, None, away], AnsweringControl(TestedPeers()))[:3] == [pause_s(1), pause_s(2), LOOK_S]
