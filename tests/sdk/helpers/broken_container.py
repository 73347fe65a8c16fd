"""A container that keeps every rule of the contract, but for the faults that are planted in it by name.

Its model answers each line of a CSV with the sum of its numbers. As a program it takes `serve` and names of faults.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from torpor.conformance.container import UseCase
from torpor.conformance.limits import ContractLimits

SINGLE, MULTI, STREAMING, PIPELINE, BATCH, *PROTOCOLS = UseCase
HURRIED = ContractLimits(
    ping_s=0.5, invoke_s=1.2, load_s=1.2, unload_s=1.2, start_s=5.0, stop_s=1.0, request_bytes=200_000, hop_bytes=50_000
)
"""Waits for a container that is late or hangs."""
PATIENT = ContractLimits(
    ping_s=10, invoke_s=10, load_s=10, unload_s=10, start_s=10, stop_s=10, request_bytes=200_000, hop_bytes=50_000
)
"""Waits for any other container: no less than it needs on a busy machine."""
LATE_S = 0.6
"""More than a ping may take, and less than it is waited for."""
TOO_LONG_S = 1.5
"""More than an invocation or a load may take."""
SLOW, STREAM, LARGE = b"slow\n", b"stream\n", "large"
SLOW_S, LOAD_S, BUSY_S, PART_S = 0.08, 0.04, 0.05, 0.06
PAGE = 2
IDLE_MAX = 5
TRACE = "trace=7"


@dataclass(frozen=True)
class PlantedFault:
    """A fault, the one rule that it breaks, and the use in which it shows."""

    breaks: str
    use: UseCase = SINGLE
    limits: ContractLimits = PATIENT


FAULTS = {
    "ping is 503": PlantedFault("ping-200"),
    "ping redirects": PlantedFault("ping-200"),
    "ping hangs": PlantedFault("ping-200", limits=HURRIED),
    "ping is late": PlantedFault("ping-in-time", limits=HURRIED),
    "load is 500": PlantedFault("load-model", MULTI),
    "load hangs": PlantedFault("load-model", MULTI, limits=HURRIED),
    "loads twice": PlantedFault("load-twice-409", MULTI),
    "loads a missing folder": PlantedFault("load-missing-folder", MULTI),
    "failed load stays": PlantedFault("failed-load-leaves-nothing", MULTI),
    "load without url is 500": PlantedFault("load-bad-request-4xx", MULTI),
    "too large is 500": PlantedFault("load-507", MULTI),
    "too large stays": PlantedFault("load-507-again", MULTI),
    "get lacks modelUrl": PlantedFault("get-model", MULTI),
    "get of unknown is 200": PlantedFault("get-unknown-404", MULTI),
    "paths are not decoded": PlantedFault("odd-model-names", MULTI),
    "ping waits for loads": PlantedFault("ping-while-loading", MULTI, limits=HURRIED),
    "second load is 503": PlantedFault("load-at-once", MULTI),
    "list is 404": PlantedFault("list-models", MULTI),
    "list is a map": PlantedFault("list-models-members", MULTI),
    "list has snake case": PlantedFault("list-models-members", MULTI),
    "list loses a model": PlantedFault("list-models-pages", MULTI),
    "list repeats a model": PlantedFault("list-models-pages", MULTI),
    "list never ends": PlantedFault("list-models-pages", MULTI, limits=HURRIED),
    "invoke is 500": PlantedFault("invoke"),
    "invoke hangs": PlantedFault("invoke", limits=HURRIED),
    "slow is too long": PlantedFault("invoke-in-time", limits=HURRIED),
    "invoke of unknown is 500": PlantedFault("invoke-unloaded-404", MULTI),
    "target model chooses": PlantedFault("target-model-is-no-name", MULTI),
    "answers get mixed up": PlantedFault("invoke-at-once"),
    "second invocation is 503": PlantedFault("invoke-at-once"),
    "ping starves": PlantedFault("ping-under-load", limits=HURRIED),
    "ping waits for slow": PlantedFault("ping-while-invoking", limits=HURRIED),
    "loads block invocations": PlantedFault("invoke-while-loading", MULTI),
    "refuses added headers": PlantedFault("added-headers"),
    "refuses long attributes": PlantedFault("custom-attributes-accepted"),
    "answers long attributes": PlantedFault("custom-attributes-answered"),
    "answers odd attributes": PlantedFault("custom-attributes-answered"),
    "accept is ignored": PlantedFault("accept-own-type"),
    "unknown accept is 500": PlantedFault("accept-unknown-type"),
    "few connections": PlantedFault("accepts-connections"),
    "no length": PlantedFault("answer-length"),
    "hangs up silently": PlantedFault("keep-alive"),
    "never hangs up": PlantedFault("connection-close", limits=HURRIED),
    "large is 413": PlantedFault("large-body"),
    "large is hung up on": PlantedFault("large-body"),
    "GET invokes": PlantedFault("get-refused"),
    "HEAD is 500": PlantedFault("get-refused"),
    "types are guessed": PlantedFault("unknown-content-type"),
    "unknown type is 500": PlantedFault("unknown-content-type"),
    "bad body hangs": PlantedFault("bad-body-answered", limits=HURRIED),
    "bad body is 500": PlantedFault("bad-body-4xx"),
    "bad body spoils the next": PlantedFault("bad-body-leaves-nothing"),
    "bad body is left unread": PlantedFault("bad-body-leaves-nothing"),
    "unload is 500": PlantedFault("unload-model", MULTI),
    "unload keeps the model": PlantedFault("unloaded-is-gone", MULTI),
    "unload of unknown is 200": PlantedFault("unload-unknown-404", MULTI),
    "unloaded names are burnt": PlantedFault("load-after-unload", MULTI),
    "unload kills invocations": PlantedFault("unload-while-busy", MULTI),
    "stream is no stream": PlantedFault("stream-chunked", STREAMING),
    "stream is held back": PlantedFault("stream-first-part", STREAMING),
    "answers have no type": PlantedFault("answer-content-type", PIPELINE),
    "answers are large": PlantedFault("answer-size", PIPELINE),
    "parameters are no JSON": PlantedFault("execution-parameters", BATCH),
    "parameters are the API's": PlantedFault("execution-parameters", BATCH),
    "parameters are 500": PlantedFault("execution-parameters", BATCH),
    "one record is answered": PlantedFault("batch-records", BATCH),
}
"""Faults of a container that runs already."""

COMMAND_FAULTS = {
    "exits at once": "starts",
    "is never ready": "starts",
    "ignores its port": "bind-to-port",
    "ignores SIGTERM": "stops",
}
"""Faults of a container's command."""


@dataclass
class ServedState:
    """What all requests share: the faults, the loaded models by name, and what is going on."""

    faults: frozenset[str]
    models: dict[str, str] = field(default_factory=dict)
    burnt: set[str] = field(default_factory=set)
    invoking: int = 0
    slow: int = 0
    loading: int = 0
    last: bytes = b""
    spoilt: bool = False
    idle: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def counted(self, name: str) -> Iterator[int]:
        """Counts what is at it, and gives how many are, with this one."""
        with self.lock:
            setattr(self, name, getattr(self, name) + 1)
            count = getattr(self, name)
        try:
            yield count
        finally:
            with self.lock:
                setattr(self, name, getattr(self, name) - 1)


class BrokenServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, faults: frozenset[str]) -> None:
        self.request_queue_size = 1 if "few connections" in faults else 128
        self.state = ServedState(faults)
        super().__init__(("127.0.0.1", port), BrokenHandler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accepts a connection; with few of them, only while not too many have sent nothing yet."""
        until_s = time.monotonic() + TOO_LONG_S
        while "few connections" in self.state.faults and self.state.idle >= IDLE_MAX and time.monotonic() < until_s:
            time.sleep(0.01)
        self.count_idle(1)
        return super().get_request()

    def count_idle(self, more: int) -> None:
        with self.state.lock:
            self.state.idle += more

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that hang up are no news."""


class BrokenHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: BrokenServer
    had_request = False

    @property
    def state(self) -> ServedState:
        return self.server.state

    def has(self, fault: str) -> bool:
        return fault in self.state.faults

    def parse_request(self) -> bool:
        if not self.had_request:
            self.had_request = True
            self.server.count_idle(-1)
        return super().parse_request()

    def finish(self) -> None:
        if not self.had_request:
            self.server.count_idle(-1)
        super().finish()

    # -- GET, HEAD, DELETE -----------------------------------------------------------------------------------------
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/ping":
            self.ping()
        elif path == "/models":
            self.list_models(parse_qs(urlsplit(self.path).query).get("next_page_token", ["0"])[0])
        elif path == "/execution-parameters":
            self.parameters()
        elif path == "/invocations" or path.endswith("/invoke"):
            self.answer(200 if self.has("GET invokes") else 405)
        else:
            self.get_model(self.named(path))

    def do_HEAD(self) -> None:
        self.answer(500 if self.has("HEAD is 500") else 405)

    def do_DELETE(self) -> None:
        name = self.named(self.path)
        if name not in self.state.models:
            self.answer(200 if self.has("unload of unknown is 200") else 404)
            return
        if not self.has("unload keeps the model"):
            self.state.models.pop(name)
        if self.has("unloaded names are burnt"):
            self.state.burnt.add(name)
        self.answer(500 if self.has("unload is 500") else 200, {"status": "gone"})

    def ping(self) -> None:
        state = self.state
        if self.has("ping hangs"):
            time.sleep(TOO_LONG_S)
        waits = (
            self.has("ping is late")
            or (self.has("ping waits for loads") and state.loading)
            or (self.has("ping waits for slow") and state.slow)
            or (self.has("ping starves") and state.invoking > 2)
        )
        if waits:
            time.sleep(LATE_S)
        if self.has("ping is 503") or self.has("is never ready"):
            self.answer(503)
        elif self.has("ping redirects"):
            self.answer(302, headers={"Location": "/health"})
        else:
            self.answer(200)

    def parameters(self) -> None:
        strategy = "MultiRecord" if self.has("parameters are the API's") else "MULTI_RECORD"
        found = {"MaxConcurrentTransforms": 2, "BatchStrategy": strategy, "MaxPayloadInMB": 6}
        text = "MaxPayloadInMB=6" if self.has("parameters are no JSON") else found
        self.answer(500 if self.has("parameters are 500") else 200, text)

    # -- models ----------------------------------------------------------------------------------------------------
    def named(self, path: str) -> str:
        name = path.removeprefix("/models/").removesuffix("/invoke")
        return name if self.has("paths are not decoded") else unquote(name)

    def get_model(self, name: str) -> None:
        url = self.state.models.get(name, "" if self.has("get of unknown is 200") else None)
        described = {"modelName": name} if self.has("get lacks modelUrl") else {"modelName": name, "modelUrl": url}
        self.answer(404 if url is None else 200, described)

    def list_models(self, token: str) -> None:
        if self.has("list is 404"):
            self.answer(404)
            return
        member = "model_name" if self.has("list has snake case") else "modelName"
        rows = [{member: name, "modelUrl": url} for name, url in sorted(self.state.models.items())]
        if self.has("list is a map"):
            self.answer(200, dict(self.state.models.items()))
            return
        start = int(token) + int(self.has("list loses a model") and token != "0")
        page = rows[start : start + PAGE]
        if self.has("list repeats a model") and start:
            page = rows[start - 1 : start + PAGE]
        more = start + PAGE < len(rows) or self.has("list never ends")
        self.answer(200, {"models": page, **({"nextPageToken": str(start + PAGE)} if more else {})})

    def load(self, body: bytes) -> None:
        with self.state.counted("loading") as count:
            if {"ping waits for loads", "second load is 503", "loads block invocations"} & self.state.faults:
                time.sleep(LOAD_S)
            if self.has("load hangs"):
                time.sleep(TOO_LONG_S)
            status = 503 if count > 1 and self.has("second load is 503") else self.loaded(body)
        self.answer(status, {"code": status})

    def loaded(self, body: bytes) -> int:
        """The status of LoadModel."""
        try:
            document = json.loads(body)
            name, url = document["model_name"], document["url"]
        except (ValueError, KeyError):
            return 500 if self.has("load without url is 500") else 400
        if self.has("load is 500"):
            return 500
        if name in self.state.models or name in self.state.burnt:
            return 200 if self.has("loads twice") else 409
        if Path(url).name == LARGE:
            if self.has("too large stays"):
                self.state.burnt.add(name)
            return 500 if self.has("too large is 500") else 507
        if not Path(url).is_dir() and not self.has("loads a missing folder"):
            if self.has("failed load stays"):
                self.state.models[name] = ""
            return 404
        self.state.models[name] = url
        return 200

    # -- invocations -----------------------------------------------------------------------------------------------
    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > 100_000 and (self.has("large is 413") or self.has("large is hung up on")):
            self.close_connection = True
            if self.has("large is 413"):
                self.answer(413, headers={"Connection": "close"})
            return
        body = self.rfile.read(min(length, 1))
        if not (self.has("bad body is left unread") and body == b"\0"):
            body += self.rfile.read(length - len(body))
        if self.path == "/models":
            self.load(body)
            return
        with self.state.counted("invoking") as count, self.state.counted("slow") if body == SLOW else nullcontext():
            self.invoke(body, count)

    def invoke(self, body: bytes, count: int) -> None:
        self.state.last = body
        if {"answers get mixed up", "second invocation is 503", "ping starves"} & self.state.faults:
            time.sleep(BUSY_S)
            count = min(count, self.state.invoking)  # one that was answered just before this came was counted yet
        if body == SLOW:
            time.sleep(TOO_LONG_S if self.has("slow is too long") else SLOW_S)
        status = self.refused(count)
        if status is not None:
            self.answer(status, {"code": status})
        elif body == STREAM:
            self.stream()
        else:
            self.predict(self.state.last if self.has("answers get mixed up") else body)

    def refused(self, count: int) -> int | None:
        """The status of an invocation that does not reach its model."""
        attributes, accept = self.headers.get("X-Amzn-SageMaker-Custom-Attributes", ""), self.headers.get("Accept", "")
        target = self.headers.get("X-Amzn-SageMaker-Target-Model", "")
        if self.path != "/invocations" and self.named(self.path) not in self.state.models:
            killed = self.has("unload kills invocations") and self.state.last == SLOW
            return 500 if self.has("invoke of unknown is 500") or killed else 404
        if self.has("invoke hangs"):
            time.sleep(TOO_LONG_S)
        reasons = {
            "invoke is 500": True,
            "target model chooses": target.startswith("company_a/"),
            "refuses added headers": "X-Amzn-SageMaker-Added-Later" in self.headers,
            "refuses long attributes": len(attributes) > 512,
            "unknown accept is 500": "nobody" in accept,
            "second invocation is 503": count > 1,
            "loads block invocations": self.state.loading > 0,
        }
        if any(self.has(fault) and true for fault, true in reasons.items()):
            return 500
        if "nobody" in self.headers.get("Content-Type", "") and not self.has("types are guessed"):
            return 500 if self.has("unknown type is 500") else 415
        return None

    def predict(self, body: bytes) -> None:
        try:
            rows = [sum(map(float, row.split(","))) for row in body.decode().splitlines() if row != "slow"]
            if not body:
                raise ValueError("no rows")
        except ValueError:
            self.state.spoilt = self.has("bad body spoils the next")
            if self.has("bad body hangs"):
                time.sleep(TOO_LONG_S)
            self.answer(500 if self.has("bad body is 500") else 400, {"code": 400})
            return
        if self.state.spoilt:
            self.state.spoilt = False
            self.answer(500, "left over from the request before")
            return
        text = "".join(f"{row}\n" for row in rows[: 1 if self.has("one record is answered") else None])
        self.answer(
            200, text * (20_000 if self.has("answers are large") and len(rows) == 1 else 1), self.prediction_headers()
        )

    def prediction_headers(self) -> dict[str, str]:
        ignores = self.has("accept is ignored") and self.headers.get("Accept") == "text/csv"
        found = {"Content-Type": "application/json" if ignores else "text/csv"}
        if self.headers.get("X-Amzn-SageMaker-Custom-Attributes") == TRACE:
            odd = "a\tb" if self.has("answers odd attributes") else TRACE
            found["X-Amzn-SageMaker-Custom-Attributes"] = "x" * 2000 if self.has("answers long attributes") else odd
        return {} if self.has("answers have no type") else found

    def stream(self) -> None:
        if self.has("stream is no stream"):
            self.answer(200, "one two three")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        held = b""
        for part in (b"3\r\none\r\n", b"3\r\ntwo\r\n", b"5\r\nthree\r\n"):
            held += part
            if not self.has("stream is held back"):
                self.wfile.write(held)
                held = b""
            time.sleep(PART_S)
        self.wfile.write(held + b"0\r\n\r\n")

    # -- answers ---------------------------------------------------------------------------------------------------
    def answer(self, status: int, content: object = "", headers: dict[str, str] | None = None) -> None:
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.has("no length") and self.command == "POST":
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        if self.has("hangs up silently"):
            self.close_connection = True
        if self.has("never hangs up"):
            self.close_connection = False

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@contextmanager
def broken(*faults: str) -> Iterator[int]:
    """The port of a container with these faults, which serves within the block."""
    with BrokenServer(0, frozenset(faults)) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.005,))
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            serving.join()


def main() -> None:
    faults = frozenset(sys.argv[2:])
    if "exits at once" in faults:
        sys.exit("no licence found")
    port = os.environ["OTHER_PORT" if "ignores its port" in faults else "SAGEMAKER_BIND_TO_PORT"]
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "ignores SIGTERM" in faults else signal.SIG_DFL)
    with BrokenServer(int(port), faults) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
