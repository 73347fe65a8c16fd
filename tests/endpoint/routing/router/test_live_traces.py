"""Traces of requests through a router, at a collector in this process."""

import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put, script
from tests.endpoint.helpers.otlp_receiver import otlp_receiver
from tests.helpers.waiting import soon

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TELLING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    return context.get_all_request_header(0)["traceparent"], "text/plain"
"""


@pytest.mark.thorough
def test_a_router_sends_traces_as_its_own_instance_of_the_service_and_no_metrics(tmp_path: Path) -> None:
    with (
        otlp_receiver() as collector,
        LiveEndpoint(tmp_path / "data", "--otel", environment=collector.environment(OTEL_SERVICE_NAME="shops")) as live,
    ):
        put(live.folder("models"), {"telling.tar.gz": script(TELLING)})
        live.deploy("Telling", Variant(one("models/telling.tar.gz")))
        variables = collector.environment(OTEL_SERVICE_NAME="shops")
        router = LiveRouter(live.url, tmp_path / "router.log", variables, "--otel")
        try:
            url, headers = f"{router.url}/endpoints/Telling/invocations", {"traceparent": f"00-{TRACE}-{SPAN}-01"}
            with urllib.request.urlopen(urllib.request.Request(url, b"1", headers), timeout=60) as answer:
                told = answer.read().decode()
                spans = collector.tree(answer.headers["x-amzn-requestid"])
        finally:
            router.stop()
        assert spans[0].name == "POST /endpoints/{EndpointName}/invocations"
        assert (spans[0].trace, spans[0].parent) == (TRACE, SPAN)
        (sent,) = (span for span in spans if span.name == "invoke")  # it may have been held before
        assert told == f"00-{TRACE}-{sent.id}-01"
        assert soon(lambda: collector.resources, within_s=60)
        ((service, instance),) = {named(span.resource) for span in spans}
        ((service_of_control, control),) = {named(resource) for resource in collector.resources}  # of metrics
        assert service == service_of_control == "shops"
        assert instance != control


def named(resource: Mapping[str, Any]) -> tuple[str, str]:
    return resource["service.name"], resource["service.instance.id"]
