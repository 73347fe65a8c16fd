"""The pages of credentials: an instance's SDKs ask here for those of its role, and again before they expire.

They speak the protocol of the SDKs' container provider: `AWS_CONTAINER_CREDENTIALS_FULL_URI` is the page's address, and
`AWS_CONTAINER_AUTHORIZATION_TOKEN` the header Authorization.
https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html

A second page says whether the role may read an object, for an instance that reads it in place then.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs

from torpor_account.aws.wire.asgi import HARMLESS, App, Receive, Response, Scope, Send, sent
from torpor_account.iam.execution.grants import NoGrant, RoleGrants
from torpor_account.iam.execution.refused import RoleRefused
from torpor_container.processes.inherited_variables import CREDENTIALS, READABLE

WhyUnreadable = Callable[[str, str, str, str], str | None]
"""Says why a role may not read an object, or None: takes the ARNs of the role and of what it is used for, bucket
and key."""


class CredentialsPages:
    """ASGI applications."""

    def __init__(self, grants: RoleGrants, why_unreadable: WhyUnreadable) -> None:
        self._grants = grants
        self._why_unreadable = why_unreadable

    @property
    def by_path(self) -> Mapping[str, App]:
        """Each page by its path."""
        return {CREDENTIALS: self.lend, READABLE: self.may_read}

    async def lend(self, scope: Scope, receive: Receive, send: Send) -> None:
        await sent(await _answered(scope, self._lent), send)

    async def may_read(self, scope: Scope, receive: Receive, send: Send) -> None:
        await sent(await _answered(scope, lambda token: self._permitted(scope, token)), send)

    def _lent(self, token: str) -> Response:
        """Raises NoGrant, RoleRefused."""
        found = self._grants.credentials(token)
        return _json(
            200,
            {
                "RoleArn": found.role,
                "AccessKeyId": found.access_key,
                "SecretAccessKey": found.secret,
                "Token": found.token,
                "Expiration": datetime.fromtimestamp(found.expires_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        )

    def _permitted(self, scope: Scope, token: str) -> Response:
        """Raises NoGrant."""
        grant = self._grants.of(token)
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        bucket, key = (asked.get(name, [""])[0] for name in ("bucket", "key"))
        if not (bucket and key):
            return _refusal(400, "ValidationError", "Give bucket and key.")
        why = self._why_unreadable(grant.role, grant.source, bucket, key)
        return _json(200, {}) if why is None else _refusal(403, "AccessDenied", why)


async def _answered(scope: Scope, answer: Callable[[str], Response]) -> Response:
    if scope["method"] != "GET":
        return _refusal(405, "MethodNotAllowed", "Ask for it by GET.")
    tokens = [value for name, value in scope["headers"] if name == b"authorization"]
    try:
        if len(tokens) != 1:
            raise NoGrant
        return await asyncio.to_thread(answer, tokens[0].decode("latin-1"))
    except NoGrant:
        return _refusal(403, "AccessDenied", "No instance that runs has this token.")
    except RoleRefused as refused:
        return _refusal(403, "AssumeRoleUnauthorizedAccess", str(refused))


def _refusal(status: int, code: str, message: str) -> Response:
    """The members that the SDKs show of an error."""
    return _json(status, {"code": code, "message": message})


def _json(status: int, members: Mapping[str, str]) -> Response:
    headers = {"content-type": "application/json", "cache-control": "no-store", **HARMLESS}
    return Response(status, json.dumps(members).encode(), headers)
