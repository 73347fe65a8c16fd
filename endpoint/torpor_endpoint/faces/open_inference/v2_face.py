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
    Message,
    Receive,
    Response,
    Scope,
    Send,
    TakeInline,
    Tell,
    sent,
    taken,
)
from torpor_account.core.access.needs import AccessRefused, CallerAccess
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, METADATA, MODEL_NAME, MODEL_VERSION, TENSORS
from torpor_endpoint.core.rights import invocation
from torpor_endpoint.core.sending.machine import ACCEPT, CONTENT_TYPE, TARGET_MODEL
from torpor_endpoint.faces.choosing_endpoints import (
    NoSuchEndpoint,
    NoSuchModel,
    endpoint_for,
    named_endpoint,
    naming_headers,
)
from torpor_endpoint.faces.finding_targets import Targets
from torpor_endpoint.faces.open_inference.v2_answers import JSON_LENGTH, answered, in_json, refused
from torpor_endpoint.faces.open_inference.v2_control import ONLY_VERSION, check_control, members_of
from torpor_endpoint.faces.open_inference.v2_paths import UnknownPath, V2Action, V2Call, parsed
from torpor_endpoint.faces.passage_calls import invocation_scope, passed, sent_whole, telling
from torpor_endpoint.in_service.served_endpoints import ServedEndpoint, ServedEndpoints
from torpor_endpoint.runtime.app import RuntimeApp
from torpor_endpoint.runtime.face_notes import FaceNote

FACE_NAME = "open-inference"
EXTENSIONS = ("binary_tensor_data", "model_repository", "statistics")
CONTROL_BODY_BYTES = 1 << 20

Control = Callable[[V2Call, Scope, bytes], Awaitable[Response]]
"""Answers what no instance answers: index, unloading and statistics. Raises as `OpenInferenceFace` refuses."""


class OpenInferenceFace:
    """An ASGI application. Without a row of `control` that action is not here, but at the router's control."""

    def __init__(
        self,
        runtime: RuntimeApp,
        roster: ServedEndpoints,
        targets: Targets,
        control: Mapping[V2Action, Control],
    ) -> None:
        self._runtime = runtime
        self._roster = roster
        self._targets = targets
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(parsed(scope["method"], raw_path_of(scope)), scope, receive, send)
        except Disconnected:
            return
        except UnknownPath as unknown:
            await sent(refused(str(unknown), 405 if unknown.allowed else 404), send)
        except NoSuchEndpoint as unknown:
            await sent(refused(str(unknown), 404), send)
        except NoSuchModel as unknown:
            await sent(refused(f"model {unknown} not found", 404), send)
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
        if call.action is not V2Action.INFER or call.version not in ("", ONLY_VERSION) or is_compressed(scope):
            return None
        return InlineInference(self, call, scope).take

    def known_way(self, call: V2Call, scope: Scope) -> "tuple[ServedEndpoint, Headers] | None":
        """The endpoint and the headers of an inference; None if it has to wait for them, or will be refused."""
        try:
            live = self._live(call, scope)
            target = self._targets.known(live, call.model)
            return None if target is None else (live, self._headers(live, call, scope, target))
        except (NoSuchEndpoint, NoSuchModel):
            return None

    def invocation(self, scope: Scope, live: ServedEndpoint, headers: Headers) -> TakeInline | None:
        return self._runtime.inline(invocation_scope(scope, live.name, headers, FaceNote(FACE_NAME)))

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
                await self._metadata(call, scope, send)
            case V2Action.MODEL_READY:
                await self._model_ready(call, scope, send)
            case V2Action.LOAD:
                await self._load(call, scope, await taken(scope, receive, CONTROL_BODY_BYTES), send)
            case action:
                control = self._control.get(action)
                if control is None:
                    raise UnknownPath(f"this is a router, which answers inferences alone: ask the control for {action}")
                body = await taken(scope, receive, CONTROL_BODY_BYTES)
                await sent(await control(call, scope, body), send)

    async def _infer(self, call: V2Call, scope: Scope, receive: Receive, send: Send) -> None:
        if is_compressed(scope):
            await taken(scope, receive, 0)
            await sent(refused("the body is compressed, which this face does not read: send it plain", 415), send)
            return
        live, target = await self.found(call, scope)
        note = FaceNote(FACE_NAME)
        headers = self._headers(live, call, scope, target)
        answer = await passed(self._runtime, invocation_scope(scope, live.name, headers, note), receive)
        if answer[0]:
            await sent_whole(answered(note, *answer), send)

    async def _metadata(self, call: V2Call, scope: Scope, send: Send) -> None:
        await sent_whole(await self._described(call, scope), send)

    async def _load(self, call: V2Call, scope: Scope, body: bytes, send: Send) -> None:
        """To load a model is to ask it for its metadata."""
        members_of(body, ("parameters",), ("parameters",))
        check_control(scope)
        trusted = {name: value for name, value in scope.items() if name != ACCESS}
        status, headers, answer = await self._described(call, trusted)
        await sent_whole((status, headers, b"" if status == 200 else answer), send)

    async def _described(self, call: V2Call, scope: Scope) -> tuple[int, Headers, bytes]:
        """The metadata of a model, which the question loads. Raises as the face refuses."""
        live, target = await self.found(call, scope)
        note = FaceNote(FACE_NAME)
        kind = f"{METADATA};{MODEL_NAME}={quote(call.model, safe='')};{MODEL_VERSION}={call.version or ONLY_VERSION}"
        headers = [*naming_headers(live, call.model, target), (CONTENT_TYPE, kind.encode())]
        kept = {**scope, "headers": [header for header in scope["headers"] if header[0] != b"content-length"]}
        answer = await passed(self._runtime, invocation_scope(kept, live.name, headers, note), nothing)
        return answered(note, *answer)

    async def _model_ready(self, call: V2Call, scope: Scope, send: Send) -> None:
        """A model is ready if a request for it would be answered: what is not in memory comes when it is called."""
        live, target = await self.found(call, scope)
        naming_headers(live, call.model, target)
        if not await self._targets.exists(live, target):
            raise NoSuchModel(call.model)
        await sent(in_json({"name": call.model, "ready": True}), send)

    async def found(self, call: V2Call, scope: Scope) -> tuple[ServedEndpoint, str]:
        """The endpoint and the TargetModel, for a caller who may invoke it. Raises as the face refuses."""
        live = self._live(call, scope)
        if call.version not in ("", ONLY_VERSION):
            raise NoSuchModel(f"{call.model} with version {call.version}")
        target = await self._targets.found(live, call.model)
        access: CallerAccess | None = scope.get(ACCESS)
        if access is not None:
            access.check((invocation("InvokeEndpoint", live.name, target_in(live, call, target), access.place),))
        return live, target

    def _live(self, call: V2Call, scope: Scope) -> ServedEndpoint:
        """Raises NoSuchEndpoint."""
        return endpoint_for(named_endpoint(scope, call.endpoint, self._roster), call.model, self._roster)

    def _headers(self, live: ServedEndpoint, call: V2Call, scope: Scope, target: str) -> Headers:
        """Raises NoSuchModel."""
        kind = TENSORS
        for name, value in scope["headers"]:
            if name == JSON_LENGTH:
                kind += f";{HEADER_SIZE}={value.decode('latin-1')[:20]}"
        kind += f";{MODEL_NAME}={quote(call.model, safe='')}"
        if call.version:
            kind += f";{MODEL_VERSION}={call.version}"
        naming = naming_headers(live, call.model, target)
        return [*naming, (CONTENT_TYPE, kind.encode()), (ACCEPT, TENSORS.encode())]


class InlineInference:
    """Takes the inferences with one head inline. The way is found out anew when endpoints change."""

    def __init__(self, face: OpenInferenceFace, call: V2Call, scope: Scope) -> None:
        self._face = face
        self._call = call
        self._scope = scope
        self._way: tuple[ServedEndpoint, Headers] | None = None
        self._take: TakeInline | None = None

    def take(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `aws.wire.asgi.TakeInline`."""
        way = self._face.known_way(self._call, scope)
        if way is None:
            return False
        if way != self._way:
            self._take, self._way = self._face.invocation(self._scope, *way), way
        if self._take is None:
            return False
        live, headers = way
        note = FaceNote(FACE_NAME)
        inner = invocation_scope(scope, live.name, headers, note)
        return self._take(inner, body, telling(tell, partial(answered, note)))


def target_in(live: ServedEndpoint, call: V2Call, target: str) -> str | None:
    """The target model of the invocation; None where it names none. Raises NoSuchModel."""
    names = [name for name, _ in naming_headers(live, call.model, target)]
    return target if TARGET_MODEL in names else None


def raw_path_of(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    return raw.partition(b"?")[0].decode("latin-1")


def is_compressed(scope: Scope) -> bool:
    return any(
        name == b"content-encoding" and value.lower() not in (b"identity", b"") for name, value in scope["headers"]
    )


async def nothing() -> Message:
    """The body of a request that has none."""
    return {"type": "http.request", "body": b"", "more_body": False}
