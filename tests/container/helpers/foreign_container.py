"""A multi-model container that misbehaves, run as a program: each argument after the port names one fault.

It answers an invocation with its model's name, the body, and the headers that it received, as JSON.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 2
WORKER = """
import os, pathlib, signal, sys, time
place = pathlib.Path(sys.argv[1])
def told(number, frame):
    place.with_suffix(".told").write_text("to stop")
    sys.exit()
signal.signal(signal.SIGTERM, told)
place.with_suffix(".new").write_text(str(os.getpid()))
place.with_suffix(".new").rename(place)
time.sleep(600)
"""


@dataclass
class Container:
    """`rooms` models fit; one more is 507 and leaves a dead registration behind, as Multi Model Server does."""

    manners: set[str]
    rooms: int
    models: dict[str, str] = field(default_factory=dict)  # url by name; empty for a dead registration
    calls: list[str] = field(default_factory=list)
    adapters: dict[str, str | None] = field(default_factory=dict)  # the weights of each
    late: set[str] = field(default_factory=set)  # dead registrations that are still to be made

    def load(self, name: str, url: str) -> tuple[int, Any]:
        if name in self.models:
            return 409, {"code": 409, "type": "ConflictStatusException", "message": f"{name} is already registered."}
        if (Path(url) / "broken").exists():
            return 500, {"code": 500, "type": "InternalServerException", "message": "Failed to start workers"}
        if (Path(url) / "huge").exists() or sum(map(bool, self.models.values())) >= self.rooms:
            self.late.add(name)
            if "late" not in self.manners:
                self.bury()
            return 507, {"code": 507, "type": "InsufficientMemoryException", "message": "no memory"}
        self.models[name] = url
        return (
            (210, {"status": "Partial Success"}) if "partial" in self.manners else (200, {"status": "Workers scaled"})
        )

    def bury(self) -> None:
        self.models |= dict.fromkeys(self.late, "")
        self.late.clear()

    def unload(self, name: str) -> tuple[int, Any]:
        answer = (200, {"status": "gone"}) if self.models.pop(name, None) is not None else (404, {"code": 404})
        self.bury()
        return answer

    def listed(self, token: str) -> Any:
        if "map" in self.manners:
            return {name: {"state": "AVAILABLE"} for name in self.models}
        start = int(token or 0)
        page = [{"modelName": name, "modelUrl": url} for name, url in self.models.items()][start : start + PAGE]
        more = {"nextPageToken": str(start + PAGE)} if len(page) == PAGE else {}  # even if the next page is empty
        return {"models": [*page, {}], **more}

    def invoke(self, name: str, told: dict[str, Any]) -> tuple[int, Any]:
        if name not in self.models:
            return 404, {"code": 404, "type": "ModelNotFoundException"}
        if not self.models[name]:
            return 503, {"code": 503, "type": "ServiceUnavailableException"}
        if told["body"] == "die":
            os._exit(3)
        if told["body"] == "burn":
            until_s = time.process_time() + 1.0
            while time.process_time() < until_s:
                pass
        if told["body"] == "missing":
            return 404, {"mine": True}
        url = self.models[name]
        if told["body"] == "forget":
            self.models.clear()
        weights = Path(url) / "weights"
        return 200, {"model": name, "url": url, "weights": weights.read_text() if weights.exists() else "", **told}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    container: Container

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/ping":
            self.answer(200, {"status": "Healthy"})
        elif parts.path == "/models":
            self.answer(200, self.container.listed(parse_qs(parts.query).get("next_page_token", [""])[0]))
        elif parts.path == "/calls":
            self.answer(200, self.container.calls)
        else:
            self.answer(200 if unquote(parts.path.removeprefix("/models/")) in self.container.models else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if body == b"garbage":
            self.wfile.write(b"what is HTTP?\r\n\r\n")
            self.close_connection = True
        elif body.startswith(b"stream"):
            self.stream(whole=body == b"stream")
        elif self.path == "/models":
            request = json.loads(body)
            self.noted("load", request["model_name"])
            if (Path(request["url"]) / "stuck").exists():
                time.sleep(600)
            if (Path(request["url"]) / "slow").exists():
                time.sleep(1.0)
            self.answer(*self.container.load(request["model_name"], request["url"]))
        elif self.path == "/adapters":
            request = json.loads(body)
            place = Path(request["src"]) / "weights"
            self.container.adapters[request["name"]] = place.read_text() if place.exists() else None
            self.container.calls.append(f"adapt {request['name']}")
            self.answer(200 if place.exists() else 424, {"message": "it has no weights"})
        elif self.path == "/invocations":
            adapter = self.container.adapters.get(self.headers.get("x-amzn-sagemaker-adapter-identifier", ""))
            weights = (Path(os.environ["MODEL_DIR"]) / "weights").read_text()
            model = {"model": os.environ["MODEL_DIR"], "weights": weights, "adapter": adapter}
            self.answer(200, {**model, "calls": self.container.calls, **self.told(body)})
        else:
            name = unquote(self.path.removeprefix("/models/").removesuffix("/invoke"))
            self.answer(*self.container.invoke(name, self.told(body)))

    def do_DELETE(self) -> None:
        if self.path.startswith("/adapters/"):
            forgotten = unquote(self.path.removeprefix("/adapters/"))
            self.container.adapters.pop(forgotten, None)
            self.container.calls.append(f"forget {forgotten}")
            self.answer(404 if "forgetful" in self.container.manners else 200, {})
            return
        name = unquote(self.path.removeprefix("/models/"))
        self.noted("unload", name)
        if "clinging" in self.container.manners:
            time.sleep(600)
        self.answer(*self.container.unload(name))

    def stream(self, whole: bool) -> None:
        """Two chunks; an answer that is not whole breaks off after them."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.wfile.write(head + b"5\r\nfirst\r\n6\r\nsecond\r\n")
        if whole:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def told(self, body: bytes) -> dict[str, Any]:
        """The caller's headers, and the container's arguments and environment."""
        environment = {name: value for name, value in os.environ.items() if name.startswith(("SAGEMAKER", "TORPOR"))}
        return {
            "body": body.decode(),
            "headers": dict(self.headers.items()),
            "environment": environment,
            "temp": os.environ["TMPDIR"],
            "file": Path("own.properties").read_text() if Path("own.properties").exists() else None,
        }

    def noted(self, what: str, name: str) -> None:
        target = self.headers.get("x-amzn-sagemaker-target-model", "(no target)")
        self.container.calls.append(f"{what} {target}")
        print(f"{what} {name}", flush=True)

    def answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        if "curt" in self.container.manners:  # it hangs up after each answer, and does not say so
            self.close_connection = True
        if "endless" in self.container.manners:  # only the end of the connection says that the answer is whole
            self.wfile.write(b"HTTP/1.0 %d Fine\r\nContent-Type: application/json\r\n\r\n" % status + body)
            self.close_connection = True
            return
        self.send_response(status)
        if "session" in self.container.manners:
            self.send_header("X-Amzn-SageMaker-New-Session-Id", "s1; Expires=2030-01-01T00:00:00Z")
            self.send_header("X-Own", "kept here")
        if "untyped" not in self.container.manners:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


def main() -> None:
    port, rooms, *manners = sys.argv[1:]
    if "worker" in manners:  # it is told by nobody if only its parent is, which waits for it
        worker = subprocess.Popen([sys.executable, "-c", WORKER, os.environ["WORKER_PID"]])
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(worker.wait()))
        while not Path(os.environ["WORKER_PID"]).exists():
            time.sleep(0.01)
    if "slow" in manners:
        time.sleep(1.0)
    if "stillborn" in manners:
        sys.exit("no licence found")
    Handler.container = Container(set(manners), int(rooms))
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
