"""Reads the paths of the Open Inference Protocol: what a request wants, of which model, at which endpoint.

A model's name is the TargetModel. It may have slashes, as they are or percent-encoded; tritonclient sends them as they
are. What follows the name decides where it ends, so a name that ends in `/ready` must be encoded.
"""

import re
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote

PREFIX = "/v2"


class V2Action(StrEnum):
    LIVE = "live"
    READY = "ready"
    SERVER = "server"
    METADATA = "metadata"
    MODEL_READY = "model ready"
    INFER = "infer"
    STATISTICS = "statistics"
    INDEX = "index"
    LOAD = "load"
    UNLOAD = "unload"


class V2Call(NamedTuple):
    """`endpoint` is None where the path names none; `model` and `version` are empty where it names none."""

    action: V2Action
    endpoint: str | None = None
    model: str = ""
    version: str = ""


WITHIN_ENDPOINT = re.compile(r"/endpoints/([^/]+)(/.*)?")
OF_MODEL = re.compile(r"/models/(.+?)(?:/versions/([^/]+))?(?:/(infer|ready|stats))?")
OF_REPOSITORY = re.compile(r"/repository/models/(.+)/(load|unload)")
FIXED = {
    ("GET", ""): V2Action.SERVER,
    ("GET", "/health/live"): V2Action.LIVE,
    ("GET", "/health/ready"): V2Action.READY,
    ("GET", "/models/stats"): V2Action.STATISTICS,
    ("POST", "/repository/index"): V2Action.INDEX,
}
OF_ONE_MODEL = {
    ("GET", None): V2Action.METADATA,
    ("GET", "ready"): V2Action.MODEL_READY,
    ("GET", "stats"): V2Action.STATISTICS,
    ("POST", "infer"): V2Action.INFER,
}
METHODS = {"infer": "POST", "load": "POST", "unload": "POST", "/repository/index": "POST"}
"""The method of what GET does not do."""
OPEN = frozenset({f"{PREFIX}/health/live", f"{PREFIX}/health/ready"})
"""What anybody may ask, also where callers are verified."""


class UnknownPath(ValueError):
    """The protocol has no such path. `allowed` is the method that the path has, if it has one."""

    def __init__(self, text: str, allowed: str = "") -> None:
        super().__init__(text)
        self.allowed = allowed


def parsed(method: str, raw_path: str) -> V2Call:
    """What a request wants. `raw_path` is the path as it was sent, still encoded. Raises UnknownPath."""
    method = "GET" if method == "HEAD" else method
    path, endpoint = raw_path.removeprefix(PREFIX), None
    if within := WITHIN_ENDPOINT.fullmatch(path):
        endpoint, path = unquote(within[1]), within[2] or ""
    path = path.rstrip("/")
    if action := FIXED.get((method, path)):
        return V2Call(action, endpoint)
    if of_repository := OF_REPOSITORY.fullmatch(path):
        _check_method(method, of_repository[2], path)
        action = V2Action.LOAD if of_repository[2] == "load" else V2Action.UNLOAD
        return V2Call(action, endpoint, unquote(of_repository[1]))
    if of_model := OF_MODEL.fullmatch(path):
        model, version, verb = of_model.groups()
        _check_method(method, verb, path)
        return V2Call(OF_ONE_MODEL[method, verb], endpoint, unquote(model), unquote(version or ""))
    if path in [known for _, known in FIXED]:
        _check_method(method, path, path)
    raise UnknownPath(f"the Open Inference Protocol has no path {raw_path[:200]}")


def _check_method(method: str, verb: str | None, path: str) -> None:
    """Raises UnknownPath."""
    allowed = METHODS.get(verb or "", "GET")
    if method != allowed:
        raise UnknownPath(f"{PREFIX}{path[:200]} takes {allowed}, and not {method}", allowed)
