"""A face is made by its first request, and from then on takes requests at once."""

import asyncio
from collections.abc import Callable
from typing import Any

from torpor_account.aws.wire.asgi import Receive, Scope, Send, TakeInline, Tell
from torpor_endpoint.faces.late_face import LateFace

INFER: Scope = {"type": "http", "path": "/infer"}
INDEX: Scope = {"type": "http", "path": "/index"}


class NotedFace:
    """Takes inferences at once, and nothing else. `seen` has what came, and how."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen
        self.seen.append("made")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(f"ASGI {scope['path']}")

    def inline(self, scope: Scope) -> TakeInline | None:
        self.seen.append(f"head {scope['path']}")
        return self._take if scope is INFER else None

    def _take(self, scope: Scope, body: bytes, tell: Tell) -> bool:
        self.seen.append(f"taken {scope['path']}")
        return True


def test_the_first_request_makes_the_face_and_its_head_is_read_once_more() -> None:
    seen: list[str] = []
    late = LateFace(lambda: NotedFace(seen))
    nothing: Callable[..., Any] = lambda *_: None  # noqa: E731
    infer, index = late.inline(INFER), late.inline(INDEX)
    assert infer is not None
    assert index is not None
    assert not infer(INFER, b"", nothing)
    assert not index(INDEX, b"", nothing)
    assert seen == []
    asyncio.run(late(INFER, nothing, nothing))
    assert [infer(INFER, b"", nothing) for _ in range(2)] == [True, True]
    assert [index(INDEX, b"", nothing) for _ in range(2)] == [False, False]
    assert seen == ["made", "ASGI /infer", "head /infer", "taken /infer", "taken /infer", "head /index"]
