"""`compose.yaml`, as far as it can be read, and its commands run, without an engine."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest
import yaml

from tests.endpoint.helpers.constant_models import constant
from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import put
from tests.helpers.ports import free_port
from tests.helpers.waiting import soon
from tests.markdown import ROOT
from torpor_endpoint.__main__ import option_parser
from torpor_endpoint.options import Options
from torpor_endpoint.routing.router.router_options import ROUTER_OPTIONS, RouterOptions
from torpor_endpoint.routing.router.start import check
from torpor_endpoint.starting.endpoint_checks import CHECKS

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
ROUTERS = ["router-1", "router-2"]


def endpoint_command(further: str | None = None) -> list[str]:
    """The endpoint's, with a value of TORPOR_S3 or its default."""
    *command, last = SERVICES["endpoint"]["command"]
    default = re.fullmatch(r"\$\{TORPOR_S3:-(.*)\}", last)
    assert default is not None
    return [*command, further or default[1]]


def router_options(name: str) -> RouterOptions:
    return RouterOptions(**vars(option_parser("router", ROUTER_OPTIONS).parse_args(SERVICES[name]["command"])))


def test_the_endpoint_takes_its_options() -> None:
    for further in (None, "--s3-endpoint=http://127.0.0.1:9000"):
        options = Options(**vars(option_parser().parse_args(endpoint_command(further))))
        assert [flag for flag, good, _ in CHECKS if not good(options)] == []


def test_a_router_takes_its_options_and_follows_the_endpoint() -> None:
    endpoint = Options(**vars(option_parser().parse_args(endpoint_command())))
    for name in ROUTERS:
        options = router_options(name)
        check(options)
        assert options.control == endpoint.url
        assert f":{options.port}/_torpor/health" in SERVICES[name]["healthcheck"]["test"][-1]


def test_a_router_shares_the_network_and_the_sockets_of_the_endpoint() -> None:
    (data,) = SERVICES["endpoint"]["volumes"]
    for name in ROUTERS:
        assert SERVICES[name]["network_mode"] == "service:endpoint"
        assert SERVICES[name]["volumes"] == [f"{data}:ro"]
        for shared in ("build", "environment"):  # the keys of MinIO, to which routers write what they capture
            assert SERVICES[name][shared] == SERVICES["endpoint"][shared]


def test_what_is_mounted_is_there() -> None:
    volumes = [one.split(":")[0] for service in SERVICES.values() for one in service.get("volumes", ())]
    assert [one for one in volumes if one.startswith(".") and not (ROOT / one).exists()] == []
    assert {one for one in volumes if not one.startswith(".")} == set(COMPOSE["volumes"])


def test_ports_open_to_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert {f"127.0.0.1:{one}:{one}" for one in (4700, *(router_options(name).port for name in ROUTERS))} <= set(ports)


@contextmanager
def running(name: str, control: str, log: Path) -> Iterator[str]:
    """The command of a router, at another port of this machine's own. Its URL."""
    port = free_port()
    python, *entry = SERVICES[name]["entrypoint"]
    assert python == "python"
    elsewhere = [f"--control={control}", f"--port={port}", "--host=127.0.0.1"]
    command = [sys.executable, *entry, *SERVICES[name]["command"], *elsewhere]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "HOME": str(log.parent)})
    url = f"http://127.0.0.1:{port}"
    try:
        assert soon(lambda: is_well(url) or process.poll() is not None, within_s=60)
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(30)


def is_well(url: str) -> bool:
    try:
        with urlopen(f"{url}/_torpor/health", timeout=60) as answer:
            return b'"role":"router"' in answer.read()
    except OSError:
        return False


@pytest.mark.thorough
def test_a_router_answers_invocations(tmp_path: Path) -> None:
    command = [one for one in endpoint_command() if not one.startswith(("--host=", "--data-dir="))]
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
    with LiveEndpoint(tmp_path / "data", *command) as live:
        put(live.folder("models"), {"shop/1.tar": constant(1.0)})
        live.deploy("shop", Variant(many("models/shop")))
        with running("router-1", live.url, tmp_path / "router.log") as url:
            runtime = boto3.client("sagemaker-runtime", REGION, endpoint_url=url, **keys)
            said = runtime.invoke_endpoint(EndpointName="shop", TargetModel="1.tar", ContentType="text/csv", Body="1")
            assert float(said["Body"].read().strip(b"[]")) == 1.0
