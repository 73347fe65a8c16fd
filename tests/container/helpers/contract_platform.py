"""The platform's side of the container contract: it drives an instance request by request, without a socket."""

import asyncio
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from torpor_container.app import InstanceProcess
from torpor_container.settings import Settings

WITHIN_S = 60.0
Message = MutableMapping[str, Any]


@dataclass
class Answer:
    """Header names are in lower case."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)


class AdvanceableLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward: each timer due by then is due at once."""

    ahead_s = 0.0

    def time(self) -> float:
        return super().time() + self.ahead_s


class Platform:
    """Its event loop has a thread of its own, so a test may make calls that wait for each other. Use it with `with`."""

    def __init__(self, folder: Path, ended: Callable[[], None] = lambda: None, **settings: str) -> None:
        environment = {
            "SAGEMAKER_MULTI_MODEL": "true",
            "SAGEMAKER_BASE_DIR": str(folder),
            "TORPOR_SCRIPT_WRITES": tempfile.gettempdir(),
            **settings,
        }
        self._loop = AdvanceableLoop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._app = self._instance(Settings.read(environment), ended).app()
        self._stop = asyncio.Event()
        self._started = asyncio.Event()

    def _instance(self, settings: Settings, ended: Callable[[], None]) -> InstanceProcess:
        return InstanceProcess(settings, ended=ended)

    def __enter__(self) -> "Platform":
        self._thread.start()
        self._lifespan = asyncio.run_coroutine_threadsafe(self._live(), self._loop)
        asyncio.run_coroutine_threadsafe(self._started.wait(), self._loop).result(WITHIN_S)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._lifespan.result(WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def sent(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> "Future[Answer]":
        """One request, whose answer may come later. The instance sees requests in the order in which they are sent."""
        messages = iter([{"type": "http.request", "body": body}])
        return asyncio.run_coroutine_threadsafe(self._exchange(method, path, messages, headers or {}), self._loop)

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        return self.sent(method, path, body, headers).result(WITHIN_S)

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def delete(self, name: str) -> Answer:
        return self.request("DELETE", f"/models/{name}")

    def load(self, name: str, url: str) -> Answer:
        return self.loading(name, url).result(WITHIN_S)

    def loading(self, name: str, url: str) -> "Future[Answer]":
        return self.sent("POST", "/models", json.dumps({"model_name": name, "url": url}).encode())

    def invoke(self, name: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        return self.request("POST", f"/models/{name}/invoke", body, headers or {"Content-Type": "text/csv"})

    def leap(self, seconds: float) -> None:
        """Puts the instance's clock forward by this much, and no other clock."""

        async def put_forward() -> None:
            self._loop.ahead_s += seconds

        asyncio.run_coroutine_threadsafe(put_forward(), self._loop).result(WITHIN_S)

    def invoke_and_leave(self, name: str, begun: bytes) -> Answer:
        """The caller disconnects, or sends nothing more, before the body is whole."""
        messages: list[Message] = [
            {"type": "http.request", "body": begun, "more_body": True},
            {"type": "http.disconnect"},
        ]
        exchange = self._exchange("POST", f"/models/{name}/invoke", iter(messages), {"Content-Type": "text/csv"})
        return asyncio.run_coroutine_threadsafe(exchange, self._loop).result(WITHIN_S)

    # -- ASGI ------------------------------------------------------------------------------------------------------
    async def _live(self) -> None:
        events = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

        async def receive() -> Message:
            event = next(events)
            if event["type"] == "lifespan.shutdown":
                await self._stop.wait()
            return event

        async def send(message: Message) -> None:
            assert message["type"] in ("lifespan.startup.complete", "lifespan.shutdown.complete"), message
            self._started.set()

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)

    async def _exchange(
        self, method: str, path: str, messages: Iterator[Message], headers: Mapping[str, str]
    ) -> Answer:
        answer = Answer()

        async def receive() -> Message:
            for message in messages:
                return message
            return await asyncio.Future[Message]()  # the caller stays

        async def send(message: Message) -> None:
            answer.status = message.get("status", answer.status)
            answer.headers |= {name.decode(): value.decode() for name, value in message.get("headers", ())}
            answer.body += message.get("body", b"")

        await self._app(_scope(method, path, headers), receive, send)
        return answer


def _scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    plain, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "path": unquote(plain),
        "raw_path": plain.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }
