"""Reads the endpoint's own pages: its instances, their models, and the decisions about one model."""

import json
import time
import urllib.parse
import urllib.request
from typing import Any

from tests.endpoint.helpers.live_endpoint import LiveEndpoint
from tests.helpers.processes import children, serving
from tests.helpers.waiting import soon, until
from torpor_account.storage.data_dir import DataDir
from torpor_container.measuring.memory_gauge import WALKED_FOR_S


def page(live: LiveEndpoint, name: str, **query: str) -> Any:
    url = f"{live.url}/_torpor/{name}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def instances(live: LiveEndpoint, endpoint: str) -> list[dict[str, Any]]:
    """Every ready instance of the endpoint."""
    known = {entry["name"]: entry for entry in page(live, "endpoints")["endpoints"]}
    return [instance for variant in known[endpoint]["variants"] for instance in variant["instances"]]


def present(live: LiveEndpoint, endpoint: str) -> int:
    """The number of instances that are wanted, or have not ended yet."""
    known = {entry["name"]: entry for entry in page(live, "endpoints")["endpoints"]}
    return sum(int(variant["wanted"] + variant["leaving"]) for variant in known[endpoint]["variants"])


def asleep(live: LiveEndpoint, *endpoints: str) -> bool:
    """Waits for a moment until none of the endpoints has an instance. Returns whether that is so."""
    return soon(lambda: not any(present(live, name) for name in endpoints), 60)


def forked(live: LiveEndpoint) -> list[int]:
    """Instances and their processes: children of a zygote, which is a child of the worker. Oldest first."""
    return [pid for worker in live.worker_pids() for parent in children(worker) for pid in sorted(serving(parent))]


def launches(live: LiveEndpoint, *endpoints: str) -> int:
    """The number of incarnations so far: each has a log of its own."""
    logs = DataDir(live.data_dir).endpoint_logs
    return sum(1 for name in endpoints for _ in (logs / name).glob("*/*.log"))


def instance(live: LiveEndpoint, endpoint: str) -> dict[str, Any]:
    """The one container of the one instance, beside what the instance itself has."""
    (only,) = instances(live, endpoint)
    (container,) = only["containers"]
    return {**only, **container}


def decisions(live: LiveEndpoint, endpoint: str, model: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page(live, "decisions", endpoint=endpoint, model=model)["decisions"]
    return found


def settled_bytes(live: LiveEndpoint, endpoint: str) -> int:
    """The memory of the instance once no model is loaded, by a later walk over its pages."""
    until(lambda: instance(live, endpoint)["models"] == [])
    walked_s = time.monotonic() + WALKED_FOR_S
    while (seen := instance(live, endpoint)) and time.monotonic() < walked_s:  # its last walk is from before that
        time.sleep(0.05)
    return int(seen["used_bytes"])
