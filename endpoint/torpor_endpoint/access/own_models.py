"""The page of a caller about itself: who may not read Torpor's pages sees the models that it may invoke.

It needs no right of its own: each model on it is one that the caller's policies allow.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from html import escape

from torpor_account.access.login.login_face import DASHBOARD, LoginFace
from torpor_account.access.login.login_page import BASE_HEADERS
from torpor_account.access.page_callers import READ, wants_page
from torpor_account.aws.wire.asgi import Response, Scope
from torpor_account.core.access.needs import AccessNeed, CallerAccess
from torpor_account.gateway import OWN_PAGES
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.core.pages.own_models import MayInvoke, OwnEndpoint, OwnModel, own_models_page
from torpor_endpoint.core.rights import INVOCATIONS, invocation

OWN_MODELS = f"{OWN_PAGES}{PageName.OWN}"
MIB = 1024 * 1024
READING = AccessNeed((READ,), "*")

FindOwn = Callable[[MayInvoke], Awaitable[tuple[OwnEndpoint, ...]]]
HostsOf = Callable[[str], tuple[str, ...]]
"""Takes an endpoint's name; returns the names of the containers that are called directly, or none."""


class OwnModelsFace:
    """See `access.door.AboutCallers`: answers `/_torpor/own`, and the dashboard's address for a person who may not see
    the dashboard."""

    def __init__(self, find: FindOwn, hosts_of: HostsOf, login: LoginFace) -> None:
        self._find = find
        self._hosts_of = hosts_of
        self._login = login

    def asked(self, scope: Scope, access: CallerAccess) -> bool:
        if scope["path"] == OWN_MODELS:
            return True
        return scope["path"] == DASHBOARD and wants_page(scope) and not access.decide(READING).allowed

    async def answer(self, scope: Scope, access: CallerAccess) -> Response | None:
        if scope["path"] == OWN_MODELS:
            if scope["method"] not in ("GET", "HEAD"):
                return Response(405, b"This page takes GET.\n", {"content-type": "text/plain", "allow": "GET, HEAD"})
            page = own_models_page(await self._find(self._may_invoke(access)))
            return Response(200, json.dumps(page).encode(), {**BASE_HEADERS, "content-type": "application/json"})
        found = await self._find(self._may_invoke(access))
        return self._login.page(scope, "Your models", _listed(access.principal.arn, found), HINT) if found else None

    def _may_invoke(self, access: CallerAccess) -> MayInvoke:
        def may(endpoint: str, model: str) -> bool:
            return any(
                access.decide(invocation(operation, endpoint, model or None, access.place, host)).allowed
                for host in self._hosts_of(endpoint) or (None,)
                for operation in INVOCATIONS
            )

        return may


HINT = (
    "Requests and cold starts are those of the last day. "
    "Whoever has the right <code>torpor:ReadPages</code> sees the whole dashboard."
)


def _listed(caller: str, endpoints: Sequence[OwnEndpoint]) -> str:
    """In HTML, the models that this caller may invoke."""
    return "\n".join((f"<p>The models that {escape(caller)} may invoke:</p>", *map(_own_endpoint, endpoints)))


def _own_endpoint(endpoint: OwnEndpoint) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("model", "requests", "cold", "in memory"))
    rows = "".join(
        f"<tr><td>{escape(one.name) or '(its one model)'}</td><td>{one.requests}</td><td>{one.cold}</td>"
        f"<td>{_memory(one)}</td></tr>"
        for one in endpoint.models
    )
    return f"<h2>{escape(endpoint.name)}</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _memory(model: OwnModel) -> str:
    if not model.instances:
        return "no"
    return f"{model.size_bytes / MIB:.1f} MiB" + (f" on {model.instances} instances" if model.instances > 1 else "")
