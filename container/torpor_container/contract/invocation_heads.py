"""Reads the head of an invocation: the model that it is for, and what its headers say. It reads no body."""

from collections.abc import Sequence

from starlette.types import Scope

from torpor_container import wire
from torpor_container.invocation import Invocation
from torpor_container.transport.frames import Header

_TARGET = wire.TARGET_MODEL.lower().encode()
_READ = (b"content-type", b"accept", wire.CUSTOM_ATTRIBUTES.lower().encode())
_MODEL_CACHE = wire.MODEL_CACHE.lower().encode()
_MODEL_CACHE_ONLY = wire.MODEL_CACHE_ONLY.encode()
_VERSION = wire.ARTIFACT_VERSION.lower().encode()
_VERSION_WANTED = wire.ARTIFACT_VERSION_WANTED.encode()


def target_of(scope: Scope) -> str | None:
    """The model that the header names; None without one. boto3 sends a name beyond ASCII as UTF-8."""
    for key, value in scope["headers"]:
        if key == _TARGET:
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
