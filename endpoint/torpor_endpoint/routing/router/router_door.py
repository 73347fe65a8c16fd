"""The door of a router whose control verifies callers: an ASGI application around the router's gateway."""

from functools import partial

from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.door import BODY_LIMIT_BYTES, replayed
from torpor_account.access.page_callers import READ
from torpor_account.access.problems import NotAuthentic, Problem, nobody_signed
from torpor_account.access.refusals import aws_error
from torpor_account.access.throttling import Throttle
from torpor_account.access.verifying import PAGES_SIGNED_AS, Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import (
    ACCESS,
    Disconnected,
    Receive,
    Response,
    Scope,
    Send,
    TakeInline,
    Tell,
    sent,
    taken,
)
from torpor_account.core.access.needs import AccessNeed, AccessRefused, CallerAccess
from torpor_account.core.access.rates import CallKind
from torpor_account.gateway import HEALTH, OWN_PAGES, Gateway, in_origin_form
from torpor_endpoint.access.invocations import SIGNED_AS, InvocationDoor, invocation_of
from torpor_endpoint.access.invocations import refuse as refuse_invocation
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.services.service_register import RUNTIME

ADMITS_NOBODY = "This router admits nobody: its control does not let it know who may call. The router's log says why."
ADMITTED = {RUNTIME: (SIGNED_AS, CallKind.INVOCATIONS), OWN_PAGES: (PAGES_SIGNED_AS, CallKind.PAGES)}
"""The services that a router verifies callers for: what these sign for, and the kind of call that it counts."""
READING = AccessNeed((READ,), "*")
"""What a caller of a router's page needs."""


class RouterDoor:
    """Lets those in who may call by `identities`, as long as the control lets the router follow these.

    It is no `AccessDoor`: that one has logins, passwords, uploads and S3, of which a router has none, and it refuses
    who calls another service unsigned, whom a router sends to the control.
    """

    def __init__(
        self,
        gateway: Gateway,
        verifier: Verifier,
        invocations: InvocationDoor,
        throttle: Throttle,
        identities: FollowedIdentities,
        denied: DenialNotes,
    ) -> None:
        self._gateway = gateway
        self._verifier = verifier
        self._invocations = invocations
        self._throttle = throttle
        self._identities = identities
        self._denied = denied

    def service_named(self, scope: Scope) -> str:
        """See `Gateway.service_named`."""
        return self._gateway.service_named(scope)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `InvocationDoor.inline`."""
        take = self._invocations.inline(scope)
        return None if take is None else partial(self._take_inline, take)

    def _take_inline(self, take: TakeInline, scope: Scope, body: bytes, tell: Tell) -> bool:
        return not self._identities.forbidden and take(scope, body, tell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = in_origin_form(scope)
        service = self._gateway.service_named(scope) if scope["type"] == "http" else ""
        if service not in ADMITTED or scope["path"] == HEALTH:
            await self._gateway(scope, receive, send)  # it refuses what a router does not answer
            return
        signed_as, kind = ADMITTED[service]
        try:
            body = await taken(scope, receive, BODY_LIMIT_BYTES)
            access = await self._caller(scope, body, signed_as)
            send = self._denied.noting([access], send)
            self._throttle.count(kind, access.principal)
            access.check((invocation_of(scope, access) if service == RUNTIME else READING,))
        except Disconnected:
            return
        except (NotAuthentic, AccessRefused, AwsError) as refused:
            await _refuse(service, refused, scope, send)
            return
        await self._gateway.serve(service, {**scope, ACCESS: access}, replayed(body, receive), send)

    async def _caller(self, scope: Scope, body: bytes, signed_as: str) -> CallerAccess:
        """Raises NotAuthentic; AwsError where nobody may be let in."""
        if self._identities.forbidden:
            raise AwsError("ServiceUnavailable", 503, ADMITS_NOBODY)
        try:
            access = self._verifier.caller(scope, body, signed_as)
        except NotAuthentic as refused:
            if refused.problem is not Problem.UNKNOWN_KEY:
                raise
            await self._identities.look_again()  # the control may have made the key just now
            access = self._verifier.caller(scope, body, signed_as)
        if access is None:
            raise nobody_signed()
        return access


async def _refuse(service: str, refused: NotAuthentic | AccessRefused | AwsError, scope: Scope, send: Send) -> None:
    if service == RUNTIME:
        error = refused if isinstance(refused, AwsError) else aws_error(refused, scope)
        await refuse_invocation(error, scope, send)
    else:
        await sent(_page_refusal(refused), send)


def _page_refusal(refused: NotAuthentic | AccessRefused | AwsError) -> Response:
    headers, status = {"content-type": "text/plain"}, 403 if isinstance(refused, AccessRefused) else 401
    if isinstance(refused, NotAuthentic) and refused.problem is Problem.THROTTLED:
        status, headers["retry-after"] = 429, "1"
    if isinstance(refused, AwsError):
        return Response(refused.status, f"{refused.message}\n".encode(), headers)
    return Response(status, f"{refused}\n".encode(), headers)
