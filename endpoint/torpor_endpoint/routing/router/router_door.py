"""The door of a router whose control verifies callers: an ASGI application around the router's gateway."""

import logging

from torpor_account.access.door import BODY_LIMIT_BYTES, replayed
from torpor_account.access.page_callers import READ
from torpor_account.access.problems import NotAuthentic, Problem, nobody_signed
from torpor_account.access.refusals import aws_error
from torpor_account.access.throttling import Throttle
from torpor_account.access.verifying import PAGES_SIGNED_AS, Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import ACCESS, Disconnected, Receive, Response, Scope, Send, Tell, sent, taken
from torpor_account.core.access.needs import AccessNeed, AccessRefused, CallerAccess
from torpor_account.core.access.rates import CallKind
from torpor_account.gateway import HEALTH, OWN_PAGES, Gateway, in_origin_form
from torpor_account.log_lines import about
from torpor_endpoint.access.invocations import SIGNED_AS, InvocationDoor, invocation_of, refuse
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities
from torpor_endpoint.services.service_register import RUNTIME

audit = logging.getLogger("torpor_endpoint.audit")


ADMITS_NOBODY = "This router admits nobody: its control does not let it know who may call. The router's log says why."


class RouterDoor:
    """Lets those in who may call by `identities`, as long as the control lets the router follow these."""

    def __init__(
        self,
        gateway: Gateway,
        verifier: Verifier,
        invocations: InvocationDoor,
        throttle: Throttle,
        identities: FollowedIdentities,
    ) -> None:
        self._gateway = gateway
        self._verifier = verifier
        self._invocations = invocations
        self._throttle = throttle
        self._identities = identities

    def service_named(self, scope: Scope) -> str:
        """See `Gateway.service_named`."""
        return self._gateway.service_named(scope)

    def take_inline(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `InvocationDoor.take_inline`."""
        return not self._identities.forbidden and self._invocations.take_inline(scope, body, tell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = in_origin_form(scope)
        service = self._gateway.service_named(scope) if scope["type"] == "http" else ""
        if service == RUNTIME:
            await self._invocation(scope, receive, send)
        elif service == OWN_PAGES and scope["path"] != HEALTH:
            await self._page(scope, receive, send)
        else:
            await self._gateway(scope, receive, send)  # it refuses what a router does not answer

    async def _invocation(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await taken(scope, receive, BODY_LIMIT_BYTES)
            access = await self._caller(scope, body, SIGNED_AS)
            self._throttle.count(CallKind.INVOCATIONS, access.principal)
            access.check((invocation_of(scope, access),))
        except Disconnected:
            return
        except AwsError as error:
            await refuse(error, scope, send)
            return
        except NotAuthentic as refused:
            await refuse(aws_error(refused, scope), scope, send)
            return
        except AccessRefused as denied:
            audit.info("denied: %s", denied.message, extra=about(caller=access.principal.arn))
            await refuse(aws_error(denied, scope), scope, send)
            return
        await self._gateway.serve(RUNTIME, {**scope, ACCESS: access}, replayed(body, receive), send)

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await taken(scope, receive, BODY_LIMIT_BYTES)
            access = await self._caller(scope, body, PAGES_SIGNED_AS)
            self._throttle.count(CallKind.PAGES, access.principal)
            access.check((AccessNeed((READ,), "*"),))
        except Disconnected:
            return
        except (NotAuthentic, AccessRefused, AwsError) as refused:
            await sent(_refusal(refused), send)
            return
        await self._gateway.serve(OWN_PAGES, scope, replayed(body, receive), send)

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


def _refusal(refused: NotAuthentic | AccessRefused | AwsError) -> Response:
    headers, status = {"content-type": "text/plain"}, 403 if isinstance(refused, AccessRefused) else 401
    if isinstance(refused, NotAuthentic) and refused.problem is Problem.THROTTLED:
        status, headers["retry-after"] = 429, "1"
    if isinstance(refused, AwsError):
        return Response(refused.status, f"{refused.message}\n".encode(), headers)
    return Response(status, f"{refused}\n".encode(), headers)
