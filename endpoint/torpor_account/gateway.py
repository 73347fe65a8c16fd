"""Routes each request of the one port to the service that it names. It reads the path and the headers, never a body."""

from collections.abc import Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import AnyStr

from torpor_account.aws.calls import Otherwise
from torpor_account.aws.descriptors import retry_for_descriptors
from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.service_models import known_services
from torpor_account.aws.wire.asgi import App, Inline, Receive, Scope, Send, TakeInline
from torpor_account.aws.wire.scope import MISDIRECTED, UNSERVED, UNSIGNED_FORM, Addresses

OWN_PAGES = "/_torpor/"
"""The prefix of Torpor's own pages. No S3 bucket can have this name."""
HEALTH = f"{OWN_PAGES}health"
"""The one page that anybody may read."""

KNOWN_MAX = 4096
"""The most requests whose service the gateway remembers. A caller signs with the same credential for a whole day."""
KNOWN_MAX_BYTES = 4096
"""The most bytes of the path and headers of such a request. The gateway does not remember a longer one."""

AUTHORIZATION = b"authorization"
SCOPE_HEADERS = {name.encode(): name for name in ("authorization", "content-type", "smithy-protocol", "x-amz-target")}
"""The headers that name the service, by their bytes on the wire."""


class Gateway:
    """The ASGI application of the one port. `services` are by botocore's names; `own_pages` serves Torpor's own pages.

    `addresses` say which service a request names. `inline` holds the services that can take up some requests without a
    task for each. `otherwise` answers every operation of the AWS services that are not in `services`.
    """

    def __init__(
        self,
        services: Mapping[str, App],
        own_pages: App,
        account: str,
        addresses: Addresses,
        otherwise: Otherwise | None = None,
        inline: Mapping[str, Inline] = MappingProxyType({}),
    ) -> None:
        none_of_aws: dict[str, App] = {
            UNSIGNED_FORM: LazyApp(self._unsigned_form),
            MISDIRECTED: LazyApp(self._misdirected),
            UNSERVED: LazyApp(_unserved),
        }
        self._services = {**services, **none_of_aws}
        self._own_pages = own_pages
        self._account = account
        self._addresses = addresses
        self._known_service = lru_cache(maxsize=KNOWN_MAX)(self._service_by_head)
        self._otherwise = otherwise
        self._inline = inline

    def inline(self, scope: Scope) -> TakeInline | None:
        """What takes up such a request without a task, if its service can (`aws.wire.asgi.Inline`)."""
        service = self._inline.get(self._remembered_service_of(scope)) if scope["path"][:1] == "/" else None
        return None if service is None else service(scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = in_origin_form(scope)
        await self.serve(self.service_named(scope) if scope["type"] == "http" else OWN_PAGES, scope, receive, send)

    async def serve(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the service answer that the request names, for who has found it by `service_named` already."""
        if name == OWN_PAGES:
            await self._own_pages(scope, receive, send)
            return
        if name not in self._services:
            await retry_for_descriptors(known_services)  # the first time it reads a folder
        await self._service(name)(scope, receive, send)

    def service_named(self, scope: Scope) -> str:
        """The name of the service that a request names: botocore's, or OWN_PAGES for Torpor's own pages.

        A request that names no service of AWS gets one of NO_SERVICES.
        """
        scope = in_origin_form(scope)
        return OWN_PAGES if scope["path"].startswith(OWN_PAGES) else self._service_of(scope)

    def remembered(self) -> int:
        """How many requests' services the gateway remembers."""
        return self._known_service.cache_info().currsize

    def _service(self, name: str) -> App:
        """The service of this name. One without operations of its own answers in its protocol, through `otherwise`."""
        if name in self._services:
            return self._services[name]
        from torpor_account.aws.service import Service

        if name not in known_services():
            return self._services[UNSERVED]
        self._services[name] = Service(name, None, {}, account=self._account, otherwise=self._otherwise)
        return self._services[name]

    def _unsigned_form(self) -> App:
        from torpor_account.aws.wire.unsigned_form import UnsignedForm

        known_services()  # it reads a folder: LazyApp calls this in a thread
        return UnsignedForm(self._service, self._addresses.versions)

    def _misdirected(self) -> App:
        from torpor_account.aws.refusing import Refusing, misdirected

        return Refusing(partial(misdirected, self._addresses))

    def _service_of(self, scope: Scope) -> str:
        naming = [(name, value) for name, value in scope["headers"] if name in SCOPE_HEADERS]
        return self._service_by_head(scope["method"], scope["path"], scope.get("query_string", b""), *naming)

    def _remembered_service_of(self, scope: Scope) -> str:
        """As `_service_of`, from a cache: endpoints get the same requests over and over."""
        naming, size_bytes = [], len(scope["path"])
        for name, value in scope["headers"]:
            if name in SCOPE_HEADERS:
                part = _credential(value) if name == AUTHORIZATION else value
                naming.append((name, part))
                size_bytes += len(part)
        if size_bytes > KNOWN_MAX_BYTES:
            return self._service_of(scope)
        return self._known_service(scope["method"], scope["path"], scope["query_string"], *naming)

    def _service_by_head(self, method: str, path: str, query: bytes, *naming: tuple[bytes, bytes]) -> str:
        headers = {SCOPE_HEADERS[name]: value.decode("latin-1") for name, value in naming}
        return self._addresses.service_of(method, path, headers, query.decode("latin-1"))


def in_origin_form(scope: Scope) -> Scope:
    """The request with a path in place of `http://host/path`, the form for proxies (RFC 9112, section 3.2.2).

    Whoever looks at a path calls it first. It returns any other request, and what is no request of HTTP, as it is.
    """
    if scope["type"] != "http" or scope["path"].startswith("/"):
        return scope
    path, raw_path = scope["path"], scope["raw_path"]
    return {**scope, "path": f"/{_after_host(path, '/')}", "raw_path": b"/" + _after_host(raw_path, b"/")}


def _after_host(url: AnyStr, slash: AnyStr) -> AnyStr:
    """The part of `scheme://host/path` after the host's slash."""
    return slash.join(url.split(slash)[3:])


def _credential(value: bytes) -> bytes:
    """The part of the header Authorization that names the service. The rest of a signature differs in each request."""
    credential, _, signature = value.partition(b",")
    return credential if signature and b"Credential=" in credential else value


def _unserved() -> App:
    from torpor_account.aws.refusing import Refusing, unserved

    return Refusing(unserved)
