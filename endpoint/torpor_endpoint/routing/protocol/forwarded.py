"""A request that a router hands on to the control whole, and the control's answer, as values and as JSON."""

from torpor_account.aws.wire.asgi import App, Message, Scope
from torpor_container.frozen_class import frozen

HeaderTexts = tuple[tuple[str, str], ...]


@frozen
class ForwardedRequest:
    """The router has verified its caller."""

    path: str
    headers: HeaderTexts
    body: bytes


@frozen
class ForwardedAnswer:
    status: int
    headers: HeaderTexts
    body: bytes


async def answered(app: App, request: ForwardedRequest) -> ForwardedAnswer:
    """The answer of an ASGI application to the request."""
    pieces: list[Message] = []
    whole: list[Message] = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Message:
        return whole.pop() if whole else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        pieces.append(message)

    scope: Scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
    }
    await app(scope, receive, send)
    start, *bodies = pieces
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])
    return ForwardedAnswer(start["status"], headers, b"".join(one.get("body", b"") for one in bodies))
