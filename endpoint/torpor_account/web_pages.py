"""Refuses requests from web pages of other origins: an ASGI application around the gateway.

Without this rule every web page in a browser on this machine could do everything on an endpoint that verifies no
signature, and with a browser that knows an access key on any endpoint.
docs/reference/browsers.md says what is refused and how to allow it.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import (
    App,
    AwsRequest,
    Receive,
    Response,
    Scope,
    Send,
    TakeInline,
    adding,
    sent,
    taken,
)
from torpor_account.core.origins.cross_origin import HEADERS, Judgement, OwnHosts, Sender
from torpor_account.gateway import OWN_PAGES

if TYPE_CHECKING:
    from torpor_container.transport.peers.peer_tls import PeerTls

JUDGED_MAX = 256
"""The most cached judgements, by the values of the three headers: an endpoint has few kinds of callers."""
JUDGED_MAX_BYTES = 512
"""The most bytes of a cached combination of headers. The server bounds a Host that comes alone."""

REPEATED_MAX = 100
"""The most characters of a header's value that a refusal repeats."""

PREFLIGHT_S = 600
"""For how long a browser may remember that an origin is allowed."""

ELSEWHERE = (
    "Torpor refuses this request: {because!r} is no address or name of this endpoint. A web page can make a name of "
    "its own point to this machine. Call the endpoint by its address or as "
    "localhost, or start it with --allow-host NAME. See docs/reference/browsers.md."
)
FOREIGN = (
    "Torpor refuses this request: a web page of another origin sent it ({because!r}). If you want to allow that page, "
    "start the endpoint with --allow-origin ORIGIN, or give the S3 bucket a CORS configuration. To see one of Torpor's "
    "pages, type its address. See docs/reference/browsers.md."
)
TEXTS = {Sender.ELSEWHERE: ELSEWHERE, Sender.FOREIGN: FOREIGN}

DENIED = "AccessDeniedException"
NOSNIFF = {"x-content-type-options": "nosniff"}


class Guarded(Protocol):
    """The gateway, as this module uses it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def inline(self, scope: Scope) -> TakeInline | None: ...

    def service_named(self, scope: Scope) -> str: ...


class WebPages:
    """An ASGI application around `gateway`.

    `excepted` are services, by name, with rules of their own for pages of other origins, as S3 has for each bucket.
    """

    def __init__(
        self,
        gateway: Guarded,
        own: OwnHosts,
        excepted: Mapping[str, App] = MappingProxyType({}),
        peers: "PeerTls | None" = None,
    ) -> None:
        """`peers`: see `torpor_container.http.exchange.CertifiedApp`."""
        self.peers = peers
        self._gateway = gateway
        self._own_hosts = own
        self._excepted = excepted
        self.cached = lru_cache(maxsize=JUDGED_MAX)(self._judge)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`. Nothing takes a request that is not plainly allowed: it comes by ASGI."""
        return self._gateway.inline(scope) if self._judgement(scope).sender is Sender.OWN else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # ASGI's lifespan; nothing serves a WebSocket
            await self._gateway(scope, receive, send)
            return
        judgement = self._judgement(scope)
        match judgement.sender:
            case Sender.OWN:
                await self._gateway(scope, receive, send)
            case Sender.ALLOWED:
                await self._allowed(judgement.because, scope, receive, send)
            case Sender.FOREIGN:
                name = self._gateway.service_named(scope)
                await (self._excepted.get(name) or refusing(name, judgement))(scope, receive, send)
            case Sender.ELSEWHERE:
                await refusing(self._gateway.service_named(scope), judgement)(scope, receive, send)

    def _judgement(self, scope: Scope) -> Judgement:
        headers = [header for header in scope["headers"] if header[0] in HEADERS]
        if not scope["path"].startswith(("/", "*")):
            return self._judge(_authority(scope), *headers)
        if len(headers) > 1 and sum([len(value) for _, value in headers]) > JUDGED_MAX_BYTES:
            return self._judge(None, *headers)
        return self.cached(None, *headers)

    def _judge(self, authority: bytes | None, *headers: tuple[bytes, bytes]) -> Judgement:
        return self._own_hosts.judge(headers, authority)

    async def _allowed(self, origin: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a page of an origin that `--allow-origin` names: it may do everything, and the answer says so."""
        requested = dict(scope["headers"])
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in requested:
            await sent(Response(204, b"", preflight(origin, requested)), send)
            return
        allowing = {"access-control-allow-origin": origin, "access-control-expose-headers": "*", "vary": "Origin"}
        await self._gateway(scope, receive, adding(send, allowing))


def preflight(origin: str, requested: Mapping[bytes, bytes]) -> dict[str, str]:
    """The headers that allow what a preflight requests: any method, any headers, and access to a private network."""
    method, headers, private = (
        requested.get(f"access-control-request-{name}".encode(), b"").decode("latin-1")
        for name in ("method", "headers", "private-network")
    )
    allowing = {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": method,
        "access-control-allow-headers": headers,
        "access-control-allow-private-network": private,
        "access-control-max-age": str(PREFLIGHT_S),
        "vary": "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    }
    return {name: value for name, value in allowing.items() if value}


def _authority(scope: Scope) -> bytes:
    """The host in a target of absolute form, `http://host/path`, or of authority form, `host:port`."""
    target: bytes = scope.get("raw_path") or scope["path"].encode("latin-1", "replace")
    _, scheme, rest = target.partition(b"://")
    return (rest if scheme else target).partition(b"/")[0].partition(b"?")[0]


# -- the refusal, in the protocol of the service that was called -------------------------------------------------------
def refusing(service: str, judgement: Judgement) -> App:
    """An application that reads the body and answers 403 with the reason. `service` is the gateway's name for it."""
    text = TEXTS[judgement.sender].format(because=judgement.because[:REPEATED_MAX])
    make = _FORMS.get(service, _as_aws)
    return make(text)


def _as_aws(text: str) -> App:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        from torpor_account.aws.refusing import Refusing

        await Refusing(lambda request: _aws_error(request, text))(scope, receive, adding(send, NOSNIFF))

    return refuse


def _aws_error(request: AwsRequest, text: str) -> AwsError:
    """The code is AccessDenied in the query protocol, and AccessDeniedException in the others."""
    from torpor_account.aws.wire.protocols import protocol_of
    from torpor_account.aws.wire.query import Query

    query = isinstance(protocol_of(request), Query)
    return AwsError("AccessDenied" if query else DENIED, 403, text)


def _as_json(text: str) -> App:
    """For the runtime API, whose requests have any content type."""
    body = json.dumps({"__type": DENIED, "message": text}).encode()
    headers = {"content-type": "application/json", "x-amzn-errortype": DENIED, **NOSNIFF}
    return partial(_drain_and_send, Response(403, body, headers))


def _as_text(text: str) -> App:
    return partial(_drain_and_send, Response(403, f"{text}\n".encode(), {"content-type": "text/plain", **NOSNIFF}))


async def _drain_and_send(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    with suppress(AwsError):  # the body is too large, but the answer names the first fault
        await taken(scope, receive, 0)
    await sent(response, send)


def _as_s3(text: str) -> App:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        await (await asyncio.to_thread(_s3_refusal, text))(scope, receive, send)

    return refuse


def _s3_refusal(text: str) -> App:
    from torpor_account.s3.edge import denying

    return denying(text)


_FORMS: Mapping[str, Callable[[str], App]] = {OWN_PAGES: _as_text, "s3": _as_s3, "sagemaker-runtime": _as_json}
