"""An endpoint for tests, `python lag_measuring_endpoint.py FD DATA_DIR`, that measures the lag of its event loop.

`/_lag` answers the most processor time, in milliseconds, that the process spent between two turns of a task which
wants a turn every millisecond, and starts again. Processor time and not wall time, since a busy machine delays all.
"""

import asyncio
import socket
import sys
import time
from pathlib import Path

from torpor_account.aws.wire.asgi import Receive, Response, Scope, Send, sent
from torpor_container.http.server import ServerOptions
from torpor_container.http.worker import serve_alone
from torpor_endpoint.app import EndpointProcess
from torpor_endpoint.options import Options

PERIOD_S = 0.001


class Lagging:
    """The endpoint's application, and `/_lag`."""

    def __init__(self, options: Options) -> None:
        self._app = EndpointProcess(options).app()
        self._seen_s = 0.0
        self._most_s = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            self._seen_s = time.process_time()
            self._tick()
        if scope.get("path") != "/_lag":
            await self._app(scope, receive, send)
            return
        await asyncio.sleep(2 * PERIOD_S)  # what held it up last is seen too
        most_s, self._most_s = self._most_s, 0.0
        await sent(Response(200, f"{most_s * 1000:.1f}".encode()), send)

    def _tick(self) -> None:
        now_s = time.process_time()
        self._most_s = max(self._most_s, now_s - self._seen_s)
        self._seen_s = now_s
        asyncio.get_running_loop().call_later(PERIOD_S, self._tick)


if __name__ == "__main__":
    listener, data_dir = socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])
    options = Options(data_dir, port=listener.getsockname()[1])
    sys.argv = sys.argv[:1]
    serve_alone(lambda: Lagging(options), listener, ServerOptions(log_level="critical"))
