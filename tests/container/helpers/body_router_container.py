"""A container that finds the model in the body, as llama.cpp's router mode and llama-swap do, run as a program.

Its arguments are its port, its folder of models, and `llama-server` or `llama-swap`. A model answers with what its file
`weights.gguf` says; a load takes a moment, and one whose file says `broken` fails.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

FOLDER, KIND = Path(sys.argv[2]), sys.argv[3]
LOAD_S = 0.3
KNOWN: dict[str, dict[str, Any]] = {}


def weights(name: str) -> str | None:
    file = FOLDER / name / "weights.gguf"
    return file.read_text() if file.exists() else None


def load(name: str) -> bool:
    """Ends a moment later."""
    KNOWN[name] = {"value": "loading"}
    time.sleep(LOAD_S)
    broken = weights(name) == "broken"
    KNOWN[name] = {"value": "unloaded", "failed": True, "exit_code": 7} if broken else {"value": "loaded"}
    return not broken


def unload(name: str) -> None:
    time.sleep(LOAD_S)
    KNOWN[name] = {"value": "unloaded"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/health":
            self.answer(200, {"status": "ok"})
        elif KIND == "llama-swap":
            self.swapped(parts.path)
        elif parts.path == "/models":
            if parts.query == "reload=1":
                found = [one.name for one in FOLDER.iterdir() if weights(one.name) is not None]
                KNOWN.update({name: {"value": "unloaded"} for name in found if name not in KNOWN})
            self.answer(200, {"data": [{"id": name, "status": status} for name, status in KNOWN.items()]})
        else:
            self.answer(404, {"error": {"message": "File Not Found"}})

    def swapped(self, path: str) -> None:
        if path == "/running":
            running = [{"model": name, "state": "ready"} for name, one in KNOWN.items() if one["value"] == "loaded"]
            self.answer(200, {"running": running})
            return
        name = unquote(path.split("/")[2])
        found = weights(name) is not None and load(name)
        self.answer(200 if found else 502, {} if found else {"error": "unable to start process"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith("/api/models/unload/"):
            unload(unquote(self.path.split("/")[4]))
            self.answer(200, {"msg": "ok"})
        elif self.path.startswith("/models/"):
            self.ordered(self.path.split("/")[2], json.loads(body)["model"])
        else:
            self.invoked(json.loads(body))

    def ordered(self, what: str, name: str) -> None:
        if name not in KNOWN:
            self.answer(400, {"error": {"message": "model not found"}})
            return
        Thread(target={"load": load, "unload": unload}[what], args=(name,)).start()
        KNOWN[name] = {"value": "loading"} if what == "load" else KNOWN[name]
        self.answer(200, {"success": True})

    def invoked(self, asked: dict[str, Any]) -> None:
        if KNOWN.get(asked["model"], {}).get("value") != "loaded":
            self.answer(404, {"error": {"message": f"model {asked['model']} is not loaded"}})
            return
        self.answer(200, {"path": self.path, "model": asked["model"], "says": weights(asked["model"])})

    def answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
