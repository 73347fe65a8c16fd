"""Reads the paths of TensorFlow Serving's REST API (tensorflow/serving, model_servers/http_rest_api_util.cc).

A model's name is the TargetModel, percent-encoded, since a slash and a colon end a name there; a name with slashes as
they are is taken too. A path may begin with an endpoint: `/v1/endpoints/{endpoint}/models/…`.
"""

import re
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote

_MODEL = (
    r"/v1/(?:endpoints/(?P<endpoint>[^/]+)/)?models/(?P<model>[^:]+?)"
    r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
)
_POST = re.compile(_MODEL + r":(?P<method>classify|regress|predict)", re.IGNORECASE)
_GET = re.compile(_MODEL + r"(?P<metadata>/metadata)?", re.IGNORECASE)


class TfsAction(StrEnum):
    PREDICT = "predict"
    CLASSIFY = "classify"
    REGRESS = "regress"
    STATUS = "status"
    METADATA = "metadata"


class TfsCall(NamedTuple):
    """`endpoint`, `version` and `label` are empty where the path names none."""

    action: TfsAction
    model: str
    endpoint: str = ""
    version: str = ""
    label: str = ""


class Malformed(ValueError):
    """No request of the API. The text is the server's own."""


def parsed(method: str, raw_path: str) -> TfsCall:
    """What a request wants. `raw_path` is the path as it was sent, still encoded. Raises Malformed."""
    method = "GET" if method == "HEAD" else method
    found = {"GET": _GET, "POST": _POST}[method].fullmatch(raw_path) if method in ("GET", "POST") else None
    if found is None:
        raise Malformed(f"Malformed request: {method} {raw_path[:200]}")
    named = {name: unquote(value or "") for name, value in found.groupdict().items()}
    if method == "POST":
        action = TfsAction(named["method"].lower())
    else:
        action = TfsAction.METADATA if named["metadata"] else TfsAction.STATUS
    return TfsCall(action, named["model"], named["endpoint"], named["version"], named["label"])
