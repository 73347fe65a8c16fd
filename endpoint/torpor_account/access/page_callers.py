"""Who asks for Torpor's own pages, and what the dashboard calls for a person; and how a refusal looks to each.

A person has the cookie of a login. A program signs, or sends its key by HTTP's Basic authentication: Prometheus and
curl cannot sign for Torpor. What a browser sends by itself in that way is not read.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from torpor_account.access.login.login_face import LoginFace
from torpor_account.access.login.login_page import LOGIN
from torpor_account.access.problems import NotAuthentic, Problem
from torpor_account.access.verifying import Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Response, Scope, opened
from torpor_account.aws.wire.scope import signed_for
from torpor_account.core.access.needs import AccessRefused, CallerAccess
from torpor_account.gateway import OWN_PAGES

READ, CHANGE, DENIALS = "torpor:ReadPages", "torpor:ChangePages", "torpor:ReadDenials"
ADVICE = "Sign the request, or give an access key and its secret as user and password."


@dataclass(frozen=True)
class PageRight:
    """What a caller needs for the pages whose paths begin with `prefix`."""

    prefix: str
    action: str
    advice: str = ADVICE
    """What a program is told that nobody knows."""
    counted: bool = True
    """Whether a call of somebody who has the right counts against its limit."""


DENIALS_PAGE = PageRight(f"{OWN_PAGES}denials", DENIALS)
"""Denials have a right of their own: they name the policies of others."""
READING, CHANGING = PageRight(OWN_PAGES, READ), PageRight(OWN_PAGES, CHANGE)
"""What every other page needs."""


class NotLoggedIn(Exception):
    """A page of the endpoint's own sent the request, and its browser has no session."""


class PageCallers:
    """Finds callers by their login or their password. `login` answers its own addresses. `further` are the rights of
    pages that others bring: the beginning of a path decides, since routes may bend the end.
    """

    def __init__(self, login: LoginFace, verifier: Verifier, further: Sequence[PageRight] = ()) -> None:
        self.login = login
        self._verifier = verifier
        self._rights = (DENIALS_PAGE, *further)

    def right_of(self, scope: Scope) -> PageRight:
        """The right that a request for a page needs."""
        own = [right for right in self._rights if scope["path"].startswith(right.prefix)]
        return own[0] if own else READING if reads(scope) else CHANGING

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
        return self.refused_in_text(refused, scope)

    def refused_in_text(self, why: NotAuthentic | AccessRefused | AwsError | NotLoggedIn, scope: Scope) -> Response:
        """The refusal for a program, or for a script of the dashboard."""
        return refused_in_text(why, scope, self.right_of(scope).advice)


def refused_in_text(
    why: NotAuthentic | AccessRefused | AwsError | NotLoggedIn, scope: Scope, advice: str = ADVICE
) -> Response:
    """The refusal of a page for a program, or for a script of the dashboard. `advice` is for who is not known."""
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
    text = f"{str(why).removesuffix('.')}. {advice}\n"
    return Response(401, text.encode(), {**headers, "www-authenticate": 'Basic realm="Torpor: access key, secret"'})


def _is_throttled(why: Exception) -> bool:
    return isinstance(why, NotAuthentic) and why.problem is Problem.THROTTLED


def _lacks_database(why: Exception) -> bool:
    return isinstance(why, NotAuthentic) and why.problem is Problem.DATABASE


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
