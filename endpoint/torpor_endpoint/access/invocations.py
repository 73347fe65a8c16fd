"""The door of the runtime: verifies who invokes, and what they may invoke. The control and its routers have it."""

import json
import uuid
from collections.abc import Sequence
from functools import partial

from torpor_account.access.door import CallsByHead
from torpor_account.access.problems import NotAuthentic, Problem
from torpor_account.access.throttling import UNLIMITED, Throttle
from torpor_account.access.verifying import Verifier
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Inline, Response, Scope, Send, TakeInline, Tell, sent
from torpor_account.aws.wire.scope import RUNTIME_PATH
from torpor_account.core.access.needs import AccessNeed, AccessRefused, CallerAccess
from torpor_account.core.access.rates import CallKind
from torpor_account.iam.identities.directory import KnownKey
from torpor_endpoint.core.rights import invocation

SIGNED_AS = "sagemaker"
"""The name that clients of the runtime sign for."""

TARGET_MODEL = b"x-amzn-sagemaker-target-model"
TARGET_CONTAINER = b"x-amzn-sagemaker-target-container-hostname"
TARGETS = (TARGET_MODEL, TARGET_CONTAINER)
"""The headers that say what an invocation is for, and that policies are asked about. Each may be there once."""
NAMING = frozenset((*TARGETS, b"x-amz-target", b"smithy-protocol"))
"""The headers that name a target, or another service than the runtime."""
ALLOWED_MAX = 4096
"""The most invocations of one caller that are remembered as allowed."""
ALLOWED_MAX_BYTES = 1024
"""The most bytes of one that is remembered: a caller may name models that do not exist."""
Asked = tuple[str | tuple[bytes, bytes], ...]
"""An invocation: its path, and the headers that name its targets."""

THROTTLED, _ = Problem.THROTTLED.json

OPERATIONS = {
    "invocations": "InvokeEndpoint",
    "async-invocations": "InvokeEndpointAsync",
    "invocations-response-stream": "InvokeEndpointWithResponseStream",
}


class InvocationDoor:
    """`runtime` takes invocations without a task, once their callers are known."""

    def __init__(self, verifier: Verifier, runtime: Inline, throttle: Throttle = UNLIMITED) -> None:
        self._verifier = verifier
        self._runtime = runtime
        self._limited = None if throttle.invocations is None else partial(throttle.inline, throttle.invocations)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`. What is refused comes again by ASGI, and gets its reason there."""
        path = scope["path"]
        if scope["method"] != "POST" or RUNTIME_PATH.fullmatch(path) is None:
            return None
        naming = [header for header in scope["headers"] if header[0] in NAMING]
        if naming and (naming[0][0] not in TARGETS or (naming[1:] and not _is_one_of_each(naming))):
            return None  # two models, or perhaps another service: the gateway knows
        take = self._runtime(scope)
        return None if take is None else partial(self._take_inline, (path, *naming), take)

    def _take_inline(self, asked: Asked, take: TakeInline, scope: Scope, body: bytes, tell: Tell) -> bool:
        try:
            known = self._verifier.signer(scope, body, SIGNED_AS)
            if known is None:
                return False
            if asked not in known.allowed:
                self._check_invocation(scope, known, asked)
        except (NotAuthentic, AccessRefused):
            return False
        if self._limited is not None:
            return self._limited(known.principal, take, scope, body, tell)
        return take(scope, body, tell)

    def _check_invocation(self, scope: Scope, known: KnownKey, asked: Asked) -> None:
        """Raises AccessRefused. Remembers what is allowed until policies change, if no circumstance had a say."""
        access = self._verifier.access(scope, known)
        access.check((invocation_of(scope, access),))
        is_short = sum(len(part) if isinstance(part, str) else len(part[1]) for part in asked) <= ALLOWED_MAX_BYTES
        if is_short and not access.circumstances and len(known.allowed) < ALLOWED_MAX:
            known.allowed.add(asked)


def _is_one_of_each(naming: Sequence[tuple[bytes, bytes]]) -> bool:
    return sorted(name for name, _ in naming) == sorted(TARGETS)


def invocation_of(scope: Scope, access: CallerAccess) -> AccessNeed:
    """What a request to the runtime needs. No request has two targets of a kind: its head is refused."""
    name, _, operation = scope["path"].removeprefix("/endpoints/").rpartition("/")
    target, container = (_target(scope, header) for header in TARGETS)
    return invocation(OPERATIONS[operation], name, target, access.place, container)


def _target(scope: Scope, header: bytes) -> str | None:
    return next((value.decode(errors="replace") for name, value in scope["headers"] if name == header), None)


async def refuse(error: AwsError, scope: Scope, send: Send) -> None:
    """Answer a request to the runtime with an error, in the runtime's own form."""
    kind = f"{error.code}:http://internal.amazon.com/coral/com.amazon.coral.service/"
    headers = {"content-type": "application/json", "x-amzn-errortype": kind, "x-amzn-requestid": str(uuid.uuid4())}
    refused_caller = error.status == 400 and error.code != THROTTLED  # AWS: 403 for a caller who is refused
    status = 403 if refused_caller else error.status
    await sent(Response(status, json.dumps({"message": error.message}).encode(), headers), send)


AT_THE_DOOR = CallsByHead(CallKind.INVOCATIONS, invocation_of, refuse)
"""How the door of the whole endpoint asks for the rights of invocations that are not taken inline."""
