"""The page `/_torpor/certificates`: the deployment's authority, and the commands that change whom everybody accepts."""

import asyncio
import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_container.transport.peers.peer_names import PeerRole
from torpor_container.typed_json import written
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.deployment.peer_certificates import PeerCertificates, ShownAuthority
from torpor_endpoint.peers.deployment_peers import DeploymentPeers
from torpor_endpoint.peers.handing_rounds import HandingRounds

ROUTER_NAME = re.compile("r-[0-9a-f]{16}")
"""What routers call themselves (`GET /_torpor/router`)."""


class CertificatePage:
    """GET shows; POST changes, and tells every instance at once."""

    def __init__(self, peers: DeploymentPeers, rounds: HandingRounds) -> None:
        self._peers = peers
        self._rounds = rounds

    def route(self) -> Route:
        return Route(f"/_torpor/{PageName.CERTIFICATES.value}", self.answer, methods=["GET", "POST"])

    async def answer(self, request: Request) -> Response:
        """What is so now, after the change that a POST asks for: `refuse`, a router's name, or `authority=new`."""
        untaken = 0
        if request.method == "POST":
            await self._change(request)
            untaken = await self._rounds.round()
        return JSONResponse(written(self._shown(untaken)))

    async def _change(self, request: Request) -> None:
        asked = dict(request.query_params)
        if set(asked) == {"refuse"}:
            refused = asked["refuse"]
            if not ROUTER_NAME.fullmatch(refused):
                raise HTTPException(400, f"refuse: {refused!r} is no name of a router, such as r-0123456789abcdef")
            await asyncio.to_thread(self._peers.refuse, self._peers.name_of(PeerRole.ROUTER, refused))
        elif asked == {"authority": "new"}:
            await asyncio.to_thread(self._peers.roll_over)
        else:
            raise HTTPException(400, "say what is to change: refuse=ROUTER, or authority=new")

    def _shown(self, untaken: int) -> PeerCertificates:
        records, now_s = self._peers.records, self._peers.now_s
        signing = records.signing(now_s)
        authorities = tuple(ShownAuthority(one.since_s, one is signing) for one in records.authorities)
        return PeerCertificates(authorities, records.refused, self._peers.tls.credential.ends_s, untaken)
