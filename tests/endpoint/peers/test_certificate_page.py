"""The page of a deployment's certificates: what it shows, and what it changes at once."""

import asyncio
import json
from urllib.parse import urlencode

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from tests.endpoint.helpers.peer_authorities import TestedPeers
from torpor.cli.commands.reports.certificates import lines
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.typed_json import read
from torpor_endpoint.core.pages.deployment.peer_certificates import PeerCertificates
from torpor_endpoint.peers.authority_records import CREDENTIAL_S
from torpor_endpoint.peers.certificate_page import CertificatePage
from torpor_endpoint.peers.handing_rounds import HandingRounds

ROUTER = "r-0123456789abcdef"
NAME = f"{ROUTER}.router.0a1b2c3d.torpor.internal"


class ShownPage:
    """The page of a deployment with two instances, of which the second takes nothing."""

    def __init__(self) -> None:
        self.tested = TestedPeers(now_s=1_800_000_000.0)
        peers = self.tested.peers
        self.given: list[PeerCredential] = []
        rounds = HandingRounds(
            peers, lambda: [peers.address("h", at, b"", f"i-{at}") for at in (1, 2)], hand=self._hand
        )
        self._page = CertificatePage(peers, rounds)

    async def _hand(self, address: GuardedAddress, credential: PeerCredential) -> None:
        await asyncio.sleep(0)
        if address.port == 2:
            raise TimeoutError
        self.given.append(credential)

    def asked(self, method: str, **query: str) -> PeerCertificates:
        """Raises HTTPException."""
        request = Request({"type": "http", "method": method, "headers": [], "query_string": urlencode(query).encode()})
        return read(PeerCertificates, json.loads(bytes(asyncio.run(self._page.answer(request)).body)))


def test_a_refused_router_is_told_of_to_every_instance_and_kept() -> None:
    page = ShownPage()
    shown = page.asked("POST", refuse=ROUTER)
    assert dict(shown.refused) == {NAME: page.tested.now_s + CREDENTIAL_S}
    assert (shown.untaken, [set(one.refused) for one in page.given]) == (1, [{NAME}])
    assert set(page.tested.keeping.kept.refused) == {NAME}
    assert lines(shown)[-2:] == [
        f"{NAME} is refused, and its certificate ends 2027-01-18 08:00 UTC",
        "not heard of yet by 1 instance: asked again within eight hours",
    ]


def test_a_new_authority_is_trusted_and_does_not_sign_yet() -> None:
    page = ShownPage()
    shown = page.asked("POST", authority="new")
    assert [one.signs for one in shown.authorities] == [True, False]
    assert page.given[0].trusted.count("BEGIN CERTIFICATE") == 2
    assert page.asked("GET").authorities == shown.authorities


@pytest.mark.parametrize(
    "query", [{}, {"refuse": "control"}, {"refuse": ""}, {"authority": "old"}, {"refuse": ROUTER, "authority": "new"}]
)
def test_anything_else_changes_nothing(query: dict[str, str]) -> None:
    page = ShownPage()
    kept = page.tested.keeping.kept
    with pytest.raises(HTTPException, match="400"):
        page.asked("POST", **query)
    assert (page.tested.keeping.kept, page.given) == (kept, [])
