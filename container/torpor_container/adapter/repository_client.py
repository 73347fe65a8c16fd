"""The platform's side of a container that loads models by the Open Inference Protocol's repository, as MLServer does.

Such a server loads what is in its own folder of models (`{models_dir}` in its command): each model is linked into it
before its load, by its TargetModel without the archive's ending, and taken out once it has left. Requests are tensors,
as the endpoint's face sends them, or the protocol's JSON.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

from torpor_container.adapter.contract_client import (
    INSUFFICIENT_STORAGE,
    LIST_TIMEOUT_S,
    LOAD_TIMEOUT_S,
    NOT_FOUND,
    UNLOAD_TIMEOUT_S,
)
from torpor_container.adapter.linked_models import LinkedModels
from torpor_container.content.media import JSON, media_type, parameters
from torpor_container.core.protocols.protocol_types import HEADER_SIZE, METADATA, TENSORS
from torpor_container.errors import ContainerGone, LoadFailed, NoMemoryNow, TimedOut
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError, UpstreamTimedOut

JSON_LENGTH = b"inference-header-content-length"
_JSON = ((b"Content-Type", JSON.encode()), (b"Accept", JSON.encode()))
_BINARY = (b"Content-Type", b"application/octet-stream")
TEXT_MAX = 1000
UNREAD = "this container takes tensors and the JSON of the Open Inference Protocol, and not {kind}"


class RepositoryClient:
    """The models of one container, by the platform's opaque model id. `folder` is the container's folder of models."""

    def __init__(self, upstream: Upstream, folder: Path) -> None:
        self._upstream = upstream
        self._models = LinkedModels(folder)

    async def load(self, model_id: str, url: str, target: str) -> None:
        """Raises LoadFailed, NoMemoryNow. If the caller is cancelled, it unloads the model again."""
        await self._models.load(model_id, url, target, self._load, self.unload)

    async def _load(self, name: str) -> None:
        answer = await self._posted(name, "load", LOAD_TIMEOUT_S)
        if not 200 <= answer.status < 300:
            kind = NoMemoryNow if answer.status == INSUFFICIENT_STORAGE else LoadFailed
            raise kind(f"the container answered the load with {answer.status}: {_text(answer)}")

    async def unload(self, model_id: str, target: str) -> None:
        """A model that is gone already is no error. Raises UpstreamError, and LoadFailed for any other answer."""
        name = self._models.name(model_id, target)
        answer = await self._posted(name, "unload", UNLOAD_TIMEOUT_S)
        if not (200 <= answer.status < 300 or answer.status == NOT_FOUND) and await self.has(model_id):
            raise LoadFailed(f"the container answered the unload with {answer.status}: {_text(answer)}")
        await self._models.forget(model_id)

    async def has(self, model_id: str) -> bool:
        """Whether the model is ready. True also if the container does not answer: it may have the model."""
        name = self._models.get(model_id)
        if name is None:
            return False
        try:
            answer = await self._upstream.send("GET", f"{_path(name)}/ready", _JSON, [], LIST_TIMEOUT_S)
        except UpstreamError:
            return True
        return 200 <= answer.status < 300

    async def listed(self) -> set[str]:
        """The ids of the models that are ready. Raises UpstreamError, ValueError."""
        path = "/v2/repository/index"
        answer = await self._upstream.send("POST", path, _JSON, [b'{"ready": true}'], LIST_TIMEOUT_S)
        if not 200 <= answer.status < 300:
            raise UpstreamError(f"the container answered its index with {answer.status}")
        try:
            ready = {one["name"] for one in json.loads(answer.body) if one.get("state") in ("READY", None)}
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"the container's index is no list of models: {error}") from error
        return self._models.among(ready)

    async def invoke(self, model_id: str, target: str, invocation: Invocation, timeout_s: float) -> Reply:
        """Raises TimedOut, NoAnswer."""
        name = self._models.name(model_id, target)
        kind = media_type(invocation.content_type)
        if kind not in (TENSORS, METADATA, JSON):
            told = {"error": UNREAD.format(kind=kind or "a body without a content type")}
            return Reply(json.dumps(told).encode(), JSON, 415)
        try:
            if kind == METADATA:
                answer = await self._upstream.send("GET", _path(name), _JSON, [], timeout_s)
            else:
                headers = _headers(invocation)
                answer = await self._upstream.send(
                    "POST", f"{_path(name)}/infer", headers, [invocation.body], timeout_s
                )
        except UpstreamTimedOut:
            raise TimedOut(timeout_s) from None
        except UpstreamError as error:
            raise ContainerGone(f"the container gave no whole answer: {error}") from error
        return _reply(answer, is_tensors=kind == TENSORS)

    @asynccontextmanager
    async def stream(
        self, model_id: str, target: str, invocation: Invocation, timeout_s: float
    ) -> AsyncIterator[StreamReply]:
        """The answer in one part: the protocol has no streams. Raises as `invoke`."""
        yield in_one_part(await self.invoke(model_id, target, invocation, timeout_s))

    async def _posted(self, name: str, verb: str, timeout_s: float) -> UpstreamAnswer:
        path = f"/v2/repository/models/{quote(name, safe='')}/{verb}"
        return await self._upstream.send("POST", path, _JSON, [b"{}"], timeout_s)


def _path(name: str) -> str:
    return f"/v2/models/{quote(name, safe='')}"


def _headers(invocation: Invocation) -> Headers:
    size = parameters(invocation.content_type).get(HEADER_SIZE)
    return _JSON if size is None else (_BINARY, (b"Inference-Header-Content-Length", size.encode("latin-1")))


def _reply(answer: UpstreamAnswer, is_tensors: bool) -> Reply:
    size = answer.header(JSON_LENGTH)
    kind = (answer.header(b"content-type") or b"").decode("latin-1")
    if is_tensors and 200 <= answer.status < 300:
        kind = TENSORS if size is None else f"{TENSORS};{HEADER_SIZE}={size.decode('latin-1')}"
    return Reply(answer.body, kind, answer.status)


def _text(answer: UpstreamAnswer) -> str:
    return answer.body[:TEXT_MAX].decode(errors="replace").strip() or "(nothing)"
