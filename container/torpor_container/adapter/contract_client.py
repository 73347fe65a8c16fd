"""The platform's side of the multi-model container contract, as tolerant of containers as SageMaker is."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import quote

from torpor_container import wire
from torpor_container.adapter.listed_models import page_of
from torpor_container.core.protocols.protocol_types import openai_path
from torpor_container.errors import ContainerGone, LoadFailed, NoMemoryNow, TimedOut
from torpor_container.invocation import Invocation, Reply, StreamReply, in_one_part
from torpor_container.transport.stream_client import StreamConnection, streamed
from torpor_container.transport.upstream import Headers, Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamError, UpstreamTimedOut

LOAD_TIMEOUT_S = 86_400.0
"""No limit in effect: the keeper has its own, TORPOR_LOAD_TIMEOUT_SECONDS."""
UNLOAD_TIMEOUT_S = 360.0
"""How long the platform waits, as Triton's source says."""
LIST_TIMEOUT_S = 10.0
PAGES_MAX = 1000
TEXT_MAX = 1000
REMEMBERED_MAX = 1000

log = logging.getLogger(__name__)

CONFLICT, INSUFFICIENT_STORAGE, NOT_FOUND = 409, 507, 404


class ContractClient:
    """The models of one container, by the platform's opaque model id."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._background: set[asyncio.Future[None]] = set()
        self._had_no_memory: deque[str] = deque(maxlen=REMEMBERED_MAX)  # models whose last load found no memory

    async def load(self, model_id: str, url: str, target: str) -> None:
        """LoadModel. Any 2xx is a success, and so is 409: the model is there. Raises LoadFailed, NoMemoryNow.

        A load that fails for lack of memory may leave a registration without workers. It is deleted at once, since
        every later load would answer 409. Multi Model Server may make it even later: so after such a failure, 409 is
        not a success; the model is deleted again and loaded.
        """
        dead = model_id in self._had_no_memory
        answer = await self._send_load(model_id, url, target)
        if answer.status == CONFLICT and dead:
            await self._clear(model_id, target)
            answer = await self._send_load(model_id, url, target)
        if answer.status == INSUFFICIENT_STORAGE:
            if not dead:
                self._had_no_memory.append(model_id)
            await self._clear(model_id, target)
            raise NoMemoryNow(f"the container has no memory for it: {_text(answer)}")
        if not (200 <= answer.status < 300 or (answer.status == CONFLICT and not dead)):
            raise LoadFailed(f"the container answered LoadModel with {answer.status}: {_text(answer)}")
        if dead:
            with suppress(ValueError):  # later entries have pushed it out meanwhile
                self._had_no_memory.remove(model_id)

    async def unload(self, model_id: str, target: str) -> None:
        """UnloadModel. 404 means that it is gone already. Raises UpstreamError, and LoadFailed for any other answer."""
        headers = (*_JSON, (_TARGET, target.encode()))
        answer = await self._upstream.send("DELETE", _path(model_id), headers, [], UNLOAD_TIMEOUT_S)
        if not (200 <= answer.status < 300 or answer.status == NOT_FOUND):
            raise LoadFailed(f"the container answered UnloadModel with {answer.status}: {_text(answer)}")

    async def _send_load(self, model_id: str, url: str, target: str) -> UpstreamAnswer:
        """The answer to LoadModel. Raises LoadFailed. If the caller is cancelled, it unloads the model again."""
        body = json.dumps({"model_name": model_id, "url": url}).encode()
        headers = (*_JSON, (_TARGET, target.encode()))
        try:
            return await self._upstream.send("POST", wire.MODELS, headers, [body], LOAD_TIMEOUT_S)
        except UpstreamError as error:
            raise LoadFailed(f"the container did not load the model: {error}") from error
        except asyncio.CancelledError:
            self._background.add(clearing := asyncio.ensure_future(self._clear(model_id, target)))
            clearing.add_done_callback(self._background.discard)
            raise

    async def _clear(self, model_id: str, target: str) -> None:
        """Unload what a failed load may have left. If that fails too, it is only logged."""
        try:
            await self.unload(model_id, target)
        except (UpstreamError, LoadFailed) as error:
            log.warning("what a failed load of %s left could not be deleted: %s", target, error)

    async def has(self, model_id: str) -> bool:
        """GetModel. True also if the container does not answer: it may have the model."""
        try:
            answer = await self._upstream.send("GET", _path(model_id), _JSON, [], LIST_TIMEOUT_S)
        except UpstreamError:
            return True
        return answer.status != NOT_FOUND

    async def listed(self) -> set[str]:
        """ListModels, all pages; the last one may be empty. Raises UpstreamError, ValueError."""
        names: set[str] = set()
        token = ""
        for _ in range(PAGES_MAX):
            query = f"?next_page_token={quote(token, safe='')}" if token else ""
            answer = await self._upstream.send("GET", wire.MODELS + query, _JSON, [], LIST_TIMEOUT_S)
            if not 200 <= answer.status < 300:
                raise UpstreamError(f"the container answered ListModels with {answer.status}")
            page, following = page_of(answer.body)
            names |= page
            if following is None or following == token:
                break
            token = following
        return names

    async def invoke(self, model_id: str, target: str, invocation: Invocation, timeout_s: float) -> Reply:
        """InvokeModel. Raises TimedOut, NoAnswer."""
        headers = (*_sent(invocation), (_TARGET, target.encode()))
        return await invoked(self._upstream, f"{_path(model_id)}/invoke", headers, invocation.body, timeout_s)

    def stream(
        self, model_id: str, target: str, invocation: Invocation, timeout_s: float
    ) -> AbstractAsyncContextManager[StreamReply]:
        """InvokeModel, in the parts that the container sends. Raises as `invoke`; so do the parts."""
        headers = (*_sent(invocation), (_TARGET, target.encode()))
        return in_parts(self._upstream, f"{_path(model_id)}/invoke", headers, invocation.body, timeout_s)


@asynccontextmanager
async def in_parts(
    upstream: Upstream, path: str, headers: Headers, body: bytes, timeout_s: float
) -> AsyncIterator[StreamReply]:
    """One call to a model, in the parts that the container sends. `timeout_s` is for each of them.

    Raises TimedOut, NoAnswer; so do the parts.
    """
    async with AsyncExitStack() as use:
        try:
            connection = await use.enter_async_context(streamed(upstream.address, path, headers, [body], timeout_s))
        except UpstreamTimedOut:
            raise TimedOut(timeout_s) from None
        except UpstreamError as error:
            raise ContainerGone(f"the container gave no answer: {error}") from error
        whole = _reply(connection.answer)
        yield StreamReply(whole, _parts(connection, timeout_s)) if not whole.body else in_one_part(whole)


async def _parts(connection: StreamConnection, timeout_s: float) -> AsyncIterator[Sequence[bytes]]:
    while True:
        try:
            async with asyncio.timeout(timeout_s):
                come = await connection.taken()
        except TimeoutError:
            raise TimedOut(timeout_s) from None
        except UpstreamError as error:
            raise ContainerGone(f"the container gave no whole answer: {error}") from error
        if not come:
            return
        yield come


async def invoked(upstream: Upstream, path: str, headers: Headers, body: bytes, timeout_s: float) -> Reply:
    """One call to a model, whatever it answers. Raises TimedOut, NoAnswer."""
    try:
        answer = await upstream.send("POST", path, headers, [body], timeout_s)
    except UpstreamTimedOut:
        raise TimedOut(timeout_s) from None
    except UpstreamError as error:
        raise ContainerGone(f"the container gave no whole answer: {error}") from error
    return _reply(answer)


def _reply(answer: UpstreamAnswer) -> Reply:
    attributes = answer.header(_ATTRIBUTES)
    return Reply(
        answer.body,
        (answer.header(b"content-type") or b"").decode("latin-1"),
        answer.status,
        attributes.decode("latin-1") if attributes is not None else None,
        more=tuple((name, value) for name, value in answer.headers if name in _SESSION),
    )


async def invoked_alone(upstream: Upstream, invocation: Invocation, timeout_s: float, more: Headers = ()) -> Reply:
    """`POST /invocations` of a single-model container, with these headers too; of a request of OpenAI's API, its own
    path (as on AWS, whose route passes it to the image's own). Raises TimedOut, NoAnswer."""
    return await invoked(upstream, _path_alone(invocation), (*_sent(invocation), *more), invocation.body, timeout_s)


def streamed_alone(
    upstream: Upstream, invocation: Invocation, timeout_s: float, more: Headers = ()
) -> AbstractAsyncContextManager[StreamReply]:
    """As `invoked_alone`, in the parts that the container sends. See `in_parts`."""
    return in_parts(upstream, _path_alone(invocation), (*_sent(invocation), *more), invocation.body, timeout_s)


_CONTENT_TYPE = b"Content-Type"
_JSON = ((_CONTENT_TYPE, b"application/json"), (b"Accept", b"application/json"))
_TARGET = wire.TARGET_MODEL.encode()
_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
_SESSION = frozenset(name.lower().encode() for name in wire.SESSION_ANSWERS)
_SPELLED = {name.lower().encode(): name.encode() for name in (*wire.FORWARDED, *wire.TRACE_CONTEXT)}
"""Headers as AWS spells them: Multi Model Server looks them up by their exact names."""


def _path(model_id: str) -> str:
    return f"{wire.MODELS}/{quote(model_id, safe='')}"


def _sent(invocation: Invocation) -> Headers:
    """The client's headers that reach a model. Headers that the client did not send are not added, but for the path of
    a request of OpenAI's API."""
    headers = tuple((_SPELLED[name], value) for name, value in invocation.headers if name in _SPELLED and value)
    path = openai_path(invocation.content_type)
    if path is None:
        return headers
    kept = [header for header in headers if header[0] != _CONTENT_TYPE]
    return (*kept, _JSON[0], (wire.INVOCATION_PATH.encode(), path.encode()))


def _path_alone(invocation: Invocation) -> str:
    return openai_path(invocation.content_type) or wire.INVOCATIONS


def _text(answer: UpstreamAnswer) -> str:
    return answer.body[:TEXT_MAX].decode(errors="replace").strip() or "(nothing)"
