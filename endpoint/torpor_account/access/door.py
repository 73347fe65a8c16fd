"""The door of an endpoint that verifies its callers: an ASGI application around the gateway.

Every request that comes through is signed by a known key, or is one that needs no signature: the page of health, and a
request to S3, where a bucket's policy may let everybody in. The caller goes on with the request in its scope
(`aws.wire.asgi.ACCESS`): services check what the caller may do once they know what is wanted. Here that is done for
Torpor's own pages and for services whose requests say it in their heads (`CallsByHead`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from torpor_account.access.denial_notes import DenialNotes
from torpor_account.access.page_callers import NotLoggedIn, PageCallers, is_dashboards, reads, signed_as
from torpor_account.access.problems import NotAuthentic, Problem, database_away, nobody_signed
from torpor_account.access.refusals import Refuse, aws_error, refuse_in_protocol
from torpor_account.access.s3_bodies import NEEDLESS_MAX_BYTES, checked, compare, is_needless
from torpor_account.access.throttling import UNLIMITED, Throttle
from torpor_account.access.verifying import PAGES_SIGNED_AS, Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import (
    ACCESS,
    FORMS,
    App,
    Disconnected,
    Inline,
    Message,
    Receive,
    Response,
    Scope,
    Send,
    TakeInline,
    adding,
    sent,
    taken,
)
from torpor_account.aws.wire.scope import MISDIRECTED
from torpor_account.core.access.needs import AccessNeed, AccessRefused, CallerAccess
from torpor_account.core.access.principals import PrincipalKind
from torpor_account.core.access.rates import CallKind
from torpor_account.core.outages.records_fault import RecordsFault
from torpor_account.gateway import HEALTH, OWN_PAGES, Gateway, in_origin_form

if TYPE_CHECKING:
    from torpor_account.s3.errors import S3Error

log = logging.getLogger(__name__)

BODY_LIMIT_BYTES = 8 << 20
"""The largest body of a request to any service but S3: it is read whole, since the signature covers it."""


def _nobody_unsigned(scope: Scope) -> bool:
    return False


@dataclass(frozen=True)
class CallsByHead:
    """The calls of a service whose requests say in their heads what they are for."""

    kind: CallKind
    need: Callable[[Scope, CallerAccess], AccessNeed] | None
    """Raises AccessRefused for a request that names two things. None: the service itself checks what callers may."""
    refuse: Refuse
    anybody: Callable[[Scope], bool] = _nobody_unsigned
    """Whether a request needs no caller, such as one that asks for health."""
    unsigned: Sequence[Callable[[Verifier, Scope], CallerAccess | None]] = ()
    """What else finds the caller of a request that is not signed, such as `Verifier.password_caller`; None: nobody."""


class AboutCallers(Protocol):
    """A page of a caller about itself, which needs no right."""

    def asked(self, scope: Scope, access: CallerAccess) -> bool:
        """Whether it is the request of a caller for the page about itself."""

    async def answer(self, scope: Scope, access: CallerAccess) -> Response | None:
        """The page; None for a person who has nothing of its own to see. Raises RecordsFault."""


class AccessDoor:
    """An ASGI application. `inline` takes up requests without a task, once it knows that their callers may.

    `by_head` are services by botocore's names. `tokened` are pages, by path, whose callers have a token in place of a
    signature: they verify it themselves.
    """

    def __init__(
        self,
        gateway: Gateway,
        verifier: Verifier,
        pages: PageCallers,
        denied: DenialNotes,
        throttle: Throttle = UNLIMITED,
        tokened: Mapping[str, App] = MappingProxyType({}),
        about_callers: AboutCallers | None = None,
        by_head: Mapping[str, CallsByHead] = MappingProxyType({}),
        inline: Inline | None = None,
    ) -> None:
        self._gateway = gateway
        self._verifier = verifier
        self._throttle = throttle
        self._by_head = by_head
        self._inline = inline
        self._pages = pages
        self._denied = denied
        self._tokened = tokened
        self._about_callers = about_callers

    def service_named(self, scope: Scope) -> str:
        """See `Gateway.service_named`."""
        return self._gateway.service_named(scope)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`."""
        return None if self._inline is None else self._inline(scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._gateway(scope, receive, send)
            return
        scope = in_origin_form(scope)
        service = self._gateway.service_named(scope)
        if scope["path"] in self._tokened:
            await self._tokened[scope["path"]](scope, receive, send)
        elif service == OWN_PAGES:
            await self._own_pages(scope, receive, send)
        elif service == "s3":
            await self.s3(partial(self._gateway.serve, service), scope, receive, send)
        elif service == MISDIRECTED:
            await self._gateway.serve(service, scope, receive, send)  # it refuses the request
        else:
            await self._signed(service, scope, receive, send)

    async def s3(self, store: App, scope: Scope, receive: Receive, send: Send) -> None:
        """A request to S3: `store` answers it, and checks what its caller may do."""
        body = None
        try:
            if is_dashboards(scope) and scope["method"] == "PUT":  # the dashboard's uploads
                access = self._pages.dashboards(scope)
            else:
                access, body = self._verifier.s3_caller(scope)
                if body is not None and is_needless(body, scope):
                    content = await taken(scope, receive, NEEDLESS_MAX_BYTES)
                    receive = replayed(content, receive)
                    compare(body, content)
            self._throttle.count(CallKind.S3, access.principal)
        except Disconnected:
            return
        except AwsError as error:
            await _refuse_s3(NotAuthentic(Problem.PAYLOAD, error.message), scope, replayed(b"", receive), send)
            return
        except (NotLoggedIn, AccessRefused) as asked:
            await _drain(scope, receive)
            await sent(self._pages.refused_in_text(asked, scope), send)
            return
        except NotAuthentic as refused:
            await _refuse_s3(refused, scope, receive, send)
            return
        more: dict[str, object] = {ACCESS: access}
        callers = [access]
        if body is None and access.principal.kind is PrincipalKind.ANONYMOUS:
            more[FORMS] = partial(_form_signer, self._verifier, scope, callers)
        elif body is not None:
            receive = checked(body, scope["method"], receive)
        await store({**scope, **more}, receive, self._denied.noting(callers, send))

    async def _signed(self, service: str, scope: Scope, receive: Receive, send: Send) -> None:
        calls = self._by_head.get(service)
        refuse = refuse_in_protocol if calls is None else calls.refuse
        if calls is not None and calls.anybody(scope):
            await self._gateway.serve(service, scope, receive, send)
            return
        try:
            body = await taken(scope, receive, BODY_LIMIT_BYTES)
        except Disconnected:
            return
        except AwsError as error:
            await refuse(error, scope, send)
            return
        try:
            if calls is not None and is_dashboards(scope):
                access = self._pages.dashboards(scope)
            else:
                access = self._unsigned(calls, scope) or self._caller(scope, body, signed_as(scope))
            send = self._denied.noting([access], send)
            self._throttle.count(CallKind.CONTROL if calls is None else calls.kind, access.principal)
            if calls is not None and calls.need is not None:
                access.check((calls.need(scope, access),))
        except NotLoggedIn as asked:
            await sent(self._pages.refused_in_text(asked, scope), send)
            return
        except (NotAuthentic, AccessRefused) as refused:
            await refuse(aws_error(refused, scope), scope, send)
            return
        await self._gateway.serve(service, {**scope, ACCESS: access}, replayed(body, receive), send)

    async def _own_pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Torpor's pages take the cookie of a login, a signature, or by HTTP's Basic authentication a program's key."""
        if scope["path"] == HEALTH and reads(scope):
            await self._gateway.serve(OWN_PAGES, scope, receive, send)
            return
        if self._pages.login.answers(scope):
            await self._pages.login(scope, receive, send)
            return
        try:
            body = await taken(scope, receive, BODY_LIMIT_BYTES)
            access = self._pages.caller(scope) or self._caller(scope, body, PAGES_SIGNED_AS)
            send = self._denied.noting([access], send)
            if await self._about_itself(scope, access, send):
                return
            right = self._pages.right_of(scope)
            need = AccessNeed((right.action,), "*")
            if right.counted or not access.decide(need).allowed:
                self._throttle.count(CallKind.PAGES, access.principal)
            access.check((need,))
        except Disconnected:
            return
        except (NotAuthentic, AccessRefused, AwsError) as refused:
            await sent(self._pages.refusal(refused, scope), send)
            return
        await self._gateway.serve(OWN_PAGES, {**scope, ACCESS: access}, replayed(body, receive), send)

    async def _about_itself(self, scope: Scope, access: CallerAccess, send: Send) -> bool:
        """Whether the request is for the page of a caller about itself, which needs no right, and is answered."""
        if self._about_callers is None or not self._about_callers.asked(scope, access):
            return False
        self._throttle.count(CallKind.PAGES, access.principal)
        try:
            answer = await self._about_callers.answer(scope, access)
        except RecordsFault as fault:
            log.error("the page %s cannot be answered: %s", scope["path"], fault)
            raise database_away() from fault
        if answer is not None:
            await sent(answer, send)
        return answer is not None

    def _unsigned(self, calls: CallsByHead | None, scope: Scope) -> CallerAccess | None:
        """Who sends what a service takes in place of a signature. Raises NotAuthentic, AccessRefused."""
        finders = () if calls is None else calls.unsigned
        return next((caller for find in finders if (caller := find(self._verifier, scope)) is not None), None)

    def _caller(self, scope: Scope, body: bytes, signed_as: str) -> CallerAccess:
        """Who signed the request. Raises NotAuthentic, also where nobody did."""
        access = self._verifier.caller(scope, body, signed_as)
        if access is None:
            raise nobody_signed()
        return access


async def _drain(scope: Scope, receive: Receive) -> None:
    """Read a body, so that its sender reads the answer."""
    with suppress(AwsError, Disconnected):
        await taken(scope, receive, 0)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body again, and then what comes after it."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again


# -- refusals, in the form of the service that was called --------------------------------------------------------------
async def _refuse_s3(why: NotAuthentic, scope: Scope, receive: Receive, send: Send) -> None:
    from torpor_account.s3.edge import refusing_with

    if why.region:  # the answer to a HEAD has no document, and clients read this header
        send = adding(send, {"x-amz-bucket-region": why.region})
    await refusing_with(partial(_s3_error, why))(scope, receive, send)


def _s3_error(why: NotAuthentic) -> "S3Error":
    from torpor_account.s3.errors import Refusal, S3Error

    helping = {"StringToSign": why.to_sign, "SignatureProvided": why.given, "CanonicalRequest": why.canonical}
    elements = {name: text for name, text in helping.items() if text} if why.to_sign else {}
    if why.region:
        elements["Region"] = why.region
    message = None if why.problem is Problem.THROTTLED else why.message
    return S3Error(Refusal[why.problem.s3], message, **elements)


def _form_signer(
    verifier: Verifier, scope: Scope, callers: list[CallerAccess], fields: Mapping[str, str]
) -> CallerAccess:
    """Raises S3Error. The signer joins the callers of the request."""
    try:
        callers.append(verifier.form_caller(scope, fields))
    except NotAuthentic as refused:
        raise _s3_error(refused) from None
    return callers[-1]
