"""OpenAI's API: each call is one InvokeEndpoint of the model that its body names, streamed as the container sends it.

The body goes to the container as it came. An endpoint of one model does not read it, as on AWS: the container sees what
it names.
"""

import asyncio
from functools import partial

from torpor_account.access.door import replayed
from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import Disconnected, Headers, Message, Receive, Scope, Send, sent, taken
from torpor_account.core.access.needs import AccessRefused
from torpor_container.core.protocols.protocol_types import OPENAI, OPERATION
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE
from torpor_endpoint.faces.choosing_endpoints import ONLY_MODEL, NoSuchEndpoint, NoSuchModel, kind_of
from torpor_endpoint.faces.finding_models import FaceModels, FoundModel, NoSuchLabel
from torpor_endpoint.faces.models_in_sight import ModelsInSight
from torpor_endpoint.faces.openai.named_model import BadBody, model_of
from torpor_endpoint.faces.openai.openai_answers import (
    NO_SUCH_MODEL,
    ServerSentParts,
    answered,
    listed,
    refused,
    retrieved,
)
from torpor_endpoint.faces.openai.openai_paths import OpenAiAction, OpenAiCall, WrongMethod, parsed
from torpor_endpoint.faces.passage_calls import (
    AnswersInvocations,
    drained,
    invocation_scope,
    is_compressed,
    passed,
    raw_path_of,
    sent_whole,
)
from torpor_endpoint.runtime.app import INVOCATIONS_STREAM, LIMITS
from torpor_endpoint.runtime.face_notes import FaceNote
from torpor_endpoint.runtime.streams import STREAM_ACCEPT

FACE_NAME = "openai"
PARTS = ServerSentParts()


class OpenAiFace:
    """An ASGI application."""

    def __init__(self, runtime: AnswersInvocations, models: FaceModels, sight: ModelsInSight) -> None:
        self._runtime = runtime
        self._models = models
        self._sight = sight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(parsed(scope["method"], raw_path_of(scope)), scope, receive, send)
        except Disconnected:
            return
        except WrongMethod as wrong:
            await drained(scope, receive)
            await sent(refused(405 if wrong.allowed else 404, str(wrong)), send)
        except BadBody as bad:
            await sent(refused(400, str(bad), bad.member), send)
        except NoSuchEndpoint as unknown:
            await sent(refused(404, str(unknown)), send)
        except (NoSuchModel, NoSuchLabel) as unknown:
            text = f"The model {unknown} does not exist, or you may not use it."
            await sent(refused(404, text, "model", NO_SUCH_MODEL), send)
        except AccessRefused as denied:
            await sent(refused(403, denied.message), send)
        except AwsError as error:
            await sent(refused(error.status, error.message), send)

    async def _answer(self, call: OpenAiCall, scope: Scope, receive: Receive, send: Send) -> None:
        match call.action:
            case OpenAiAction.LIST:
                seen = await self._sight.seen(scope, call.endpoint)
                await sent(await asyncio.to_thread(listed, seen), send)
            case OpenAiAction.RETRIEVE:
                found = await self._models.existing(scope, call.endpoint, call.model)
                await sent(retrieved(call.model, await self._sight.is_loaded(found, call.model)), send)
            case _:
                await self._invoke(call, scope, receive, send)

    async def _invoke(self, call: OpenAiCall, scope: Scope, receive: Receive, send: Send) -> None:
        if is_compressed(scope):
            await drained(scope, receive)
            raise AwsError("Unsupported", 415, "The body is compressed, which this face does not read: send it plain.")
        body = await taken(scope, receive, LIMITS.body_bytes)
        found = await self._found(call, scope, body)
        note = FaceNote(FACE_NAME, PARTS)
        again = replayed(body, receive)
        if call.action is OpenAiAction.EMBEDDINGS:
            inner = invocation_scope(scope, found.live.name, _headers(call, scope, found, ACCEPT), note)
            await sent_whole(answered(note, *await passed(self._runtime, inner, again)), send)
            return
        headers = _headers(call, scope, found, STREAM_ACCEPT)
        inner = invocation_scope(scope, found.live.name, headers, note, INVOCATIONS_STREAM)
        answer = _StreamedAnswer(note, send)
        await self._runtime(inner, again, answer.take)

    async def _found(self, call: OpenAiCall, scope: Scope, body: bytes) -> FoundModel:
        """Raises BadBody, and as the face refuses."""
        named = partial(self._models.found, scope, call.endpoint)
        try:
            kind = kind_of(self._models.live(scope, call.endpoint, ""))
        except NoSuchEndpoint:
            return await named(model_of(body))
        return await named(model_of(body) if kind.many or kind.components else ONLY_MODEL)


class _StreamedAnswer:
    """The runtime's answer on its way to the caller: a success as it comes, and an error in the API's form."""

    def __init__(self, note: FaceNote, send: Send) -> None:
        self._note = note
        self._send = send
        self._error: tuple[int, Headers] | None = None
        self._chunks: list[bytes] = []

    async def take(self, message: Message) -> None:
        """See `aws.wire.asgi.Send`."""
        if message["type"] == "http.response.start" and not 200 <= message["status"] < 300:
            self._error = message["status"], list(message["headers"])
        elif self._error is None:
            await self._send(message)
        else:
            self._chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                await sent_whole(answered(self._note, *self._error, b"".join(self._chunks)), self._send)


def _headers(call: OpenAiCall, scope: Scope, found: FoundModel, accept: bytes) -> Headers:
    """The headers of the InvokeEndpoint. `accept` is the one that the operation has for its member Accept."""
    accepted = [(accept, value) for name, value in scope["headers"] if name == ACCEPT]
    return [*found.headers, (CONTENT_TYPE, f"{OPENAI};{OPERATION}={call.action}".encode()), *accepted]
