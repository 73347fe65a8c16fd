"""Writes the pages of the login: each is one answer with its style and icon in it, and works without scripts."""

import base64
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from types import MappingProxyType

from torpor_endpoint.aws.wire.asgi import Response
from torpor_endpoint.core.pages.own_models import OwnEndpoint, OwnModel

MIB = 1024 * 1024
LOGIN, LOGOUT = "/_torpor/login", "/_torpor/logout"

FIELDS = """<label>
          Access key
          <input name="access_key" autocomplete="username" aria-describedby="why" spellcheck="false" required
            autofocus />
        </label>
        <label>
          Secret
          <input name="secret" type="password" autocomplete="current-password" required />
        </label>"""
HINT = (
    '<p class="quiet">The root\'s key is in the file <code>credentials</code> of the data folder; '
    "<code>aws iam create-access-key</code> makes one for a user.</p>"
)
BASE_HEADERS = MappingProxyType(
    {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "same-origin",
    }
)
"""With another policy of referrers a browser would send the form with `Origin: null`, which is refused."""


def login_page(status: int = 200, alert: str = "", **headers: str) -> Response:
    """The form for an access key and its secret. `alert` says why the browser sees it again."""
    parts = {"title": "Log in", "action": LOGIN, "fields": FIELDS, "button": "Log in", "hint": HINT}
    return _page(status, parts, _alert(alert), headers)


def refused_page(alert: str, csrf: str) -> Response:
    """For somebody who has logged in and may not see the page: what is missing, and the way out."""
    fields = f'<input type="hidden" name="csrf" value="{escape(csrf)}" />'
    hint = '<p class="quiet">Ask who gives rights here, or log in with another access key.</p>'
    parts = {"title": "Not allowed", "action": LOGOUT, "fields": fields, "button": "Log out", "hint": hint}
    return _page(403, parts, _alert(alert), {})


def own_models_page(caller: str, endpoints: Sequence[OwnEndpoint], csrf: str) -> Response:
    """For somebody who has logged in and may not see the dashboard: the models that this caller may invoke."""
    said = [f"<p>The models that {escape(caller)} may invoke:</p>", *map(_own_endpoint, endpoints)]
    fields = f'<input type="hidden" name="csrf" value="{escape(csrf)}" />'
    hint = (
        '<p class="quiet">Requests and cold starts are those of the last day. '
        "Whoever has the right <code>torpor:ReadPages</code> sees the whole dashboard.</p>"
    )
    parts = {"title": "Your models", "action": LOGOUT, "fields": fields, "button": "Log out", "hint": hint}
    return _page(200, parts, "\n".join(said), {})


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


def _alert(text: str) -> str:
    return f'<p role="alert" id="why">{escape(text)}</p>' if text else ""


def _page(status: int, parts: dict[str, str], said: str, headers: dict[str, str]) -> Response:
    style, icon = _style(), _icon()
    body = _text("access", "login", "login.html").format(style=style, icon=icon, alert=said, **parts)
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, body.encode(), {**BASE_HEADERS, "content-security-policy": policy, **given})


@cache
def _style() -> str:
    """The dashboard's tokens, the dark ones where the system is dark, and the page's own rules."""
    tokens = _text("dashboard", "static", "css", "tokens.css")
    light, marker, dark = tokens.partition(':root[data-theme="dark"] {')
    rules = f"@media (prefers-color-scheme: dark) {{\n:root {{{dark}}}\n" if marker else ""
    return f"{light}{rules}{_text('access', 'login', 'login.css')}"


@cache
def _icon() -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(_text('dashboard', 'static', 'icon.svg').encode()).decode()}"


@cache
def _text(*path: str) -> str:
    return files("torpor_endpoint").joinpath(*path).read_text()
