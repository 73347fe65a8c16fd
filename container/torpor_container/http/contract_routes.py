"""The container contract over HTTP: parse, call, answer. `/invocations` is plain ASGI, the rest is Starlette's.

Where the contract leaves the words to a container, they are Multi Model Server's, as it answers in AWS's own images.
"""

import io
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from torpor_container import wire
from torpor_container.errors import (
    BadInput,
    BodyTooLarge,
    ContainerError,
    LoadFailed,
    ModelFault,
    ModelNotFound,
    NotSupported,
)
from torpor_container.http.contract_requests import load_request, model_named, models_named, new_budget, page_start
from torpor_container.http.control_means import NO_MEANS, ControlMeans
from torpor_container.http.exchange import TakeInline, Tell
from torpor_container.http.streamed_answers import send_chunks, send_parts, until_caller_leaves, wants_parts
from torpor_container.invocation import Invocation, Reply, StreamReply
from torpor_container.measuring.server_timing import Clock, Timing
from torpor_container.modes.contract_mode import ContractMode
from torpor_container.modes.kept_mode import KeptMode, Serving
from torpor_container.modes.model_reports import StateRequest
from torpor_container.modes.single_mode import Single
from torpor_container.transport.frames import Header

log = logging.getLogger(__name__)

PAGE = 100
"""Models on one page of `GET /models`, as in AWS's own model server."""

WORKERS = {"runtime": "python", "minWorkers": 1, "maxWorkers": 1, "batchSize": 1, "loadedAtStartup": False}
WORKER = {"status": "READY", "gpu": False}
"""What Multi Model Server tells of a model in GetModel: ours has one worker, whatever its format."""


class Routes:
    """The routes of one instance."""

    def __init__(
        self,
        serving: Serving,
        state: Callable[[StateRequest], Awaitable[wire.InstanceStatus]],
        resize: Callable[[int], Awaitable[wire.MemoryChanged]],
        body_max_bytes: int,
        clock: Clock,
        chunked: bool = False,
        means: ControlMeans = NO_MEANS,
    ) -> None:
        """`chunked`: an answer that a model makes in parts leaves in parts, as plain HTTP, whoever calls. Otherwise
        only a caller that asks for parts by a header of Torpor's own gets them. `means` are those that an endpoint
        under test has: without them, there are no routes to them."""
        self.chunked = chunked
        self._serving = serving
        self._means = means
        self._state = state
        self._resize = resize
        self._body_max_bytes = body_max_bytes
        self._clock = clock

    def app(self, prefix: str, lifespan: Callable[[Starlette], object]) -> "HotPath":
        """The whole ASGI application; every path under `prefix`."""
        table = [
            Route(wire.PING, self.ping),
            Route(wire.MODELS, self.list_models, methods=["GET"]),
            Route(wire.MODELS, self.load_model, methods=["POST"]),
            Route(wire.MODELS + "/{name}", self.get_model, methods=["GET"]),
            Route(wire.MODELS + "/{name}", self.unload_model, methods=["DELETE"]),
            Route(wire.EXECUTION_PARAMETERS, self.execution_parameters),
            Route(wire.STATE, self.state),
            Route(wire.MEMORY, self.resize, methods=["POST"]),
            Route(wire.RELOAD_MODEL, self.reload, methods=["POST"]),
            Route(wire.UNLOAD_MODEL, self.unload, methods=["POST"]),
            Route(wire.LOAD_MODEL, self.load, methods=["POST"]),
            Route(wire.TIERS, self.tiers, methods=["POST"]),
            Route(wire.UPDATE_MODEL, self.update, methods=["POST"]),
            Route(wire.LOAD_ADAPTER, self.load_adapter, methods=["POST"]),
        ]
        table += self._means.routes(self._serving)
        routed = [Route(prefix + route.path, route.endpoint, methods=route.methods) for route in table]
        handlers = {ContainerError: _container_error}
        rest = Starlette(routes=routed, exception_handlers=handlers, lifespan=lifespan)  # type: ignore[arg-type]
        return HotPath(self, rest, prefix)

    # -- health ----------------------------------------------------------------------------------------------------
    async def ping(self, request: Request) -> Response:
        reason = self._serving.unready()
        if reason is None:
            return JSONResponse({"status": "Healthy"})
        return JSONResponse({"status": "Unhealthy", "reason": reason}, status_code=503)

    async def state(self, request: Request) -> Response:
        return JSONResponse(await self._state(StateRequest.read(request.query_params)))

    async def resize(self, request: Request) -> Response:
        return JSONResponse(await self._resize(new_budget(await request.body())))

    # -- models ----------------------------------------------------------------------------------------------------
    async def load_model(self, request: Request) -> Response:
        name, url = load_request(await request.body())
        await self._contract().load(name, url)
        return _json({"status": "Workers scaled"})

    async def list_models(self, request: Request) -> Response:
        names = sorted(model["name"] for model in self._serving.models())
        start = page_start(request.query_params.get("next_page_token"))
        answer: dict[str, object] = {"models": [self._described(name) for name in names[start : start + PAGE]]}
        if start + PAGE < len(names):
            answer["nextPageToken"] = str(start + PAGE)
        return _json(answer)

    async def get_model(self, request: Request) -> Response:
        """The contract's two members, and those that Multi Model Server adds."""
        name = request.path_params["name"]
        described = self._described(name)
        size_bytes = next((model["size_bytes"] for model in self._serving.models() if model["name"] == name), 0)
        return _json({**described, **WORKERS, "workers": [{**WORKER, "id": name, "memoryUsage": size_bytes}]})

    async def unload_model(self, request: Request) -> Response:
        name = request.path_params["name"]
        await self._contract().unload(name)
        return _json({"status": f'Model "{name}" unregistered'})

    async def reload(self, request: Request) -> Response:
        return JSONResponse(self._kept().reload(model_named(await request.body())))

    async def unload(self, request: Request) -> Response:
        return JSONResponse(self._kept().unload(model_named(await request.body())))

    async def load(self, request: Request) -> Response:
        timing = Timing(self._clock)
        await self._kept().load(model_named(await request.body()), timing, request.headers.get(wire.LOAD_REASON, ""))
        return JSONResponse(wire.OrderedLoad(led=timing.led))

    async def tiers(self, request: Request) -> Response:
        return JSONResponse({"tiers": self._kept().tiers(models_named(await request.body()))})

    async def update(self, request: Request) -> Response:
        return JSONResponse(await self._kept().update(model_named(await request.body())))

    async def load_adapter(self, request: Request) -> Response:
        if not isinstance(self._serving, Single):
            raise NotSupported("this instance takes no adapters: only one that was started for one model may")
        named, timing = InvocationHead(request.scope["headers"]).with_body(b""), Timing(self._clock)
        await self._serving.load_adapter(named, timing)
        return JSONResponse(wire.OrderedLoad(led=timing.led))

    def _described(self, name: str) -> dict[str, str]:
        """Raises ModelNotFound."""
        if isinstance(self._serving, ContractMode):
            return {"modelName": name, "modelUrl": self._serving.url_of(name)}
        if all(model["name"] != name for model in self._serving.models()):
            raise ModelNotFound(name)
        return {"modelName": name, "modelUrl": name}

    def _contract(self) -> ContractMode:
        if not isinstance(self._serving, ContractMode):
            raise NotSupported(
                "this instance loads and unloads its models by itself: to drive it, start it with "
                "SAGEMAKER_MULTI_MODEL=true and without TORPOR_MODEL_SOURCE"
            )
        return self._serving

    def _kept(self) -> KeptMode:
        if not isinstance(self._serving, KeptMode):
            raise NotSupported(
                "this instance keeps no models that leave and come: it was started for one, or by a platform"
            )
        return self._serving

    # -- transform jobs --------------------------------------------------------------------------------------------
    async def execution_parameters(self, request: Request) -> Response:
        """What a script advises. A container without a script advises nothing."""
        timing = Timing(self._clock)
        outcome: Reply | ContainerError | None = None
        if isinstance(self._serving, Single):
            try:
                outcome = await self._serving.execution_parameters(timing)
            except ContainerError as error:
                outcome = error
        if outcome is None:
            raise HTTPException(404)
        status, headers, content = _answer(None, outcome, timing)
        answer = Response(content, status)
        answer.raw_headers = _with_length(headers, content)
        return answer

    # -- invocations -----------------------------------------------------------------------------------------------
    async def invoke(self, target: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes any call, and waits where it has to."""
        timing = Timing(self._clock)
        outcome: Reply | ContainerError
        try:
            invocation = InvocationHead(scope["headers"]).with_body(await self._read(receive))
            if wants_parts(scope["headers"]):
                await until_caller_leaves(receive, self._stream(target, invocation, timing, send))
                return
            if self.chunked:
                await until_caller_leaves(receive, self._send_chunked(target, invocation, timing, send))
                return
            outcome = await self._serving.invoke(target, invocation, timing)
        except ContainerError as error:
            outcome = error
        status, headers, content = _answer(target, outcome, timing)
        await send({"type": "http.response.start", "status": status, "headers": _with_length(headers, content)})
        await send({"type": "http.response.body", "body": content})

    async def _stream(self, target: str | None, invocation: Invocation, timing: Timing, send: Send) -> None:
        """Send the answer part by part. An answer that is no success is sent whole. Raises ContainerError for what went
        wrong before the first part."""
        invocation.streamed = True
        async with self._serving.stream(target, invocation, timing) as reply:
            if not 200 <= reply.head.status < 300:
                await _send_whole(target, reply, timing, send)
                return
            status, headers, _ = _answer(target, reply.head, timing)
            failure = await send_parts((status, headers), reply.parts, send)
        if failure is not None:
            log.error("%s: %s", target or "the model", failure)

    async def _send_chunked(self, target: str | None, invocation: Invocation, timing: Timing, send: Send) -> None:
        """As `_stream`, in plain HTTP: only what a model makes in parts leaves in parts. Raises StreamBroken too."""
        invocation.streamed = True
        async with self._serving.stream(target, invocation, timing) as reply:
            if reply.whole or not 200 <= reply.head.status < 300:
                await _send_whole(target, reply, timing, send)
                return
            status, headers, _ = _answer(target, reply.head, timing)
            await send_chunks((status, headers), reply.parts, send)

    def inline(self, target: str | None, scope: Scope) -> TakeInline | None:
        """What takes the calls for this model that wait for nothing."""
        if target is None or not isinstance(self._serving, KeptMode):
            return None
        return partial(self._take_inline, self._serving, target, InvocationHead(scope["headers"]))

    def _take_inline(
        self, kept: KeptMode, target: str, head: "InvocationHead", scope: Scope, body: bytes, tell: Tell
    ) -> bool:
        if len(body) > self._body_max_bytes:
            return False
        timing = Timing(self._clock)

        def answered(outcome: Reply | ContainerError) -> None:
            tell(*_answer(target, outcome, timing))

        return kept.take_inline(target, head.with_body(body), timing, answered)

    async def _read(self, receive: Receive) -> bytes:
        """The whole body. One that is too large is read to its end and dropped, so that its caller gets an answer."""
        body = io.BytesIO()  # it gives away what it holds, where joined chunks would be there twice
        size_bytes = 0
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadInput("the body ended before it was whole")
            chunk = message.get("body", b"")
            size_bytes += len(chunk)
            if size_bytes <= self._body_max_bytes:
                body.write(chunk)
            more = message.get("more_body", False)
        if size_bytes > self._body_max_bytes:
            raise BodyTooLarge(size_bytes, self._body_max_bytes)
        return body.getvalue()


class HotPath:
    """Takes invocations out before the router: `/invocations` and `/models/{name}/invoke`."""

    def __init__(self, routes: Routes, rest: ASGIApp, prefix: str) -> None:
        self._routes = routes
        self._rest = rest
        self._invocations = prefix + wire.INVOCATIONS
        self.framed = self._invocations.encode()
        self._models = prefix + wire.MODELS + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._rest(scope, receive, send)
        elif scope["path"] == self._invocations:
            target = _header(scope, _TARGET)
            await self._routes.invoke(target, scope, receive, send)
        elif scope["path"].startswith(self._models) and scope["path"].endswith("/invoke"):
            await self._routes.invoke(scope["path"][len(self._models) : -len("/invoke")], scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `exchange.InlineApp`."""
        return self._routes.inline(_header(scope, _TARGET), scope) if scope["path"] == self._invocations else None


_TARGET = wire.TARGET_MODEL.lower().encode()
_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
_READ = (b"content-type", b"accept", _ATTRIBUTES)
_MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
_MODEL_CACHE_ONLY = wire.MODEL_CACHE_ONLY.encode()
_COLD = wire.COLD.lower().encode()
_EFFORT = wire.EFFORT.lower().encode()
_VERSION = wire.ARTIFACT_VERSION.lower().encode()
_DIGEST = wire.ARTIFACT_DIGEST.lower().encode()
_VERSION_WANTED = wire.ARTIFACT_VERSION_WANTED.encode()
_FAULT = wire.FAULT.lower().encode()


def _header(scope: Scope, name: bytes) -> str | None:
    """Its text. boto3 sends a name beyond ASCII as UTF-8."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode(errors="surrogateescape")
            return text
    return None


class InvocationHead:
    """What all invocations with the same headers have in common."""

    def __init__(self, headers: Sequence[Header]) -> None:
        named = dict(headers)
        self._read = [named.get(name, b"").decode("latin-1") for name in _READ]
        self._wants_version = named.get(_VERSION) == _VERSION_WANTED
        self._only_loaded = named.get(_MODEL_CACHE) == _MODEL_CACHE_ONLY
        self._headers = headers

    def with_body(self, body: bytes) -> Invocation:
        invocation = Invocation(body, *self._read)
        invocation.headers = self._headers
        invocation.wants_version = self._wants_version
        invocation.only_loaded = self._only_loaded
        return invocation


def _answer(target: str | None, outcome: Reply | ContainerError, timing: Timing) -> tuple[int, list[Header], bytes]:
    """Status, headers and body. A model's own fault is in the log too: AWS's ModelError sends its reader there.

    `Server-Timing` comes first: it differs every time, and the others come again and again (see `transport.frames`).
    """
    fault = None
    if isinstance(outcome, ContainerError):
        reply, fault = outcome.reply(), outcome.fault
        if isinstance(outcome, ModelFault | LoadFailed):
            log.error("%s: %s", target or "the model", outcome)
    else:
        reply = outcome
    headers = [(b"server-timing", timing.header().encode())]
    if reply.content_type:
        headers += ((b"content-type", reply.content_type.encode("latin-1")),)
    if timing.hit is not None:
        headers += ((_MODEL_CACHE, b"hit" if timing.hit else b"miss"),)
    if timing.cold is not None:
        headers += ((_COLD, json.dumps(timing.cold).encode()),)
    if timing.effort is not None:
        headers += ((_EFFORT, timing.effort.header().encode()),)
    if timing.version:
        headers += ((_VERSION, timing.version.encode("ascii", "replace")),)
    if timing.digest:
        headers += ((_DIGEST, timing.digest.encode()),)
    if fault is not None:
        headers += ((_FAULT, fault.value.encode()),)
    if reply.custom_attributes is not None:
        headers += ((_ATTRIBUTES, reply.custom_attributes.encode("latin-1", "replace")),)
    headers += reply.more
    return reply.status, headers, reply.body


def _with_length(headers: list[Header], content: bytes) -> list[Header]:
    return [*headers, (b"content-length", b"%d" % len(content))]


async def _send_whole(target: str | None, reply: StreamReply, timing: Timing, send: Send) -> None:
    body = b"".join([part async for come in reply.parts for part in come])
    status, headers, content = _answer(target, reply.head._replace(body=body), timing)
    await send({"type": "http.response.start", "status": status, "headers": _with_length(headers, content)})
    await send({"type": "http.response.body", "body": content})


def _json(document: Mapping[str, object]) -> Response:
    """As Multi Model Server writes it: on lines of its own."""
    return Response(json.dumps(document, indent=2) + "\n", media_type="application/json")


async def _container_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ContainerError)
    reply = error.reply()
    return Response(reply.body, reply.status, media_type=reply.content_type)
