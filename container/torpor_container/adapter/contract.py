"""The platform's side of the MME container contract, as tolerant of containers as SageMaker is."""

import asyncio
import json
import logging
from collections import deque
from contextlib import suppress
from urllib.parse import quote

from torpor_container import wire
from torpor_container.adapter.listing import page_of
from torpor_container.errors import ContainerGone, LoadFailed, NoMemoryNow, TimedOut
from torpor_container.invocation import Invocation, Reply
from torpor_container.transport.upstream import Headers, Upstream, UpstreamAnswer, UpstreamError, UpstreamTimedOut

LOAD_TIMEOUT_S = 86_400.0
"""The keeper has its own patience, TORPOR_LOAD_TIMEOUT_SECONDS."""
UNLOAD_TIMEOUT_S = 360.0
"""Triton's source says that the platform waits so long."""
LIST_TIMEOUT_S = 10.0
PAGES_MAX = 1000
SAID_MAX = 1000
REMEMBERED_MAX = 1000

log = logging.getLogger(__name__)

CONFLICT, INSUFFICIENT_STORAGE, NOT_FOUND = 409, 507, 404


class ContractClient:
    """The models of one container, by the platform's opaque model id."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._going_on: set[asyncio.Future[None]] = set()
        self._had_no_memory: deque[str] = deque(maxlen=REMEMBERED_MAX)  # by their last loads

    async def load(self, model_id: str, url: str, target: str) -> None:
        """LoadModel. Any 2xx is a success, and 409, for then it is there. Raises LoadFailed, NoMemoryNow.

        A load that fails for lack of memory may leave a registration without workers: it is deleted at once, or every
        later load would be told that the model is there. Multi Model Server may not have made it yet by then: what is
        there after such a load is not believed, but deleted again and loaded.
        """
        dead = model_id in self._had_no_memory
        answer = await self._asked(model_id, url, target)
        if answer.status == CONFLICT and dead:
            await self._clear(model_id, target)
            answer = await self._asked(model_id, url, target)
        if answer.status == INSUFFICIENT_STORAGE:
            if not dead:
                self._had_no_memory.append(model_id)
            await self._clear(model_id, target)
            raise NoMemoryNow(f"the container has no memory for it: {_said(answer)}")
        if not (200 <= answer.status < 300 or (answer.status == CONFLICT and not dead)):
            raise LoadFailed(f"the container answered LoadModel with {answer.status}: {_said(answer)}")
        if dead:
            with suppress(ValueError):  # others have pushed it out meanwhile
                self._had_no_memory.remove(model_id)

    async def unload(self, model_id: str, target: str) -> None:
        """UnloadModel. 404 means that it is gone already. Raises UpstreamError, and LoadFailed for any other answer."""
        headers = (*_JSON, (_TARGET, target.encode()))
        answer = await self._upstream.send("DELETE", _path(model_id), headers, [], UNLOAD_TIMEOUT_S)
        if not (200 <= answer.status < 300 or answer.status == NOT_FOUND):
            raise LoadFailed(f"the container answered UnloadModel with {answer.status}: {_said(answer)}")

    async def _asked(self, model_id: str, url: str, target: str) -> UpstreamAnswer:
        """What the container says to LoadModel. Raises LoadFailed. Who waits no more leaves nothing there."""
        body = json.dumps({"model_name": model_id, "url": url}).encode()
        headers = (*_JSON, (_TARGET, target.encode()))
        try:
            return await self._upstream.send("POST", wire.MODELS, headers, [body], LOAD_TIMEOUT_S)
        except UpstreamError as error:
            raise LoadFailed(f"the container did not load the model: {error}") from error
        except asyncio.CancelledError:
            self._going_on.add(clearing := asyncio.ensure_future(self._clear(model_id, target)))
            clearing.add_done_callback(self._going_on.discard)
            raise

    async def _clear(self, model_id: str, target: str) -> None:
        """Unload what a failed load may have left. That it fails too hides nothing."""
        try:
            await self.unload(model_id, target)
        except (UpstreamError, LoadFailed) as error:
            log.warning("what a failed load of %s left could not be deleted: %s", target, error)

    async def has(self, model_id: str) -> bool:
        """GetModel. A container that does not answer still may have it."""
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


async def invoked(upstream: Upstream, path: str, headers: Headers, body: bytes, timeout_s: float) -> Reply:
    """One call to a model, whatever it answers. Raises TimedOut, NoAnswer."""
    try:
        answer = await upstream.send("POST", path, headers, [body], timeout_s)
    except UpstreamTimedOut:
        raise TimedOut(timeout_s) from None
    except UpstreamError as error:
        raise ContainerGone(f"the container gave no whole answer: {error}") from error
    attributes = answer.header(_ATTRIBUTES)
    return Reply(
        answer.body,
        (answer.header(b"content-type") or b"").decode("latin-1"),
        answer.status,
        attributes.decode("latin-1") if attributes is not None else None,
        more=tuple((name, value) for name, value in answer.headers if name in _SESSION),
    )


async def invoked_alone(upstream: Upstream, invocation: Invocation, timeout_s: float) -> Reply:
    """`POST /invocations` of a single-model container. Raises TimedOut, NoAnswer."""
    return await invoked(upstream, wire.INVOCATIONS, _sent(invocation), invocation.body, timeout_s)


_JSON = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json"))
_TARGET = wire.TARGET_MODEL.encode()
_ATTRIBUTES = wire.CUSTOM_ATTRIBUTES.lower().encode()
_SESSION = frozenset(name.lower().encode() for name in (wire.NEW_SESSION_ID, wire.CLOSED_SESSION_ID))
_SPELLED = {name.lower().encode(): name.encode() for name in wire.FORWARDED}
"""As AWS spells them: Multi Model Server looks a header up by the name that was sent."""


def _path(model_id: str) -> str:
    return f"{wire.MODELS}/{quote(model_id, safe='')}"


def _sent(invocation: Invocation) -> Headers:
    """The client's headers that reach a model; one that the client did not send is not made up."""
    return tuple((_SPELLED[name], value) for name, value in invocation.headers if name in _SPELLED and value)


def _said(answer: UpstreamAnswer) -> str:
    return answer.body[:SAID_MAX].decode(errors="replace").strip() or "(nothing)"
