"""The pages that routers call at their control below `/_torpor/routers/`, and the page that shows what each routes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from torpor_account.aws.wire.asgi import App
from torpor_account.iam.execution.refused import RoleRefused
from torpor_container.http.sharing.shared_port import PortBoard
from torpor_container.transport.peers.peer_names import PeerRole
from torpor_container.typed_json import UnreadableRecord, read, written
from torpor_endpoint.core.pages import Json, PageName, RouterPage
from torpor_endpoint.core.routing.table_differences import Differences, TableVersion
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.ledger.row_collecting import Ledger
from torpor_endpoint.routing.control.account_taker import AccountTaker
from torpor_endpoint.routing.control.identity_publisher import IdentityPublisher
from torpor_endpoint.routing.control.publishing import TablePublisher
from torpor_endpoint.routing.control.router_board import HeardReport, RouterBoard
from torpor_endpoint.routing.protocol.facts import PROTOCOL, ControlFacts
from torpor_endpoint.routing.protocol.forwarded import ForwardedRequest, answered
from torpor_endpoint.routing.protocol.role_keys import RoleKeys
from torpor_endpoint.routing.protocol.router_report import ReportAnswer, RouterReport
from torpor_endpoint.routing.protocol.routing_table import TableRow, table_text

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers

WAIT_MAX_S = 60.0


@dataclass(frozen=True)
class PagesForRouters:
    """`ready` is set once the roster has every endpoint in service: an earlier table would take them from routers."""

    facts: ControlFacts
    ready: asyncio.Event
    roster: FleetRoster
    publisher: TablePublisher
    board: RouterBoard
    accounts: AccountTaker
    ledger: Ledger
    runtime: App
    identities: IdentityPublisher | None
    """None where nobody is verified."""
    role_keys: Callable[[str, str], RoleKeys] | None
    """Credentials of an endpoint's role. It raises RoleRefused; None where roles are names only."""
    port_board: PortBoard | None = None
    """None where no router answers at the control's port."""
    peers: "DeploymentPeers | None" = None
    """None where no TLS is spoken with instances."""

    def routes(self) -> list[Route]:
        pages: dict[RouterPage, tuple[str, Callable[[Request], object]]] = {
            RouterPage.HELLO: ("GET", self.hello),
            RouterPage.TABLE: ("POST", self.table),
            RouterPage.REPORT: ("POST", self.report),
            RouterPage.WAKE: ("POST", self.wake),
            RouterPage.LEAVE: ("POST", self.leave),
            RouterPage.FORWARD: ("POST", self.forward),
            RouterPage.IDENTITIES: ("POST", self.who_may_call),
            RouterPage.ROLE_KEYS: ("POST", self.keys_of_a_role),
            RouterPage.CERTIFICATE: ("POST", self.certificate),
        }
        shown = Route(f"/_torpor/{PageName.ROUTERS.value}", self.shown)
        return [
            shown,
            *(Route(f"/_torpor/{page.value}", answer, methods=[method]) for page, (method, answer) in pages.items()),
        ]

    async def shown(self, request: Request) -> Response:
        """The calls of each process, and the connections of each at the port that they share, the control's first."""
        board = self.port_board
        return JSONResponse(
            self.board.shares_of_calls() | {"connections": [] if board is None else board.connections()}
        )

    async def hello(self, request: Request) -> Response:
        """What a router must know before it begins."""
        return JSONResponse({"protocol": PROTOCOL, **written(self.facts)})

    async def table(self, request: Request) -> Response:
        """What the router lacks of the routing table, once that is another than the one that it has (`after`)."""
        asked = await _asked(request)
        try:
            after = None if asked["after"] is None else read(TableVersion, asked["after"])
            within_s = min(float(asked["within_s"]), WAIT_MAX_S)
        except (KeyError, TypeError, ValueError) as error:
            raise _unread(error) from error
        try:
            async with asyncio.timeout(within_s):
                await self.ready.wait()
        except TimeoutError:
            return _told(None)
        return _told(await self.publisher.after(after, within_s))

    async def report(self, request: Request) -> Response:
        """Take what a router uses, its traffic, and its rows: once the answer comes, these are written."""
        asked = await _asked(request)
        try:
            report, batch = RouterReport.read(asked), asked["accounts"]
        except (KeyError, TypeError, ValueError) as error:
            raise _unread(error) from error
        heard, ports = HeardReport({}, whole=False), report.ports
        if self.ready.is_set():
            heard, ports = self.board.heard(report), self.board.ports(report)
        self.ledger.met(report.router)
        if batch is not None:
            await self._take(report.router, batch)
        taken = self.ledger.written_batch(report.router)
        return JSONResponse(ReportAnswer(taken, len(self.board), ports, *heard).json())

    async def wake(self, request: Request) -> Response:
        """Have a variant want an instance."""
        asked = await _asked(request)
        pool = self._pool(str(asked.get("endpoint")), str(asked.get("variant")))
        if pool is not None:
            pool.wake()
        return JSONResponse({})

    async def leave(self, request: Request) -> Response:
        """A router stops."""
        self.board.left(str((await _asked(request)).get("router")))
        return JSONResponse({})

    async def forward(self, request: Request) -> Response:
        """Answer a request to the runtime that a router cannot answer: one that waits in the control's queue."""
        try:
            forwarded = read(ForwardedRequest, await _asked(request))
        except UnreadableRecord as error:
            raise _unread(error) from error
        if not forwarded.path.endswith("/async-invocations"):
            raise _unread("only InvokeEndpointAsync is forwarded")
        return JSONResponse(written(await answered(self.runtime, forwarded)))

    async def who_may_call(self, request: Request) -> Response:
        """The callers that the control knows, once they are others than those that the router has (`after`)."""
        if self.identities is None:
            raise HTTPException(404, "this endpoint verifies nobody")
        asked = await _asked(request)
        try:
            within_s = min(float(asked["within_s"]), WAIT_MAX_S)
            found = await self.identities.after(asked["after"], within_s)
        except (KeyError, TypeError, ValueError) as error:
            raise _unread(error) from error
        if found is None:
            return JSONResponse({"version": None})
        return JSONResponse({"version": found[0], "identities": written(found[1])})

    async def keys_of_a_role(self, request: Request) -> Response:
        """Credentials of the role of an endpoint's variant."""
        asked = await _asked(request)
        endpoint, role = (str(asked.get(name)) for name in ("endpoint", "role"))
        live = self.roster.get(endpoint)
        if self.role_keys is None or live is None or all(pool.variant.role != role for pool in live.every_pool):
            raise HTTPException(404, f"no variant of an endpoint {endpoint!r} acts as a role {role!r}")
        try:
            keys = await asyncio.to_thread(self.role_keys, endpoint, role)
        except RoleRefused as refused:
            raise HTTPException(403, str(refused)) from refused
        return JSONResponse(written(keys), headers={"cache-control": "no-store"})

    async def certificate(self, request: Request) -> Response:
        """A certificate of the deployment for the key that a router has made for itself."""
        if self.peers is None:
            raise HTTPException(404, "this deployment has no certificates of its own (--internal-tls)")
        asked = await _asked(request)
        router, key = str(asked.get("router")), str(asked.get("key"))
        from torpor_endpoint.peers.certificate_page import ROUTER_NAME  # what that needs is here by now

        if not ROUTER_NAME.fullmatch(router):
            raise _unread("router is no name of a router")
        if self.peers.name_of(PeerRole.ROUTER, router) in self.peers.records.refused:
            raise HTTPException(403, f"{router} is refused (torpor certificates)")
        try:
            found = self.peers.signed(PeerRole.ROUTER, router, key.encode())
        except ValueError as error:
            raise _unread(error) from error
        return JSONResponse(written(found), headers={"cache-control": "no-store"})

    async def _take(self, router: str, batch: Mapping[str, Any]) -> None:
        """Count the rows of a batch, and write them if that is possible: if not, the router keeps them too."""
        try:
            self.accounts.take(router, batch)
        except (KeyError, TypeError, ValueError) as error:
            raise _unread(error) from error
        await self.accounts.write_denied()
        await self.ledger.flush()

    def _pool(self, endpoint: str, variant: str) -> InstancePool | None:
        live = self.roster.get(endpoint)
        return None if live is None else live.by_key.get(variant)


def _told(differences: Differences[str, TableRow] | None) -> Response:
    text = "null" if differences is None else table_text(differences)
    return Response(f'{{"table":{text}}}', media_type="application/json")


async def _asked(request: Request) -> Json:
    """Raises HTTPException."""
    try:
        asked = await request.json()
    except ValueError as error:
        raise _unread(error) from error
    if not isinstance(asked, dict):
        raise _unread("it is no object")
    return asked


def _unread(why: object) -> HTTPException:
    remedy = "install the same release of Torpor on control and router"
    return HTTPException(400, f"this is no message of a router of this release: {why!r}; {remedy}")
