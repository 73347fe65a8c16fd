"""A server of the Open Inference Protocol and of TensorFlow Serving's REST API, with faults that are planted by name.

Its model `sum` adds up the numbers of each row: `rows`, of three columns, to `sum`, and counts them in `count`.
"""

import json
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

LENGTH = "Inference-Header-Content-Length"
COLUMNS = 3
V2_MODEL = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?(/\w+)?")
TFS_MODEL = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+))?(:predict|/metadata)?")
V2_FAULTS = {
    "is not live": "v2-live",
    "is not ready": "v2-ready",
    "has no extensions": "v2-server-metadata",
    "has no platform": "v2-model-metadata",
    "has odd datatypes": "v2-model-metadata",
    "model is not ready": "v2-model-ready",
    "versions are 404": "v2-versions",
    "unknown is 200": "v2-unknown-model",
    "errors are texts": "v2-unknown-model",
    "outputs lack values": "v2-infer",
    "id is lost": "v2-id",
    "nested data are columns": "v2-data-flat-or-nested",
    "all outputs come": "v2-requested-outputs",
    "bad JSON is 500": "v2-bad-json",
    "more data are cut": "v2-bad-tensor",
    "binary is big-endian": "v2-binary-inputs",
    "spaces move tensors": "v2-binary-any-length",
    "binary has no length": "v2-binary-outputs",
    "index is empty": "v2-index",
    "unload is 501": "v2-load-unload",
    "loads the unknown": "v2-load-unknown",
    "statistics have no ns": "v2-statistics",
}
TFS_FAULTS = {
    "status has numbers": "tfs-status",
    "states are ours": "tfs-status",
    "metadata lack signatures": "tfs-metadata",
    "version is ignored": "tfs-version-path",
    "unknown is 400": "tfs-unknown-model",
    "loses a row": "tfs-rows",
    "columns are rows": "tfs-columns",
    "takes both forms": "tfs-both-forms",
    "bad requests are 500": "tfs-bad-json",
}
METADATA = {
    "name": "sum",
    "versions": ["1"],
    "platform": "sums",
    "inputs": [{"name": "rows", "datatype": "FP32", "shape": [-1, COLUMNS]}],
    "outputs": [
        {"name": "sum", "datatype": "FP32", "shape": [-1]},
        {"name": "count", "datatype": "INT64", "shape": [-1]},
    ],
}
EXTENSIONS = ["binary_tensor_data", "model_repository", "statistics"]


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _flat(values: Any) -> list[Any]:
    return [one for value in values for one in _flat(value)] if isinstance(values, list) else [values]


class Sums(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults: frozenset[str] = frozenset()

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def has(self, fault: str) -> bool:
        return fault in self.faults

    def _answer(self, body: bytes) -> None:
        status, document, tail = 200, None, b""
        try:
            document, tail = self._v2(body) if self.path.startswith("/v2") else (self._tfs(body), b"")
        except Refused as refused:
            status, document = refused.status, {"error": str(refused)}
            if self.has("errors are texts") and "/models/torpor" in self.path and "repository" not in self.path:
                document = "no such model"
        head = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if tail and not self.has("binary has no length"):
            self.send_header(LENGTH, str(len(head)))
        self.send_header("Content-Length", str(len(head + tail)))
        self.end_headers()
        self.wfile.write(head + tail)

    # -- the Open Inference Protocol -----------------------------------------------------------------------------------
    def _v2(self, body: bytes) -> tuple[Any, bytes]:
        if self.path == "/v2":
            told = {"name": "sums", "version": "1"}
            return told if self.has("has no extensions") else {**told, "extensions": EXTENSIONS}, b""
        if self.path.startswith("/v2/health"):
            if self.has("is not live" if self.path.endswith("live") else "is not ready"):
                raise Refused(503, "it is not")
            return None, b""
        if self.path.startswith("/v2/repository"):
            return self._repository(), b""
        found = V2_MODEL.fullmatch(self.path)
        if found is None or (found[1] != "sum" and not self.has("unknown is 200")):
            raise Refused(404, "no such model")
        if found[2] and self.has("versions are 404"):
            raise Refused(404, "no such version")
        return self._of_model(found[3] or "", body)

    def _of_model(self, what: str, body: bytes) -> tuple[Any, bytes]:
        if what == "/infer":
            return self._infer(body)
        if what == "/ready" and self.has("model is not ready"):
            raise Refused(400, "not yet")
        if what == "/stats":
            spent = {"count": 1} if self.has("statistics have no ns") else {"count": 1, "ns": 5}
            return {"model_stats": [{"name": "sum", "version": "1", "inference_stats": {"success": spent}}]}, b""
        told: dict[str, Any] = dict(METADATA)
        if self.has("has no platform"):
            del told["platform"]
        if self.has("has odd datatypes"):
            told["inputs"] = [{"name": "rows", "datatype": "float32", "shape": [-1, COLUMNS]}]
        return told, b""

    def _repository(self) -> Any:
        if self.path.endswith("/index"):
            return [] if self.has("index is empty") else [{"name": "sum", "state": "READY"}]
        if "/sum/" not in self.path and not self.has("loads the unknown"):
            raise Refused(404, "no such model")
        if self.path.endswith("/unload") and self.has("unload is 501"):
            raise Refused(501, "no")
        return None

    def _infer(self, body: bytes) -> tuple[Any, bytes]:
        size = int(self.headers.get(LENGTH, len(body)))
        try:
            if body[:size].endswith(b" ") and self.has("spaces move tensors"):
                raise Refused(500, "the rows are not float32")
            request = json.loads(body[:size])
            rows = self._rows(request["inputs"][0], body[size:])
        except (ValueError, KeyError, TypeError, IndexError):
            raise Refused(500 if self.has("bad JSON is 500") else 400, "no inference") from None
        sums = [sum(row) for row in rows]
        outputs = [
            {"name": "sum", "datatype": "FP32", "shape": [len(rows)], "data": sums},
            {"name": "count", "datatype": "INT64", "shape": [len(rows)], "data": [COLUMNS] * len(rows)},
        ]
        if self.has("outputs lack values"):
            outputs[0]["shape"] = [len(rows) + 1]
        if "outputs" in request and not self.has("all outputs come"):
            wanted = [one["name"] for one in request["outputs"]]
            outputs = [one for one in outputs if one["name"] in wanted]
        tail = b""
        if request.get("parameters", {}).get("binary_data_output"):
            tail = self._in_binary(outputs)
        kept = {"id": request["id"]} if "id" in request and not self.has("id is lost") else {}
        return {"model_name": "sum", **kept, "outputs": outputs}, tail

    def _in_binary(self, outputs: list[dict[str, Any]]) -> bytes:
        tail = b""
        for one in outputs:
            values = one.pop("data")
            raw = struct.pack(f"<{len(values)}{'f' if one['datatype'] == 'FP32' else 'q'}", *values)
            one["parameters"] = {"binary_data_size": len(raw)}
            tail += raw
        return tail

    def _rows(self, tensor: dict[str, Any], tail: bytes) -> list[list[float]]:
        count, columns = tensor["shape"]
        if tensor["datatype"] != "FP32":
            raise Refused(400, "no such datatype")
        if "data" in tensor:
            values = _flat(tensor["data"])
            if isinstance(tensor["data"][0], list) and self.has("nested data are columns"):
                values = [2 * one for one in values]
        else:
            order = ">" if self.has("binary is big-endian") else "<"
            values = list(struct.unpack(f"{order}{count * columns}f", tail))
        if self.has("more data are cut"):
            values = values[: count * columns]
        if len(values) != count * columns:
            raise Refused(400, "data and shape differ")
        return [values[row * columns : (row + 1) * columns] for row in range(count)]

    # -- TensorFlow Serving --------------------------------------------------------------------------------------------
    def _tfs(self, body: bytes) -> Any:
        found = TFS_MODEL.fullmatch(self.path)
        if found is None or found[1] != "sum":
            raise Refused(400 if self.has("unknown is 400") else 404, "Servable not found")
        if found[3] == ":predict":
            return self._predict(body)
        if found[3] == "/metadata":
            tensor = {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "-1"}, {"size": str(COLUMNS)}]}}
            signatures = {"serving_default": {"inputs": {"rows": tensor}, "outputs": {}}}
            told = {} if self.has("metadata lack signatures") else {"signature_def": signatures}
            return {"model_spec": {"name": "sum"}, "metadata": {"signature_def": told}}
        state = "READY" if self.has("states are ours") else "AVAILABLE"
        status = {"error_code": "OK", "error_message": ""}
        rows: list[dict[str, Any]] = [{"version": one, "state": state, "status": status} for one in ("2", "1")]
        if self.has("status has numbers"):
            rows[0]["version"] = 2
        if found[2] and not self.has("version is ignored"):
            rows = [one for one in rows if one["version"] == found[2]]
        return {"model_version_status": rows}

    def _predict(self, body: bytes) -> Any:
        try:
            request = json.loads(body)
            if len({"instances", "inputs"} & request.keys()) != 1 and not self.has("takes both forms"):
                raise Refused(400, "one of instances and inputs")
            form = "instances" if "instances" in request else "inputs"
            sums = [sum(row) for row in request[form]]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Refused(500 if self.has("bad requests are 500") else 400, "no request") from None
        if form == "instances":
            return {"predictions": sums[1:] if self.has("loses a row") else sums}
        return {"predictions" if self.has("columns are rows") else "outputs": sums}


@contextmanager
def served(*faults: str) -> Iterator[int]:
    """The port of a server with these faults."""
    handler = type("PlantedSums", (Sums,), {"faults": frozenset(faults)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()
