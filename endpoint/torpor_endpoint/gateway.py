"""One port, all services: tells what a request means and hands it on. It reads headers and path, never a body."""

from collections.abc import Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import AnyStr

from torpor_endpoint.aws.calls import Otherwise
from torpor_endpoint.aws.descriptors import retry_for_descriptors
from torpor_endpoint.aws.lazy import LazyApp
from torpor_endpoint.aws.models import known_services
from torpor_endpoint.aws.wire.asgi import App, Receive, Scope, Send, TakeInline, Tell
from torpor_endpoint.aws.wire.scope import MISDIRECTED, UNSIGNED_FORM
from torpor_endpoint.services.registry import ADDRESSES

OWN = "/_torpor/"
"""Torpor's own pages: a name that no bucket can have."""

KNOWN_MAX = 4096
"""Services of requests that are remembered: an endpoint's callers sign with the same credential for a day."""
KNOWN_MAX_BYTES = 4096
"""Of one of them. What is longer is not remembered."""

AUTHORIZATION = b"authorization"
SCOPE_HEADERS = {name.encode(): name for name in ("authorization", "content-type", "smithy-protocol", "x-amz-target")}
"""What tells the service, by its bytes on the wire."""


class Gateway:
    """The ASGI application of the one port. `services` are by botocore's names, `own` serves what is Torpor's.

    `inline` are those services, by name, that can take up some requests without a task for each. Services of AWS that
    are not among them are left to `otherwise`, whole.
    """

    def __init__(
        self,
        services: Mapping[str, App],
        own: App,
        account: str,
        otherwise: Otherwise | None = None,
        inline: Mapping[str, TakeInline] = MappingProxyType({}),
    ) -> None:
        none_of_aws: dict[str, App] = {UNSIGNED_FORM: LazyApp(self._unsigned_form), MISDIRECTED: LazyApp(_misdirected)}
        self._services = {**services, **none_of_aws}
        self._own = own
        self._account = account
        self._otherwise = otherwise
        self._inline = inline

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `aws.asgi.TakeInline`."""
        take = self._inline.get(_remembered_service_of(scope)) if scope["path"].startswith("/") else None
        return take is not None and take(scope, body, tell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(OWN):
            await self._own(scope, receive, send)
            return
        if not scope["path"].startswith("/"):
            scope = _in_origin_form(scope)
        name = _service_of(scope)
        if name not in self._services:
            await retry_for_descriptors(known_services)  # the first time it reads a folder
        await self._service(name)(scope, receive, send)

    def service_named(self, scope: Scope) -> str:
        """The name of the service that a request means, or of none of AWS's; OWN for Torpor's own pages."""
        if scope["path"].startswith(OWN):
            return OWN
        return _service_of(scope if scope["path"].startswith("/") else _in_origin_form(scope))

    def _service(self, name: str) -> App:
        """The service, or one of no operations: what nobody else answers it refuses at once, in its own protocol."""
        if name in self._services:
            return self._services[name]
        from torpor_endpoint.aws.refusing import Refusing, unserved
        from torpor_endpoint.aws.service import Service

        if name not in known_services():
            return Refusing(unserved)
        self._services[name] = Service(name, None, {}, account=self._account, otherwise=self._otherwise)
        return self._services[name]

    def _unsigned_form(self) -> App:
        from torpor_endpoint.aws.wire.unsigned_form import UnsignedForm

        known_services()  # here, in a thread: the form's service may be any
        return UnsignedForm(self._service, ADDRESSES.versions)


def _in_origin_form(scope: Scope) -> Scope:
    """RFC 9112, section 3.2.2: a client that takes us for its proxy sends `http://host/path`, and is to be served."""
    path, raw_path = scope["path"], scope["raw_path"]
    return {**scope, "path": f"/{_after_host(path, '/')}", "raw_path": b"/" + _after_host(raw_path, b"/")}


def _after_host(url: AnyStr, slash: AnyStr) -> AnyStr:
    """Of `scheme://host/path`, what follows the host's slash."""
    return slash.join(url.split(slash)[3:])


def _service_of(scope: Scope) -> str:
    told = [(name, value) for name, value in scope["headers"] if name in SCOPE_HEADERS]
    return _service(scope["method"], scope["path"], scope.get("query_string", b""), *told)


def _remembered_service_of(scope: Scope) -> str:
    """The same, remembered for the requests that endpoints get over and over."""
    told = [_lasting(*header) for header in scope["headers"] if header[0] in SCOPE_HEADERS]
    if len(scope["path"]) + sum([len(value) for _, value in told]) > KNOWN_MAX_BYTES:
        return _service_of(scope)
    return _known_service(scope["method"], scope["path"], scope["query_string"], *told)


def _service(method: str, path: str, query: bytes, *told: tuple[bytes, bytes]) -> str:
    headers = {SCOPE_HEADERS[name]: value.decode("latin-1") for name, value in told}
    return ADDRESSES.service_of(method, path, headers, query.decode("latin-1"))


_known_service = lru_cache(maxsize=KNOWN_MAX)(_service)


def _lasting(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """What of a header tells the service. The rest of a signature is another each time."""
    if name != AUTHORIZATION:
        return name, value
    credential, _, signature = value.partition(b",")
    return name, credential if signature and b"Credential=" in credential else value


def _misdirected() -> App:
    from torpor_endpoint.aws.refusing import Refusing, misdirected

    return Refusing(partial(misdirected, ADDRESSES))
