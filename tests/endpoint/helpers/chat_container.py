"""A container of many language models, by SageMaker's contract: it answers OpenAI's operations without any model.

It is told the operation by X-Amzn-SageMaker-Model-Invocation-Path. It repeats the last message after the word in the
model's file `word`; a message `wait FILE` makes it stop after its first part until the file is there.
"""

import json
import sys
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

MODELS: dict[str, str] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        models = [{"modelName": name, "modelUrl": url} for name, url in MODELS.items()]
        known = unquote(self.path.removeprefix("/models/")) in MODELS
        self.answer(200 if known or self.path in ("/ping", "/models") else 404, {"models": models})

    def do_DELETE(self) -> None:
        self.answer(200 if MODELS.pop(unquote(self.path.removeprefix("/models/")), None) else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/models":
            request = json.loads(body)
            MODELS[request["model_name"]] = request["url"]
            self.answer(200, {})
            return
        word = (Path(MODELS[unquote(self.path.split("/")[2])]) / "word").read_text()
        request = json.loads(body)
        marks = {"system_fingerprint": sha256(body).hexdigest(), "model": request["model"], "created": 1, "id": "c1"}
        match self.headers["X-Amzn-SageMaker-Model-Invocation-Path"]:
            case "/v1/chat/completions":
                self.chat(word, request, marks)
            case "/v1/completions":
                choice = {"index": 0, "finish_reason": "stop", "text": f"{word}: {request['prompt']}"}
                self.answer(200, {**marks, "object": "text_completion", "choices": [choice]})
            case _:
                data = [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]
                usage = {"prompt_tokens": 1, "total_tokens": 1}
                self.answer(200, {"object": "list", "data": data, "model": request["model"], "usage": usage})

    def chat(self, word: str, request: Any, marks: dict[str, Any]) -> None:
        said = request["messages"][-1]["content"]
        if said == "too much":
            error = {"message": "the context is too long", "type": "invalid_request_error", "code": "context_length"}
            self.answer(400, {"error": {**error, "param": None}})
        elif not request.get("stream"):
            message = {"role": "assistant", "content": f"{word}: {said}"}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            self.answer(200, {**marks, "object": "chat.completion", "choices": [choice]})
        else:
            self.stream(word, said, marks)

    def stream(self, word: str, said: str, marks: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.event(word, marks)
        if said.startswith("wait "):
            while not Path(said[5:]).exists():
                time.sleep(0.01)
        if said == "break":
            self.close_connection = True
            return
        self.event(f": {said}", marks)
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def event(self, text: str, marks: dict[str, Any]) -> None:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        self.chunk(
            b"data: %b\n\n" % json.dumps({**marks, "object": "chat.completion.chunk", "choices": [choice]}).encode()
        )

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

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
