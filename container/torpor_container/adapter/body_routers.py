"""The platform's side of containers that find the model in a request's body: llama.cpp's router mode, and llama-swap.

Both speak OpenAI's API, and load and unload by calls of their own. A model is linked into the container's folder of
models (`{models_dir}`) before its load, by its TargetModel without the archive's ending: that is the name that bodies
have. llama.cpp's calls: github.com/ggml-org/llama.cpp, `tools/server/README.md` (00dc805), "Using multiple models".
llama-swap's: github.com/mostlygeek/llama-swap, its routes `/upstream`, `/running` and `/api/models/unload`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from torpor_container.adapter.contract_client import (
    INSUFFICIENT_STORAGE,
    LIST_TIMEOUT_S,
    LOAD_TIMEOUT_S,
    NOT_FOUND,
    UNLOAD_TIMEOUT_S,
    in_parts,
    invoked,
)
from torpor_container.adapter.linked_models import LinkedModels
from torpor_container.content.media import JSON, media_type
from torpor_container.core.protocols.protocol_types import OPENAI_PATHS, openai_path
from torpor_container.errors import LoadFailed, NoMemoryNow
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError

LOOK_S: Final = 0.25
"""How often a container is asked whether a model has come, or has left."""
TEXT_MAX: Final = 1000
HEADERS: Final[Headers] = ((b"Content-Type", JSON.encode()), (b"Accept", JSON.encode()))
CHAT: Final = OPENAI_PATHS["chat-completions"]
UNREAD: Final = "this container takes the JSON of OpenAI's API, and not {kind}"


class RouterDialect(Protocol):
    """How one kind of container loads and unloads a model of this name."""

    async def load(self, name: str) -> None:
        """Returns once it is loaded. Raises LoadFailed, NoMemoryNow, UpstreamError."""

    async def unload(self, name: str) -> None:
        """Returns once it has left. Raises LoadFailed, UpstreamError."""

    async def loaded(self) -> set[str]:
        """The names of the models in memory. Raises UpstreamError, ValueError."""


class LlamaServer:
    """llama.cpp's `llama-server` in router mode. Its calls answer at once, and its list says when a model is there."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def load(self, name: str) -> None:
        await self._listed("?reload=1")  # it looks into its folder when it is asked to
        _check(await _asked(self._upstream, "POST", "/models/load", {"model": name}, LIST_TIMEOUT_S), "load")
        while (status := (await self._listed()).get(name, {})).get("value") not in ("loaded", "sleeping"):
            if status.get("failed"):
                raise LoadFailed(f"the container's process of the model ended with {status.get('exit_code')}")
            if not status:
                raise LoadFailed(f"the container has no model {name} in its folder: an artifact has a .gguf file")
            await asyncio.sleep(LOOK_S)

    async def unload(self, name: str) -> None:
        answer = await _asked(self._upstream, "POST", "/models/unload", {"model": name}, UNLOAD_TIMEOUT_S)
        async with asyncio.timeout(UNLOAD_TIMEOUT_S):
            while name in await self.loaded():
                _check(answer, "unload")
                await asyncio.sleep(LOOK_S)

    async def loaded(self) -> set[str]:
        gone = ("unloaded", None)
        return {name for name, status in (await self._listed()).items() if status.get("value") not in gone}

    async def _listed(self, query: str = "") -> dict[str, Any]:
        """The status of each model, by its name."""
        answer = await _asked(self._upstream, "GET", f"/models{query}", None, LIST_TIMEOUT_S)
        return {one["id"]: one.get("status", {}) for one in _rows(answer, "data", "id")}


class LlamaSwap:
    """llama-swap. Its configuration has a command for each model; a call to `/upstream` starts it and waits for it."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def load(self, name: str) -> None:
        path = f"/upstream/{quote(name, safe='')}/health"
        _check(await _asked(self._upstream, "GET", path, None, LOAD_TIMEOUT_S), "load")

    async def unload(self, name: str) -> None:
        path = f"/api/models/unload/{quote(name, safe='')}"
        answer = await _asked(self._upstream, "POST", path, None, UNLOAD_TIMEOUT_S)
        if answer.status != NOT_FOUND:
            _check(answer, "unload")

    async def loaded(self) -> set[str]:
        answer = await _asked(self._upstream, "GET", "/running", None, LIST_TIMEOUT_S)
        return {one["model"] for one in _rows(answer, "running", "model") if one.get("state") != "stopped"}


class BodyRoutedClient:
    """The models of one container, by the platform's opaque model id. `folder` is the container's folder of models."""

    def __init__(self, upstream: Upstream, dialect: RouterDialect, folder: Path) -> None:
        self._upstream = upstream
        self._dialect = dialect
        self._models = LinkedModels(folder)

    async def load(self, model_id: str, url: str, target: str) -> None:
        """Raises LoadFailed, NoMemoryNow. If the caller is cancelled, it unloads the model again."""
        await self._models.load(model_id, url, target, self._dialect.load, self.unload)

    async def unload(self, model_id: str, target: str) -> None:
        """A model that is gone already is no error. Raises UpstreamError, and LoadFailed for any other answer."""
        try:
            await self._dialect.unload(self._models.name(model_id, target))
        except (TimeoutError, ValueError) as error:
            raise LoadFailed(f"the container did not unload the model: {error}") from error
        await self._models.forget(model_id)

    async def has(self, model_id: str) -> bool:
        """Whether the model is in memory. True also if the container does not answer: it may have the model."""
        name = self._models.get(model_id)
        try:
            return name is not None and name in await self._dialect.loaded()
        except (UpstreamError, ValueError):
            return True

    async def listed(self) -> set[str]:
        """The ids of the models in memory. Raises UpstreamError, ValueError."""
        loaded = await self._dialect.loaded()
        return self._models.among(loaded)

    async def invoke(self, model_id: str, target: str, invocation: Invocation, timeout_s: float) -> Reply:
        """Raises TimedOut, NoAnswer."""
        if (refused := _unread(invocation)) is not None:
            return refused
        return await invoked(self._upstream, _path(invocation), HEADERS, invocation.body, timeout_s)

    def stream(
        self, model_id: str, target: str, invocation: Invocation, timeout_s: float
    ) -> AbstractAsyncContextManager[StreamReply]:
        """In the parts that the container sends. Raises as `invoke`; so do the parts."""
        if (refused := _unread(invocation)) is not None:
            return _whole(refused)
        return in_parts(self._upstream, _path(invocation), HEADERS[:1], invocation.body, timeout_s)


# -- inside ------------------------------------------------------------------------------------------------------------
async def _asked(upstream: Upstream, method: str, path: str, body: object, within_s: float) -> UpstreamAnswer:
    """Raises UpstreamError."""
    content = [] if body is None else [json.dumps(body).encode()]
    return await upstream.send(method, path, HEADERS, content, within_s)


def _check(answer: UpstreamAnswer, what: str) -> None:
    """Raises LoadFailed, or NoMemoryNow, for what is no success."""
    if not 200 <= answer.status < 300:
        kind = NoMemoryNow if answer.status == INSUFFICIENT_STORAGE else LoadFailed
        said = answer.body[:TEXT_MAX].decode(errors="replace").strip() or "(nothing)"
        raise kind(f"the container answered the {what} with {answer.status}: {said}")


def _rows(answer: UpstreamAnswer, member: str, key: str) -> list[dict[str, Any]]:
    """The objects of a list that have the key. Raises UpstreamError, ValueError."""
    if not 200 <= answer.status < 300:
        raise UpstreamError(f"the container answered its list with {answer.status}")
    document = json.loads(answer.body)
    rows = document.get(member) if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise ValueError(f"the container's list has no {member}")
    return [one for one in rows if isinstance(one, dict) and isinstance(one.get(key), str)]


def _path(invocation: Invocation) -> str:
    return openai_path(invocation.content_type) or CHAT


def _unread(invocation: Invocation) -> Reply | None:
    """The refusal of a body that is no request of OpenAI's API."""
    kind = media_type(invocation.content_type)
    if kind == JSON or openai_path(invocation.content_type) is not None:
        return None
    told = {"error": {"message": UNREAD.format(kind=kind or "a body without a content type")}}
    return Reply(json.dumps(told).encode(), JSON, 415)


@asynccontextmanager
async def _whole(reply: Reply) -> AsyncIterator[StreamReply]:
    yield in_one_part(reply)
