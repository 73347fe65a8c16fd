"""Answers the login's addresses, and finds the caller of a session's cookie. It knows no rights."""

import asyncio
import json
from collections.abc import Callable
from math import ceil
from urllib.parse import parse_qs

from torpor_account.access.login.login_page import (
    BASE_HEADERS,
    LOGIN,
    LOGOUT,
    Look,
    login_page,
    refused_page,
    said_page,
)
from torpor_account.access.login.page_sessions import PageSessions
from torpor_account.access.verifying import Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Disconnected, Receive, Response, Scope, Send, sent, taken
from torpor_account.core.access.needs import AccessRefused, CallerAccess
from torpor_account.core.pages.logins import (
    CSRF_HEADER,
    WrongTries,
    cookie_name,
    cookie_of,
    csrf_of,
    is_csrf,
    set_cookie,
)

SESSION = "/_torpor/dashboard/session"
DASHBOARD = "/_torpor/"
FORM_MAX_BYTES = 4096
OWN_SITES = (b"same-origin", b"none")
"""`Sec-Fetch-Site` of a page of the endpoint's own, and of an address that a person typed."""

WRONG = "This access key and secret do not belong together, or the key is not active."
TEMPORARY = "Temporary credentials cannot log in: give the access key of a user, or of the root."
FORGED = "The request has no valid token of its session (X-Torpor-CSRF): reload the page, or log in again"


class LoginFace:
    """An ASGI application for the addresses that `answers` knows. `clock` gives seconds that never go back."""

    def __init__(self, sessions: PageSessions, verifier: Verifier, look: Look, clock: Callable[[], float]) -> None:
        self._sessions = sessions
        self._verifier = verifier
        self._look = look
        self._clock = clock
        self._tries = WrongTries()

    def answers(self, scope: Scope) -> bool:
        return scope["path"] in (LOGIN, LOGOUT, SESSION)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await taken(scope, receive, FORM_MAX_BYTES)
            response = await self._answer(scope, body)
        except Disconnected:
            return
        except AwsError as error:
            response = login_page(self._look, error.status, error.message)
        await sent(response, send)

    def caller(self, scope: Scope, *, changes: bool) -> CallerAccess | None:
        """The caller of the request's cookie; None without a session. `changes`: the request changes something.

        Raises AccessRefused for such a request without the session's token.
        """
        token = self._token(scope)
        known = None if token is None else self._sessions.known(token)
        if token is None or known is None:
            return None
        if changes and not is_csrf(_header(scope, CSRF_HEADER), token):
            raise AccessRefused(FORGED, "it may be forged")
        return self._verifier.access(scope, known)

    def refusal(self, scope: Scope, message: str) -> Response:
        """The page for a browser whose session may not see what it asked for."""
        return refused_page(self._look, message, csrf_of(self._token(scope) or ""))

    def page(self, scope: Scope, title: str, said: str, hint: str) -> Response:
        """A page for a browser with a session. `said` and `hint` are HTML."""
        return said_page(self._look, title, said, hint, csrf_of(self._token(scope) or ""))

    async def _answer(self, scope: Scope, body: bytes) -> Response:
        path, method = scope["path"], scope["method"]
        if method in ("GET", "HEAD"):
            return self._session(scope) if path == SESSION else login_page(self._look)
        if method != "POST" or path == SESSION:
            return Response(405, b"This page takes GET, and a form by POST.\n", {"content-type": "text/plain"})
        form = _form(scope, body)
        return await (self._log_in(scope, form) if path == LOGIN else self._log_out(scope, form))

    def _session(self, scope: Scope) -> Response:
        """Who is logged in, and the token that each request which changes something must have."""
        token = self._token(scope)
        access = self.caller(scope, changes=False)
        headers = {**BASE_HEADERS, "content-type": "application/json"}
        if token is None or access is None:
            return Response(401, b'{"message": "nobody is logged in"}', headers)
        body = {"caller": access.principal.arn, "csrf": csrf_of(token)}
        return Response(200, json.dumps(body).encode(), headers)

    async def _log_in(self, scope: Scope, form: dict[str, str]) -> Response:
        address, now_s = _address(scope), self._clock()
        wait_s = self._tries.wait_s(address, now_s)
        if wait_s > 0:
            text = f"Too many wrong tries from this address: try again in {ceil(wait_s)} s."
            return login_page(self._look, 429, text, retry_after=str(ceil(wait_s)))
        access_key = form.get("access_key", "").strip()
        known = self._verifier.of_password(access_key, form.get("secret", "").strip())
        if known is None:
            self._tries.failed(address, now_s)
            return login_page(self._look, 403, TEMPORARY if access_key.startswith("ASIA") else WRONG)
        self._tries.succeeded(address)
        old = self._token(scope)
        if old is not None:
            await asyncio.to_thread(self._sessions.end, old)
        token = await asyncio.to_thread(self._sessions.begin, access_key)
        return _to(DASHBOARD, self._cookie(scope, token))

    async def _log_out(self, scope: Scope, form: dict[str, str]) -> Response:
        token = self._token(scope)
        if token is None:
            return _to(LOGIN, self._cookie(scope, ""))
        if not is_csrf(_header(scope, CSRF_HEADER) or form.get("csrf", ""), token):
            return login_page(self._look, 403, f"{FORGED}.")
        await asyncio.to_thread(self._sessions.end, token)
        return _to(LOGIN, self._cookie(scope, ""))

    def _token(self, scope: Scope) -> str | None:
        """The token in the cookie of a page of the endpoint's own, or of a typed address."""
        sites = [value for name, value in scope["headers"] if name == b"sec-fetch-site"]
        if any(site not in OWN_SITES for site in sites):
            return None
        return cookie_of(_header(scope, b"cookie"), cookie_name(_header(scope, b"host")))

    def _cookie(self, scope: Scope, token: str) -> str:
        return set_cookie(cookie_name(_header(scope, b"host")), token, secure=scope.get("scheme") == "https")


def _to(path: str, cookie: str) -> Response:
    return Response(303, b"", {"location": path, "set-cookie": cookie, "cache-control": "no-store"})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _header(scope: Scope, wanted: bytes) -> str:
    """The header's values together; empty if there are none. Of cookies, HTTP/2 sends several."""
    return "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == wanted)


def _form(scope: Scope, body: bytes) -> dict[str, str]:
    """The fields of a form, each of which may be there once. Raises AwsError."""
    if not _header(scope, b"content-type").startswith("application/x-www-form-urlencoded"):
        if not body:
            return {}
        raise AwsError("UnsupportedMediaType", 415, "This page takes the form that it shows.")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=8)
    except ValueError:
        raise AwsError("BadRequest", 400, "The form cannot be read.") from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}
