"""A router's calls to the control: the table, reports and wakes. Each is signed, where the control verifies callers."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import urllib3

from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.peer_names import PeerRole, peer_name
from torpor_container.transport.peers.peer_tls import PeerTls
from torpor_container.typed_json import read, written
from torpor_endpoint.core.pages import RouterPage
from torpor_endpoint.core.routing.table_differences import TableVersion
from torpor_endpoint.routing.protocol.account_rows import AccountBatch
from torpor_endpoint.routing.protocol.facts import PROTOCOL, ControlFacts
from torpor_endpoint.routing.protocol.forwarded import ForwardedAnswer, ForwardedRequest
from torpor_endpoint.routing.protocol.identities import Identities
from torpor_endpoint.routing.protocol.role_keys import RoleKeys
from torpor_endpoint.routing.protocol.router_report import ReportAnswer, RouterReport
from torpor_endpoint.routing.protocol.router_variables import CONTROL_KEY, CONTROL_SECRET
from torpor_endpoint.routing.protocol.routing_table import RoutingTable

CONNECTED_WITHIN_S = 2.0
ANSWERED_WITHIN_S = 10.0
FOLLOWED_WITHIN_S = 4.0
"""The same for what is asked anew at once, table and wake: a control that is frozen answers neither, and another one
takes its place."""
BEGUN_WITHIN_S = 5.0
"""A call that gets no thread for so long is not made."""
FORWARDED_MAX = 128
"""The most requests that are handed on at a time, those that wait for a thread among them."""
THREADS: Sequence[tuple[int, Sequence[RouterPage]]] = (
    (1, (RouterPage.HELLO, RouterPage.CERTIFICATE, RouterPage.TABLE)),
    (2, (RouterPage.IDENTITIES,)),  # one follows, and one asks for a key that is not known
    (1, (RouterPage.REPORT, RouterPage.LEAVE)),  # in their order: a report after `leave` would bring the router back
    (2, (RouterPage.WAKE,)),
    (8, (RouterPage.FORWARD,)),
)
"""Each row: so many threads, and the pages that they call. No call waits behind one of another row."""
CONNECTIONS_MAX = sum(count for count, _ in THREADS)
NOT_TRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's name of it, which is in the message of the error."""
UNTRUSTED = "the certificate of the control at {url} is not trusted: name what vouches for it with --control-ca"
NOT_THIS = "what answers at {url} has no certificate of the control that this router knows"
NOT_TLS = ("WRONG_VERSION_NUMBER", "record layer failure")
"""OpenSSL's names of an answer that is not TLS, of its releases."""
HTTP_ONLY = "the control at {url} does not speak HTTPS: give its http:// URL"
NO_CONTROL = "{url} is no control ({said}), but perhaps a router: give the URL of `torpor up` or `torpor control`"
KEY = (
    f"The key of a router is that of {CONTROL_KEY} and {CONTROL_SECRET}, or of AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY; it needs the right torpor:Route"
)
Sign = Callable[[str, str, bytes], Mapping[str, str]]
"""Gets a method, a URL and a body, and returns the headers that sign them."""

Connect = Callable[[], socket.socket]
BESIDE = "http://localhost"
"""The control, where connections to it need no address."""

T = TypeVar("T")


class ControlAway(Exception):
    """The control does not answer, or not as this release does. The message says why."""


class ControlRefused(ControlAway):
    """The control refuses this router, and will do so again. The message says what to do."""


class ControlForbids(ControlRefused):
    """The control does not let this router's key ask for that: it is unknown, or lacks the right."""


class ControlWay(NamedTuple):
    """How the control is called: at which URL, and by which connections."""

    url: str
    pool: urllib3.PoolManager


class ControlClient:
    """`url` is the control's; `trusted` a file of certificates, if they are not those of the system; `clock` gives
    seconds that only go forward. `connect` makes a connection to a control that needs no address."""

    def __init__(
        self,
        url: str,
        sign: Sign | None = None,
        trusted: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        connect: Connect | None = None,
    ) -> None:
        self.url, self.trusted = url.rstrip("/"), trusted
        self.distrusted = False
        """Whether the control that was called by TLS has shown a certificate of another authority."""
        self.peers = PeerTls()
        """What this router proves itself with to instances. It is empty until `certificate` was asked for."""
        self._sign = sign
        self._clock = clock
        pool = urllib3.PoolManager(maxsize=CONNECTIONS_MAX, retries=False, ca_certs=trusted)
        if connect is not None:
            pool.pool_classes_by_scheme = {"http": _pool_of(connect)}
        self._plain = ControlWay(self.url if connect is None else BESIDE, pool)
        self._secured: ControlWay | None = None
        self._threads: dict[RouterPage, ThreadPoolExecutor] = {}
        for count, pages in THREADS:
            self._threads |= dict.fromkeys(pages, ThreadPoolExecutor(count, f"control {pages[0].value}"))
        self._forwarded = 0  # requests that are handed on now

    async def facts(self) -> ControlFacts:
        """Raises ControlAway, ControlRefused."""

        def made(said: Mapping[str, Any]) -> ControlFacts:
            if said["protocol"] != PROTOCOL:
                text = f"speaks version {said['protocol']} of the routers' protocol, and this router version {PROTOCOL}"
                raise ControlRefused(f"the control at {self.url} {text}: install the same release of Torpor on both")
            return read(ControlFacts, said)

        return await self._called("GET", RouterPage.HELLO, {}, made)

    async def table(self, after: TableVersion | None, within_s: float) -> RoutingTable | None:
        """What differs in the routing table from `after`, once something does; None if nothing does for so long.
        Raises ControlAway."""
        asked: dict[str, Any] = {"after": None if after is None else list(after), "within_s": within_s}

        def made(said: Mapping[str, Any]) -> RoutingTable | None:
            return None if said["table"] is None else RoutingTable.read(said["table"], self.peers)

        return await self._called("POST", RouterPage.TABLE, asked, made, within_s)

    async def report(self, report: RouterReport, batch: AccountBatch | None) -> ReportAnswer:
        """Report, and send the batch. Raises ControlAway."""
        accounts = None if batch is None else batch.json()
        asked = {**report.json(), "accounts": accounts}
        return await self._called("POST", RouterPage.REPORT, asked, ReportAnswer.read)

    async def wake(self, endpoint: str, variant: str) -> None:
        """Have the variant want an instance. Raises ControlAway."""
        await self._called("POST", RouterPage.WAKE, {"endpoint": endpoint, "variant": variant}, dict)

    async def forward(self, request: ForwardedRequest) -> ForwardedAnswer:
        """Have the control answer a request of which it keeps the queue. Raises ControlAway, also where too many others
        wait for their answers."""
        if self._forwarded >= FORWARDED_MAX:
            raise ControlAway(f"{self._forwarded} requests wait for the control at {self.url} already")
        self._forwarded += 1
        try:
            return await self._called("POST", RouterPage.FORWARD, written(request), partial(read, ForwardedAnswer))
        finally:
            self._forwarded -= 1

    async def identities(self, after: str | None, within_s: float) -> tuple[str, Identities] | None:
        """Who may call, with its version, once that is another than `after`. Raises ControlAway, ControlForbids."""

        def made(said: Mapping[str, Any]) -> tuple[str, Identities] | None:
            return None if said["version"] is None else (said["version"], read(Identities, said["identities"]))

        return await self._called("POST", RouterPage.IDENTITIES, {"after": after, "within_s": within_s}, made, within_s)

    def role_keys(self, endpoint: str, role: str) -> RoleKeys:
        """Credentials of the role of an endpoint's variant. It blocks. Raises ControlAway, ControlRefused."""
        asked = {"endpoint": endpoint, "role": role}
        return _read(
            RouterPage.ROLE_KEYS,
            partial(read, RoleKeys),
            self._call("POST", RouterPage.ROLE_KEYS, _body(asked), 0.0),
        )

    async def certificate(self, router: str, public_key: bytes) -> PeerCredential:
        """A certificate of the deployment for this public key in PEM. Raises ControlAway, ControlRefused."""
        asked = {"router": router, "key": public_key.decode()}
        return await self._called("POST", RouterPage.CERTIFICATE, asked, partial(read, PeerCredential))

    def secure(self) -> None:
        """Call the control by TLS from now on, as the router that `peers` says, but for a new certificate. Raises
        NoCredential."""
        deployment = self.peers.credential.name.split(".")[2]
        control = peer_name(PeerRole.CONTROL, PeerRole.CONTROL, deployment)
        before, context = self._secured, self.peers.client
        pool = urllib3.PoolManager(maxsize=CONNECTIONS_MAX, retries=False, ssl_context=context, server_hostname=control)
        self._secured = ControlWay(self.url.replace("http://", "https://", 1), pool)
        self.distrusted = False
        if before is not None:
            before.pool.clear()  # what is called now goes on

    async def leave(self, router: str) -> None:
        """Tell the control that the router stops. Raises ControlAway."""
        await self._called("POST", RouterPage.LEAVE, {"router": router}, dict)

    def close(self) -> None:
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
        for way in (self._plain, self._secured):
            if way is not None:
                way.pool.clear()

    async def _called(
        self,
        method: str,
        page: RouterPage,
        asked: Mapping[str, Any],
        made: Callable[[Mapping[str, Any]], T],
        further_s: float = 0.0,
    ) -> T:
        """What `made` makes of the page's answer. Raises ControlAway, ControlRefused."""
        body = b"" if method == "GET" else _body(asked)
        until_s, loop = self._clock() + BEGUN_WITHIN_S, asyncio.get_running_loop()

        def call() -> dict[str, Any]:
            if self._clock() > until_s:
                raise ControlAway(f"the control at {self.url} does not answer earlier calls of {page.value}")
            return self._call(method, page, body, further_s)

        return _read(page, made, await loop.run_in_executor(self._threads[page], call))

    def _call(self, method: str, page: RouterPage, body: bytes, further_s: float) -> dict[str, Any]:
        secured = None if page is RouterPage.CERTIFICATE else self._secured
        way = secured or self._plain
        url = f"{way.url}/_torpor/{page.value}"
        headers = {"content-type": "application/json", **(self._sign(method, url, body) if self._sign else {})}
        within_s = FOLLOWED_WITHIN_S if page in (RouterPage.TABLE, RouterPage.WAKE) else ANSWERED_WITHIN_S
        timeout = urllib3.Timeout(connect=CONNECTED_WITHIN_S, read=within_s + further_s)
        try:
            answer = way.pool.request(method, url, body=body or None, headers=headers, timeout=timeout)
        except urllib3.exceptions.HTTPError as error:
            if NOT_TRUSTED in str(error) and secured is not None:
                self.distrusted = True
                raise ControlAway(f"{NOT_THIS.format(url=self.url)} ({error})") from error
            if NOT_TRUSTED in str(error):
                raise ControlRefused(f"{UNTRUSTED.format(url=self.url)} ({error})") from error
            if any(name in str(error) for name in NOT_TLS):
                raise ControlRefused(HTTP_ONLY.format(url=self.url)) from error
            raise ControlAway(f"the control at {self.url} does not answer: {error}") from error
        if answer.status in (400, 401, 403, 404, 421):
            refused = ControlForbids if answer.status in (401, 403) else ControlRefused
            raise refused(refusal(self.url, answer.status, answer.data.decode(errors="replace").strip()))
        if answer.status != 200:
            raise ControlAway(f"the control at {self.url} answers {answer.status}: see the control's log")
        try:
            said: dict[str, Any] = json.loads(answer.data)
        except ValueError as error:
            raise ControlRefused(f"{self.url} is no control of Torpor") from error
        return said


def _pool_of(connect: Connect) -> type[urllib3.HTTPConnectionPool]:
    class ControlConnection(urllib3.connection.HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return connect()

    class Pool(urllib3.HTTPConnectionPool):
        ConnectionCls = ControlConnection

    return Pool


def refusal(url: str, status: int, said: str) -> str:
    """What a control's refusal says to whoever starts the router."""
    if status == 404:
        return NO_CONTROL.format(url=url, said=said)
    advice = f" {KEY}" if status in (401, 403) else ""
    return f"the control at {url} refuses: {said}{advice}"


def _body(asked: Mapping[str, Any]) -> bytes:
    return json.dumps(asked, separators=(",", ":")).encode()


def _read(page: RouterPage, made: Callable[[Mapping[str, Any]], T], said: Mapping[str, Any]) -> T:
    """Raises ControlAway."""
    try:
        return made(said)
    except (KeyError, TypeError, ValueError) as error:
        raise ControlAway(f"the control's answer to {page.value} cannot be read: {error!r}") from error
