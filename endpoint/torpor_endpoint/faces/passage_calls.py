"""Has the runtime answer a face's request: one InvokeEndpoint, whose answer comes back in the face's own words."""

import json
from contextlib import suppress
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import App, Headers, Message, Receive, Scope, Send, TakeInline, taken
from torpor_container.wire import Fault
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE, TARGET_MODEL
from torpor_endpoint.runtime.app import INVOCATIONS, PREFIX
from torpor_endpoint.runtime.errors import RuntimeFault, Situation
from torpor_endpoint.runtime.face_notes import FACE, FaceNote
from torpor_endpoint.runtime.request import INFERENCE_COMPONENT

REPLACED = frozenset({CONTENT_TYPE, ACCEPT, TARGET_MODEL, INFERENCE_COMPONENT, b"authorization"})
"""The headers of a face's request that do not go on: InvokeEndpoint gets others, and no container a password."""
LENGTH = b"content-length"


class AnswersInvocations(Protocol):
    """Answers InvokeEndpoint: the runtime, or what says where invocations belong."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def inline(self, scope: Scope) -> TakeInline | None: ...


class Failure(NamedTuple):
    """Why a request has no answer, for the protocols that say it by HTTP's status and a text."""

    status: int
    message: str


def invocation_scope(
    scope: Scope, endpoint: str, headers: Headers, note: FaceNote, operation: str = INVOCATIONS
) -> Scope:
    """The scope of the InvokeEndpoint that stands for a face's request. `headers` come in place of REPLACED."""
    return {**scope, **invocation_members(scope, endpoint, headers, operation), FACE: note}


def invocation_members(scope: Scope, endpoint: str, headers: Headers, operation: str = INVOCATIONS) -> dict[str, Any]:
    """What the scope of such an InvokeEndpoint has in place of the face's own, but its note."""
    kept = [header for header in scope["headers"] if header[0] not in REPLACED]
    path = f"{PREFIX}{endpoint}/{operation}"
    own = {"method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
    return {**own, "headers": [*kept, *headers]}


async def passed(runtime: App, scope: Scope, receive: Receive) -> tuple[int, Headers, bytes]:
    """The runtime's whole answer."""
    status, headers, chunks = 500, [], []

    async def take(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], list(message["headers"])
        else:
            chunks.append(message.get("body", b""))

    await runtime(scope, receive, take)
    return status, headers, b"".join(chunks)


def bodiless(scope: Scope) -> Scope:
    """The same request without what says that it has a body."""
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != LENGTH]}


async def nothing() -> Message:
    """The body of a request that has none."""
    return {"type": "http.request", "body": b"", "more_body": False}


async def drained(scope: Scope, receive: Receive) -> None:
    """Read the body of a request that is refused, so that its sender reads the answer. Raises Disconnected."""
    with suppress(AwsError):
        await taken(scope, receive, 0)


def raw_path_of(scope: Scope) -> str:
    """The path as it was sent, still encoded."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.partition(b"?")[0].decode("latin-1")


def is_compressed(scope: Scope) -> bool:
    given = [value.lower() for name, value in scope["headers"] if name == b"content-encoding"]
    return any(value not in (b"identity", b"") for value in given)


async def sent_whole(answer: tuple[int, Headers, bytes], send: Send) -> None:
    status, headers, body = answer
    kept = [header for header in headers if header[0] != LENGTH]
    kept.append((LENGTH, b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": kept})
    await send({"type": "http.response.body", "body": body})


def failure_of(fault: RuntimeFault | None, status: int, body: bytes) -> Failure:
    """What went wrong, of the runtime's refusal in `body`."""
    if fault is None:
        return Failure(status, _message(body))
    if fault.original is not None:
        code, text = fault.original
        return Failure(code if 400 <= code < 600 else 500, _said(text))
    if fault.situation is Situation.ENDPOINT_UNKNOWN or fault.cause is Fault.ARTIFACT_MISSING:
        return Failure(404, _message(body))
    return Failure(STATUSES.get(fault.situation, fault.situation.status), _message(body))


STATUSES = {
    Situation.THROTTLED: 429,
    Situation.NOT_READY: 503,
    Situation.DEPENDENCY: 503,
    Situation.NO_CAPACITY: 503,
    Situation.COMPONENT_NO_CAPACITY: 503,
    Situation.COMPONENT_UNKNOWN: 404,
}
"""HTTP's own words for what AWS says by 400 or by a status of its own."""


def _message(body: bytes) -> str:
    """The text of an error of the runtime."""
    try:
        members = json.loads(body)
        text = members.get("message") or members.get("Message")
    except (ValueError, AttributeError, RecursionError):
        text = body.decode("utf-8", "replace")
    return text or "Rate exceeded: try again later."


def _said(text: str) -> str:
    """What a container says: the message, where it says it in Multi Model Server's form."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for member in ("message", "error"):
        if isinstance(members, dict) and isinstance(members.get(member), str):
            said: str = members[member]
            return said
    return text
