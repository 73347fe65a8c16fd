"""The Open Inference Protocol over REST: each inference is one InvokeEndpoint, and so is each question about a model.

The tensors go to the instance as they came: the model's format reads them there, and knows the model's inputs.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import version
from urllib.parse import quote

from torpor_account.aws.errors import AwsError
from torpor_account.aws.wire.asgi import (
    ACCESS,
    Disconnected,
    Headers,
    Receive,
    Response,
    Scope,
    Send,
    TakeInline,
    sent,
    taken,
)
from torpor_account.core.access.needs import AccessRefused
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, METADATA, MODEL_NAME, MODEL_VERSION, TENSORS
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE
from torpor_endpoint.faces.choosing_endpoints import NoSuchEndpoint, NoSuchModel
from torpor_endpoint.faces.finding_models import FaceModels, FoundModel, NoSuchLabel, versions_of
from torpor_endpoint.faces.inline_inferences import InlineInference
from torpor_endpoint.faces.open_inference.v2_answers import JSON_LENGTH, answered, in_json, refused
from torpor_endpoint.faces.open_inference.v2_control import check_control, members_of
from torpor_endpoint.faces.open_inference.v2_paths import UnknownPath, V2Action, V2Call, parsed
from torpor_endpoint.faces.passage_calls import (
    AnswersInvocations,
    bodiless,
    drained,
    invocation_scope,
    is_compressed,
    nothing,
    passed,
    raw_path_of,
    sent_whole,
)
from torpor_endpoint.runtime.face_notes import FaceNote, face_named

FACE_NAME = "open-inference"
EXTENSIONS = ("binary_tensor_data", "model_repository", "statistics")
CONTROL_BODY_BYTES = 1 << 20

Control = Callable[[V2Call, Scope, bytes], Awaitable[Response]]
"""Answers what no instance answers: index, unloading and statistics. Raises as `OpenInferenceFace` refuses."""


class OpenInferenceFace:
    """An ASGI application. `control` has a row for each action that no instance answers."""

    def __init__(self, runtime: AnswersInvocations, models: FaceModels, control: Mapping[V2Action, Control]) -> None:
        self._runtime = runtime
        self._models = models
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(parsed(scope["method"], raw_path_of(scope)), scope, receive, send)
        except Disconnected:
            return
        except UnknownPath as unknown:
            await drained(scope, receive)
            await sent(refused(str(unknown), 405 if unknown.allowed else 404), send)
        except NoSuchEndpoint as unknown:
            await sent(refused(str(unknown), 404), send)
        except NoSuchModel as unknown:
            await sent(refused(f"model {unknown} not found", 404), send)
        except NoSuchLabel as unknown:
            await sent(refused(f"the model has no label {unknown}", 404), send)
        except AccessRefused as denied:
            await sent(refused(denied.message, 403), send)
        except AwsError as error:
            await sent(refused(error.message, error.status), send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`: an inference of a model whose target is known. All else comes by ASGI."""
        try:
            call = parsed(scope["method"], raw_path_of(scope))
        except UnknownPath:
            return None
        if call.action is not V2Action.INFER or is_compressed(scope):
            return None
        way = partial(self._models.at_once, in_path=call.endpoint, model=call.model, version=call.version)
        return InlineInference(
            self._runtime, FACE_NAME, self._models.roster, way, partial(_headers, call, scope), answered
        ).take

    # -- the actions -----------------------------------------------------------------------------------------------
    async def _answer(self, call: V2Call, scope: Scope, receive: Receive, send: Send) -> None:
        match call.action:
            case V2Action.LIVE:
                await sent(in_json({"live": True}), send)
            case V2Action.READY:
                await sent(in_json({"live": True, "ready": True}), send)
            case V2Action.SERVER:
                members = {"name": "torpor", "version": version("torpor"), "extensions": list(EXTENSIONS)}
                await sent(in_json(members), send)
            case V2Action.INFER:
                await self._infer(call, scope, receive, send)
            case V2Action.METADATA:
                await sent_whole(await self._described(call, scope), send)
            case V2Action.MODEL_READY:
                await self._model_ready(call, scope, send)
            case V2Action.LOAD:
                await self._load(call, scope, await taken(scope, receive, CONTROL_BODY_BYTES), send)
            case action:
                body = await taken(scope, receive, CONTROL_BODY_BYTES)
                await sent(await self._control[action](call, scope, body), send)

    async def _infer(self, call: V2Call, scope: Scope, receive: Receive, send: Send) -> None:
        if is_compressed(scope):
            await drained(scope, receive)
            await sent(refused("the body is compressed, which this face does not read: send it plain", 415), send)
            return
        try:
            found = await self._found(call, scope)
        except (LookupError, AccessRefused):
            await drained(scope, receive)
            raise
        note = FaceNote(face_named(scope, FACE_NAME))
        inner = invocation_scope(scope, found.live.name, _headers(call, scope, found), note)
        answer = await passed(self._runtime, inner, receive)
        await sent_whole(answered(note, *answer), send)

    async def _load(self, call: V2Call, scope: Scope, body: bytes, send: Send) -> None:
        """To load a model is to ask it for its metadata."""
        members_of(body, ("parameters",), ("parameters",))
        check_control(scope)
        trusted = {name: value for name, value in scope.items() if name != ACCESS}
        status, headers, answer = await self._described(call, trusted)
        await sent_whole((status, headers, b"" if status == 200 else answer), send)

    async def _described(self, call: V2Call, scope: Scope) -> tuple[int, Headers, bytes]:
        """The metadata of a model, which the question loads. Raises as the face refuses."""
        found = await self._found(call, scope)
        note = FaceNote(face_named(scope, FACE_NAME))
        versions = call.version or ",".join(versions_of(found.live, call.model))
        kind = f"{METADATA};{MODEL_NAME}={quote(call.model, safe='')};{MODEL_VERSION}={quote(versions, safe=',')}"
        headers = [*found.headers, (CONTENT_TYPE, kind.encode())]
        answer = await passed(self._runtime, invocation_scope(bodiless(scope), found.live.name, headers, note), nothing)
        return answered(note, *answer)

    async def _model_ready(self, call: V2Call, scope: Scope, send: Send) -> None:
        """A model is ready if a request for it would be answered: what is not in memory comes when it is called."""
        await self._models.existing(scope, call.endpoint, call.model, call.version)
        await sent(in_json({"name": call.model, "ready": True}), send)

    async def _found(self, call: V2Call, scope: Scope) -> FoundModel:
        """Raises as the face refuses."""
        return await self._models.found(scope, call.endpoint, call.model, call.version)


def _headers(call: V2Call, scope: Scope, found: FoundModel) -> Headers:
    kind = TENSORS
    for name, value in scope["headers"]:
        if name == JSON_LENGTH:
            kind += f";{HEADER_SIZE}={value.decode('latin-1')}"
    kind += f";{MODEL_NAME}={quote(call.model, safe='')}"
    if call.version:
        kind += f";{MODEL_VERSION}={quote(call.version, safe='')}"
    return [*found.headers, (CONTENT_TYPE, kind.encode()), (ACCEPT, TENSORS.encode())]
