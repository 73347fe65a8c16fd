"""A container of the Open Inference Protocol with a model repository, as MLServer has it, run as a program.

Its arguments are its port and its folder of models. It adds up the numbers of the first tensor, and what the file
`weights` of the model says.
"""

import json
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

LOADED: dict[str, float] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = [unquote(part) for part in self.path.split("/")[2:]]
        if parts[0] == "health":
            self.answer(200, {"ready": True})
        elif parts[1] not in LOADED:
            self.answer(404, {"error": f"Model {parts[1]} not found"})
        else:
            self.answer(200, {"name": parts[1], "platform": "stand-in", "inputs": [], "outputs": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = [unquote(part) for part in self.path.split("/")[2:]]
        if parts == ["repository", "index"]:
            self.answer(200, [{"name": name, "state": "READY", "reason": ""} for name in LOADED])
        elif parts[0] == "repository" and parts[3] == "load":
            weights = Path(sys.argv[2]) / parts[2] / "weights"
            if not weights.exists():
                self.answer(400, {"error": "it has no weights"})
                return
            LOADED[parts[2]] = float(weights.read_text())
            self.answer(200, {})
        elif parts[0] == "repository":
            self.answer(200 if LOADED.pop(parts[2], None) is not None else 404, {})
        elif parts[1] not in LOADED:
            self.answer(404, {"error": f"Model {parts[1]} not found"})
        else:
            self.infer(parts[1], body)

    def infer(self, model: str, body: bytes) -> None:
        length = self.headers.get("Inference-Header-Content-Length")
        if length is None:
            total = LOADED[model] + sum(json.loads(body)["inputs"][0]["data"])
            output: dict[str, Any] = {"name": "sum", "datatype": "FP32", "shape": [1], "data": [total]}
            self.answer(200, {"model_name": model, "outputs": [output]})
            return
        data = body[int(length) :]
        total = LOADED[model] + sum(struct.unpack(f"<{len(data) // 4}f", data))
        output = {"name": "sum", "datatype": "FP32", "shape": [1], "parameters": {"binary_data_size": 4}}
        head = json.dumps({"model_name": model, "outputs": [output]}).encode()
        self.send_response(200)
        self.send_header("Inference-Header-Content-Length", str(len(head)))
        self.whole(head + struct.pack("<f", total), "application/octet-stream")

    def answer(self, status: int, document: Any) -> None:
        self.send_response(status)
        self.whole(json.dumps(document).encode(), "application/json")

    def whole(self, body: bytes, kind: str) -> None:
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
