"""Sends requests below `/_torpor/` to the dashboard or to the other pages, each with its own security headers.

It imports no web framework: an endpoint at which nobody looks never loads one.
"""

from types import MappingProxyType

from torpor_account.aws.wire.asgi import HARMLESS, App, Receive, Scope, Send, adding

PAGE = "/_torpor/"
PREFIX = "/_torpor/dashboard/"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""The page loads from this endpoint alone, runs only its own files, and turns no text into markup."""

HEADERS = MappingProxyType(
    {
        "x-content-type-options": "nosniff",
        "content-security-policy": POLICY,
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
    }
)


class Door:
    """An ASGI application around the dashboard and the other pages."""

    def __init__(self, dashboard: App, pages: App) -> None:
        self._dashboard = dashboard
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_dashboards(scope):
            await self._dashboard(scope, receive, adding(send, HEADERS))
        else:
            await self._pages(scope, receive, adding(send, HARMLESS))


def is_dashboards(scope: Scope) -> bool:
    """Whether the request is for the dashboard. `/_torpor/` is a page for browsers, and a list in text for others."""
    path = scope["path"]
    if path != PAGE:
        return bool(path.startswith(PREFIX))
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return b"text/html" in accepted
