"""Writes the answers of TensorFlow Serving's REST API: errors in its texts, status, and metadata as a signature."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from torpor_account.aws.wire.asgi import Headers, Response
from torpor_endpoint.core.sending.machine import CONTENT_TYPE
from torpor_endpoint.faces.passage_calls import failure_of
from torpor_endpoint.faces.tf_serving.tfs_paths import TfsCall
from torpor_endpoint.runtime.face_notes import FaceNote

JSON = "application/json"
ONLY_VERSION = "1"
STATUSES = {406: 400, 415: 400, 413: 400, 507: 429}
"""What the server says by other codes: it has few (model_servers/http_server.cc)."""
DTYPES = {"FP16": "DT_HALF", "FP32": "DT_FLOAT", "FP64": "DT_DOUBLE", "BOOL": "DT_BOOL", "BYTES": "DT_STRING"}
SIGNATURE_DEF = "type.googleapis.com/tensorflow.serving.SignatureDefMap"


def answered(call: TfsCall, note: FaceNote, status: int, headers: Headers, body: bytes) -> tuple[int, Headers, bytes]:
    """The face's answer for the runtime's."""
    if 200 <= status < 300:
        return status, headers, body
    failure = failure_of(note.fault, status, body)
    if failure.status == 404:
        return not_found(call, headers)
    kept = [header for header in headers if not header[0].startswith((CONTENT_TYPE, b"x-amzn-errortype"))]
    code = STATUSES.get(failure.status, failure.status)
    return code, [*kept, (CONTENT_TYPE, JSON.encode())], error_body(failure.message)


def not_found(call: TfsCall, headers: Headers) -> tuple[int, Headers, bytes]:
    """The model is not there, in the words of the server's manager."""
    kept = [header for header in headers if not header[0].startswith((CONTENT_TYPE, b"x-amzn-errortype"))]
    return 404, [*kept, (CONTENT_TYPE, JSON.encode())], error_body(missing(call))


def missing(call: TfsCall) -> str:
    asked = f"Specific({call.model}, {call.version})" if call.version else f"Latest({call.model})"
    return f"Servable not found for request: {asked}"


def error_body(message: str) -> bytes:
    return json.dumps({"error": message}).encode()


def refused(message: str, status: int) -> Response:
    return Response(status, error_body(message), {"content-type": JSON})


def status_of(versions: Sequence[str]) -> Response:
    """The status of versions that can be called: each is loaded when it is. The newest comes first."""
    fine = {"error_code": "OK", "error_message": ""}
    known = [{"version": one, "state": "AVAILABLE", "status": fine} for one in reversed(versions)]
    return Response(200, json.dumps({"model_version_status": known}).encode(), {"content-type": JSON})


def metadata_of(call: TfsCall, document: Mapping[str, Any]) -> bytes:
    """The metadata of a model, of what its instance says of its inputs and outputs."""
    signature = {
        "inputs": _tensors(document["inputs"]),
        "outputs": _tensors(document["outputs"]),
        "method_name": "tensorflow/serving/predict",
    }
    spec = {"name": call.model, "signature_name": "", "version": ONLY_VERSION}
    signatures = {"@type": SIGNATURE_DEF, "signature_def": {"serving_default": signature}}
    return json.dumps({"model_spec": spec, "metadata": {"signature_def": signatures}}).encode()


def _tensors(specs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        spec["name"]: {
            "dtype": DTYPES.get(spec["datatype"], f"DT_{spec['datatype']}"),
            "tensor_shape": {
                "dim": [{"size": str(size), "name": ""} for size in spec["shape"]],
                "unknown_rank": False,
            },
            "name": f"{spec['name']}:0",
        }
        for spec in specs
    }
