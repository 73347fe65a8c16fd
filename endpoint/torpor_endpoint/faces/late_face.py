"""Makes a face when its first request comes: an endpoint whose callers speak SageMaker's protocol never imports it."""

from collections.abc import Callable
from typing import Protocol

from torpor_account.aws.lazy import LazyApp
from torpor_account.aws.wire.asgi import Receive, Scope, Send, TakeInline, Tell


class FaceApp(Protocol):
    """An ASGI application, and what takes up requests without a task."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def inline(self, scope: Scope) -> TakeInline | None: ...


class LateFace:
    """A face that `make` makes once, in a thread. Requests that come meanwhile wait for it."""

    def __init__(self, make: Callable[[], FaceApp]) -> None:
        self._make = make
        self._app = LazyApp(self._made)
        self._face: FaceApp | None = None

    def _made(self) -> FaceApp:
        self._face = self._make()
        return self._face

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def inline(self, scope: Scope) -> TakeInline | None:
        """See `aws.wire.asgi.Inline`."""
        return LateTaking(self).take if self._face is None else self._face.inline(scope)

    @property
    def face(self) -> FaceApp | None:
        """The face, if it is there."""
        return self._face


class LateTaking:
    """Takes the requests of one head, which first came before the face was there."""

    def __init__(self, late: LateFace) -> None:
        self._late = late
        self._take: TakeInline | None = None

    def take(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        """See `aws.wire.asgi.TakeInline`."""
        if self._take is None:
            if self._late.face is None:
                return False
            self._take = self._late.face.inline(scope) or _never
        return self._take(scope, body, tell)


def _never(scope: Scope, body: bytes, tell: Tell) -> bool:
    """Requests of this head come by ASGI."""
    return False
