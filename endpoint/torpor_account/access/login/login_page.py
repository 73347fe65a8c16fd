"""Writes the pages of the login: each is one answer with its style and icon in it, and works without scripts."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from types import MappingProxyType

from torpor_account.aws.wire.asgi import Response

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


@dataclass(frozen=True)
class Look:
    """How the pages around look: `tokens` is a style sheet of custom properties, for light and dark, `icon` an SVG.

    Both are read once, for the first page.
    """

    tokens: Callable[[], str]
    icon: Callable[[], str]


def login_page(look: Look, status: int = 200, alert: str = "", **headers: str) -> Response:
    """The form for an access key and its secret. `alert` says why the browser sees it again."""
    parts = {"title": "Log in", "action": LOGIN, "fields": FIELDS, "button": "Log in", "hint": HINT}
    return _page(look, status, parts, _alert(alert), headers)


def refused_page(look: Look, alert: str, csrf: str) -> Response:
    """For somebody who has logged in and may not see the page: what is missing, and the way out."""
    fields = f'<input type="hidden" name="csrf" value="{escape(csrf)}" />'
    hint = _quiet("Ask who gives rights here, or log in with another access key.")
    parts = {"title": "Not allowed", "action": LOGOUT, "fields": fields, "button": "Log out", "hint": hint}
    return _page(look, 403, parts, _alert(alert), {})


def said_page(look: Look, title: str, said: str, hint: str, csrf: str) -> Response:
    """A page for somebody who has logged in, with the way out. `said` and `hint` are HTML."""
    fields = f'<input type="hidden" name="csrf" value="{escape(csrf)}" />'
    parts = {"title": title, "action": LOGOUT, "fields": fields, "button": "Log out", "hint": _quiet(hint)}
    return _page(look, 200, parts, said, {})


def _quiet(hint: str) -> str:
    return f'<p class="quiet">{hint}</p>'


def _alert(text: str) -> str:
    return f'<p role="alert" id="why">{escape(text)}</p>' if text else ""


def _page(look: Look, status: int, parts: dict[str, str], said: str, headers: dict[str, str]) -> Response:
    style, icon = _style(look), _icon(look)
    body = _text("login.html").format(style=style, icon=icon, alert=said, **parts)
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, body.encode(), {**BASE_HEADERS, "content-security-policy": policy, **given})


@cache
def _style(look: Look) -> str:
    """The look's tokens, the dark ones where the system is dark, and the page's own rules."""
    tokens = look.tokens()
    light, marker, dark = tokens.partition(':root[data-theme="dark"] {')
    rules = f"@media (prefers-color-scheme: dark) {{\n:root {{{dark}}}\n" if marker else ""
    return f"{light}{rules}{_text('login.css')}"


@cache
def _icon(look: Look) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(look.icon().encode()).decode()}"


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text()
