"""Who asks for Torpor's own pages, and what the dashboard calls for a person; and how a refusal looks to each.

A person has the cookie of a login. A program signs, or sends its key by HTTP's Basic authentication: Prometheus and
curl cannot sign for Torpor. What a browser sends by itself in that way is not read.
"""

import uuid

from torpor_endpoint.access.login.face import LoginFace
from torpor_endpoint.access.login.page import LOGIN
from torpor_endpoint.access.problems import NotAuthentic, Problem
from torpor_endpoint.access.verifying import Verifier
from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.aws.wire.asgi import Response, Scope, opened
from torpor_endpoint.aws.wire.scope import signed_for
from torpor_endpoint.core.access.needs import AccessRefused, CallerAccess
from torpor_endpoint.core.pages import PageName
from torpor_endpoint.gateway import OWN_PAGES

READ, CHANGE, DENIALS = "torpor:ReadPages", "torpor:ChangePages", "torpor:ReadDenials"
ROUTE = "torpor:Route"
"""The actions of Torpor's own pages. Denials have their own: they name the policies of others. So have routers: they
get the secrets of all access keys, to verify callers."""
ROUTERS_PAGES = f"{OWN_PAGES}routers/"
OWN_MODELS = f"{OWN_PAGES}{PageName.OWN}"
"""The page of a caller about itself, which needs no right."""
DENIALS_PAGE = f"{OWN_PAGES}{PageName.DENIALS}"


class NotLoggedIn(Exception):
    """A page of the endpoint's own sent the request, and its browser has no session."""


class PageCallers:
    """Finds callers by their login or their password. `login` answers its own addresses."""

    def __init__(self, login: LoginFace, verifier: Verifier) -> None:
        self.login = login
        self._verifier = verifier

    def caller(self, scope: Scope) -> CallerAccess | None:
        """Who asks for a page; None if only a signature can say it. Raises NotAuthentic, AccessRefused."""
        if _is_signed(scope):
            return None
        if _is_browsers(scope) or not _has(scope, b"authorization"):
            return self.login.caller(scope, changes=not reads(scope))
        return self._verifier.password_caller(scope)

    def dashboards(self, scope: Scope) -> CallerAccess:
        """Who invokes or uploads with the dashboard. Raises NotLoggedIn, AccessRefused."""
        access = self.login.caller(scope, changes=True)
        if access is None:
            raise NotLoggedIn
        return access

    def refusal(self, refused: NotAuthentic | AccessRefused | AwsError, scope: Scope) -> Response:
        """A person gets a page: the form to log in, or what the login may not. A program gets a text."""
        if wants_page(scope) and not (_is_throttled(refused) or _lacks_database(refused)):
            if isinstance(refused, AccessRefused):
                return self.login.refusal(scope, refused.message)
            if isinstance(refused, NotAuthentic) and not _is_signed(scope):
                return Response(303, b"", {"location": LOGIN, "cache-control": "no-store"})
        return refused_in_text(refused, scope)


def refused_in_text(why: NotAuthentic | AccessRefused | AwsError | NotLoggedIn, scope: Scope) -> Response:
    """The refusal of a page for a program, or for a script of the dashboard."""
    headers = {"content-type": "text/plain", "x-content-type-options": "nosniff", "x-amzn-requestid": str(uuid.uuid4())}
    if isinstance(why, AccessRefused):
        return Response(403, f"{why.message}\n".encode(), headers)
    if isinstance(why, AwsError):
        return Response(why.status, f"{why.message}\n".encode(), headers)
    if _is_throttled(why):
        return Response(429, f"{why}\n".encode(), {**headers, "retry-after": "1"})
    if _lacks_database(why):
        return Response(500, f"{why}\n".encode(), headers)
    if _is_browsers(scope):  # without the header that makes it ask by a dialogue of its own
        return Response(401, f"Nobody is logged in, or no longer: log in at {LOGIN}\n".encode(), headers)
    if scope["path"].startswith(ROUTERS_PAGES):
        how = f"Sign the request with an access key that has the right {ROUTE}."
    else:
        how = "Sign the request, or give an access key and its secret as user and password."
    text = f"{str(why).removesuffix('.')}. {how}\n"
    return Response(401, text.encode(), {**headers, "www-authenticate": 'Basic realm="Torpor: access key, secret"'})


def _is_throttled(why: Exception) -> bool:
    return isinstance(why, NotAuthentic) and why.problem is Problem.THROTTLED


def _lacks_database(why: Exception) -> bool:
    return isinstance(why, NotAuthentic) and why.problem is Problem.DATABASE


def action_of(scope: Scope) -> str:
    """The right that a page needs. The beginning of its path decides, since routes may bend the end."""
    if scope["path"].startswith(DENIALS_PAGE):
        return DENIALS
    if scope["path"].startswith(ROUTERS_PAGES):
        return ROUTE
    return READ if reads(scope) else CHANGE


def reads(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD")


def is_dashboards(scope: Scope) -> bool:
    """Whether a page of the endpoint's own origin sends this unsigned request. No script can set the header."""
    names = {name for name, value in scope["headers"] if name != b"sec-fetch-site" or value == b"same-origin"}
    return b"sec-fetch-site" in names and not _is_signed(scope)


def signed_as(scope: Scope) -> str:
    """The service that the gateway routes by; empty for a request that nobody signed."""
    return signed_for(opened(scope).headers, scope.get("query_string", b"").decode("latin-1")) or ""


def _is_signed(scope: Scope) -> bool:
    return signed_as(scope) != ""


def _has(scope: Scope, header: bytes) -> bool:
    return any(name == header for name, _ in scope["headers"])


def _is_browsers(scope: Scope) -> bool:
    return _has(scope, b"sec-fetch-site")


def wants_page(scope: Scope) -> bool:
    """Whether a person asks, with a browser."""
    return reads(scope) and any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
