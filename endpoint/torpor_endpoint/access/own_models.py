"""The page of a caller about itself: who may not read Torpor's pages sees the models that it may invoke.

It needs no right of its own: each model on it is one that the caller's policies allow.
"""

import json
from collections.abc import Awaitable, Callable

from torpor_endpoint.access.login.face import DASHBOARD, LoginFace
from torpor_endpoint.access.login.page import BASE_HEADERS
from torpor_endpoint.access.page_callers import OWN_MODELS, READ, wants_page
from torpor_endpoint.aws.wire.asgi import Response, Scope
from torpor_endpoint.core.access.needs import AccessNeed, CallerAccess
from torpor_endpoint.core.access.rights import INVOCATIONS, invocation
from torpor_endpoint.core.pages.own_models import MayInvoke, OwnEndpoint, own_models_page

READING = AccessNeed((READ,), "*")

FindOwn = Callable[[MayInvoke], Awaitable[tuple[OwnEndpoint, ...]]]
HostsOf = Callable[[str], tuple[str, ...]]
"""Takes an endpoint's name; returns the names of the containers that are called directly, or none."""


class OwnModelsFace:
    """Answers `/_torpor/own`, and the dashboard's address for a person who may not see the dashboard."""

    def __init__(self, find: FindOwn, hosts_of: HostsOf, login: LoginFace) -> None:
        self._find = find
        self._hosts_of = hosts_of
        self._login = login

    def asked(self, scope: Scope, access: CallerAccess) -> bool:
        """Whether it is the request of a caller for the page about itself."""
        if scope["path"] == OWN_MODELS:
            return True
        return scope["path"] == DASHBOARD and wants_page(scope) and not access.decide(READING).allowed

    async def answer(self, scope: Scope, access: CallerAccess) -> Response | None:
        """The page; None for a person who has nothing of its own to see. Raises RecordsFault."""
        if scope["path"] == OWN_MODELS:
            if scope["method"] not in ("GET", "HEAD"):
                return Response(405, b"This page takes GET.\n", {"content-type": "text/plain", "allow": "GET, HEAD"})
            page = own_models_page(await self._find(self._may_invoke(access)))
            return Response(200, json.dumps(page).encode(), {**BASE_HEADERS, "content-type": "application/json"})
        found = await self._find(self._may_invoke(access))
        return self._login.own_models(scope, access.principal.arn, found) if found else None

    def _may_invoke(self, access: CallerAccess) -> MayInvoke:
        def may(endpoint: str, model: str) -> bool:
            return any(
                access.decide(invocation(operation, endpoint, model or None, access.place, host)).allowed
                for host in self._hosts_of(endpoint) or (None,)
                for operation in INVOCATIONS
            )

        return may
