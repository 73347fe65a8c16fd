"""Makes the ASGI scope of each request of one connection."""

from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.types import Scope

from torpor_container.core.clients import client_of
from torpor_container.http.messages.request_heads import RequestHead, forwarded_scheme
from torpor_container.http.sharing.channel import Ends

TLS_VERSIONS = {"TLSv1.2": 0x0303, "TLSv1.3": 0x0304}
"""The numbers of ASGI's extension `tls`, by Python's names. The server speaks no older ones."""


class RequestScopes:
    """The scopes of one connection, by its ends. `over_tls`: its client speaks TLS.

    A proxy on this machine, and a client by a Unix socket, may tell by a header that its own client speaks TLS.
    """

    def __init__(self, ends: Ends, state: dict[str, Any]) -> None:
        self.ends = ends
        self.over_tls = ends.tls is not None
        self._state = state
        self._trusted = ends.peer is None or client_of(ends.peer[0]) is None
        self._alike: Scope = {
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "scheme": "https" if self.over_tls else "http",
            "root_path": "",
            "server": ends.own,
            "client": ends.peer,
        }
        if ends.tls is not None:
            self._alike["extensions"] = {"tls": {"tls_version": TLS_VERSIONS.get(ends.tls)}}

    def of(self, head: RequestHead, part: Scope) -> Scope:
        """The scope of a request. `part` is its head's, by `scope_of`. Raises RequestRefused."""
        scope = {**self._alike, **part, "state": self._state.copy()}
        if head.forwarded and self._trusted:
            scope["scheme"] = forwarded_scheme(head.headers)
        return scope

    def of_frames(self, path: bytes) -> Scope:
        """What the scopes of all requests have in common that come as frames."""
        head = RequestHead("POST", path, b"1.1", [], 0, True, False, False)
        return self.of(head, scope_of(head))


def scope_of(head: RequestHead) -> Scope:
    """What a scope has from its request's head."""
    raw_path, _, query = head.target.partition(b"?")
    return {
        "type": "http",
        "http_version": head.version.decode(),
        "method": head.method,
        "path": (unquote_to_bytes(raw_path) if b"%" in raw_path else raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query,
        "headers": head.headers,
    }
