"""The Open Inference Protocol over gRPC: each call asks the face over REST, and answers in the service's messages."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError

from torpor_endpoint.faces.grpc_face.grpc_messages import (
    OF_REPOSITORY,
    PACKAGE,
    REPOSITORY,
    SERVICE,
    STREAM,
    UNARY,
    message,
)
from torpor_endpoint.faces.grpc_face.grpc_tensors import BadAnswer, BadTensor, body_of, response_of
from torpor_endpoint.faces.grpc_face.http_questions import HttpAnswer, HttpQuestions, model_path

NAME = f"{PACKAGE}.{SERVICE}"
JSON_LENGTH = b"inference-header-content-length"
CODES = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
    507: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
"""Of HTTP's statuses; any other is INVALID_ARGUMENT below 500, and INTERNAL else."""


class RefusedByFace(Exception):
    """The face refuses a call."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class InferenceService:
    """Makes the handlers of the service. At most `streams_max` streams are open at once: one that says nothing takes as
    much as a call, and others shall find room."""

    def __init__(self, questions: HttpQuestions, streams_max: int) -> None:
        self._questions = questions
        self._streams_max = streams_max
        self._streams = 0

    def handlers(self) -> tuple[Any, Any]:
        """Of the service, and of MLServer's service of its repository."""
        calls: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
            "ServerLive": self._live,
            "ServerReady": self._ready,
            "ModelReady": self._model_ready,
            "ServerMetadata": self._server_metadata,
            "ModelMetadata": self._model_metadata,
            "ModelInfer": self._infer,
            "ModelStatistics": self._statistics,
            "RepositoryIndex": self._index,
            "RepositoryModelLoad": self._load,
            "RepositoryModelUnload": self._unload,
        }
        handlers = {name: _unary(name, calls[name]) for name in UNARY}
        handlers[STREAM] = grpc.stream_stream_rpc_method_handler(
            self._stream,
            request_deserializer=_reader("ModelInferRequest"),
            response_serializer=message(f"{STREAM}Response").SerializeToString,
        )
        of_repository = {name: handlers[name] for name in OF_REPOSITORY}
        return (
            grpc.method_handlers_generic_handler(NAME, handlers),
            grpc.method_handlers_generic_handler(REPOSITORY, of_repository),
        )

    # -- the calls: each raises RefusedByFace ------------------------------------------------------------------
    async def _live(self, request: Any, context: Any) -> Any:
        await self._asked(context, "GET", "/v2/health/live")
        return message("ServerLiveResponse")(live=True)

    async def _ready(self, request: Any, context: Any) -> Any:
        await self._asked(context, "GET", "/v2/health/ready")
        return message("ServerReadyResponse")(ready=True)

    async def _model_ready(self, request: Any, context: Any) -> Any:
        """A model that there is not is not ready, as at Triton."""
        answer = await self._questions.ask(context, "GET", model_path(request.name, request.version, "/ready"))
        if answer.status != 404:
            _check(answer)
        return message("ModelReadyResponse")(ready=answer.status == 200)

    async def _server_metadata(self, request: Any, context: Any) -> Any:
        return _parsed("ServerMetadataResponse", await self._asked(context, "GET", "/v2"))

    async def _model_metadata(self, request: Any, context: Any) -> Any:
        answer = await self._asked(context, "GET", model_path(request.name, request.version))
        return _parsed("ModelMetadataResponse", answer)

    async def _statistics(self, request: Any, context: Any) -> Any:
        path = model_path(request.name, request.version, "/stats") if request.name else "/v2/models/stats"
        return _parsed("ModelStatisticsResponse", await self._asked(context, "GET", path))

    async def _index(self, request: Any, context: Any) -> Any:
        body = json.dumps({"ready": request.ready}).encode()
        answer = await self._asked(context, "POST", "/v2/repository/index", body)
        return ParseDict({"models": json.loads(answer.body)}, message("RepositoryIndexResponse")())

    async def _load(self, request: Any, context: Any) -> Any:
        await self._control(request, context, "load")
        return message("RepositoryModelLoadResponse")()

    async def _unload(self, request: Any, context: Any) -> Any:
        await self._control(request, context, "unload")
        return message("RepositoryModelUnloadResponse")()

    async def _infer(self, request: Any, context: Any) -> Any:
        try:
            json_length, body = body_of(request)
        except BadTensor as error:
            raise RefusedByFace(grpc.StatusCode.INVALID_ARGUMENT, str(error)) from None
        path = model_path(request.model_name, request.model_version, "/infer")
        length = (JSON_LENGTH, b"%d" % json_length)
        answer = await self._questions.ask(context, "POST", path, body, (length,))
        _check(answer)
        size = answer.headers.get(JSON_LENGTH)
        try:
            return response_of(answer.body, None if size is None else int(size))
        except BadAnswer as error:
            raise RefusedByFace(grpc.StatusCode.INTERNAL, str(error)) from None

    async def _stream(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """One answer for each request, in their order. A refusal ends no stream: it is an answer, as at Triton."""
        kind, answer = message(f"{STREAM}Response"), message("ModelInferResponse")
        if self._streams >= self._streams_max:
            text = f"{self._streams_max} streams are open, and the server takes no more: end one, or call ModelInfer"
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        self._streams += 1
        try:
            async for request in requests:
                try:
                    yield kind(infer_response=await self._infer(_whole(request), context))
                except RefusedByFace as refused:
                    yield kind(error_message=str(refused), infer_response=answer(id=getattr(request, "id", "")))
        finally:
            self._streams -= 1

    async def _control(self, request: Any, context: Any, verb: str) -> None:
        names = [name for name in request.parameters if name != "unload_dependents"]
        body = json.dumps({"parameters": dict.fromkeys(names, "")}).encode()
        await self._asked(context, "POST", f"/v2/repository/models/{quote(request.model_name, safe='')}/{verb}", body)

    async def _asked(self, context: Any, method: str, path: str, body: bytes = b"") -> HttpAnswer:
        answer = await self._questions.ask(context, method, path, body)
        _check(answer)
        return answer


class _Unread(str):
    """Why a request's bytes are no message."""


def _reader(name: str) -> Callable[[bytes], Any]:
    """Reads messages of this name. The sender of others gets an error: gRPC itself would call it our own failure."""
    kind = message(name)

    def read(content: bytes) -> Any:
        try:
            return kind.FromString(content)
        except DecodeError as error:
            return _Unread(error)

    return read


def _whole(request: Any) -> Any:
    """Raises RefusedByFace for what is no message."""
    if isinstance(request, _Unread):
        raise RefusedByFace(grpc.StatusCode.INVALID_ARGUMENT, f"the request is no message of the protocol: {request}")
    return request


def _unary(name: str, call: Callable[[Any, Any], Awaitable[Any]]) -> Any:
    async def answer(request: Any, context: Any) -> Any:
        try:
            return await call(_whole(request), context)
        except RefusedByFace as refused:
            await context.abort(refused.code, str(refused))

    return grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=_reader(f"{name}Request"),
        response_serializer=message(f"{name}Response").SerializeToString,
    )


def _check(answer: HttpAnswer) -> None:
    """Raises RefusedByFace for an answer that is no success."""
    if 200 <= answer.status < 300:
        return
    try:
        said = json.loads(answer.body)
        text = str(said.get("error") or said.get("message") or said)
    except (ValueError, AttributeError, RecursionError):
        text = answer.body.decode("utf-8", "replace")
    otherwise = grpc.StatusCode.INTERNAL if answer.status >= 500 else grpc.StatusCode.INVALID_ARGUMENT
    raise RefusedByFace(CODES.get(answer.status, otherwise), text)


def _parsed(name: str, answer: HttpAnswer) -> Any:
    """What gRPC's messages do not have, such as a cache's hits, is left out."""
    return ParseDict(json.loads(answer.body), message(name)(), ignore_unknown_fields=True)
