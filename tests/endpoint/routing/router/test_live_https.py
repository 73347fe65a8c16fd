"""Routers whose own port speaks HTTPS, as processes: with a certificate of their own, and with the endpoint's."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, SSLError

from tests.endpoint.helpers.live_endpoint import REGION, LiveEndpoint, Variant, one
from tests.endpoint.helpers.live_router import LiveRouter
from tests.endpoint.helpers.model_artifacts import put, script
from tests.helpers.certificates import pair
from tests.helpers.ports import free_ports
from tests.helpers.waiting import soon, until

KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "y"}
ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=60)
PARTS = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept):
    for part in ("one", "two"):
        yield part
"""


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    with LiveEndpoint(
        tmp_path_factory.mktemp("control"), "--tls-self-signed", "--routers=2", "--router-ports", port=free_ports(3)
    ) as live:
        deployed(live)
        yield live


def deployed(live: LiveEndpoint) -> None:
    put(live.folder("models"), {"parts.tar.gz": script(PARTS)})
    assert soon(lambda: live.trusted is None or live.trusted.exists(), within_s=60)
    live.deploy("Parts", Variant(one("models/parts.tar.gz")))


def runtime(url: str, trusted: Path, **keys: str) -> Any:
    return boto3.client(
        "sagemaker-runtime", REGION, endpoint_url=url, config=ONCE, verify=str(trusted), **(keys or KEYS)
    )


def invoked(client: Any) -> bytes:
    return bytes(client.invoke_endpoint(EndpointName="Parts", Body=b"1")["Body"].read())


def streamed(client: Any) -> bytes:
    answer = client.invoke_endpoint_with_response_stream(EndpointName="Parts", Body=b"1")
    return b"".join(event["PayloadPart"]["Bytes"] for event in answer["Body"])


def trusts(url: str, certificate: Path) -> bool:
    """Whether a new connection is given this certificate."""
    try:
        return invoked(runtime(url, certificate)) == b"onetwo"
    except SSLError:
        return False


def test_a_router_speaks_https_with_files_that_may_change_while_it_runs(control: LiveEndpoint, tmp_path: Path) -> None:
    first, second = pair(tmp_path, "first"), pair(tmp_path, "second")
    files = [f"--tls-cert={first.certificate}", f"--tls-key={first.key}"]
    with ExitStack() as running:
        router = LiveRouter(control.url, tmp_path / "router.log", {}, *files, f"--control-ca={control.trusted}")
        running.callback(router.stop)
        began = tmp_path / "began.pem"
        shutil.copy(first.certificate, began)
        before = runtime(router.url, began)
        assert invoked(before) == streamed(before) == b"onetwo"
        assert router.state()["away"] is None

        shutil.copy(second.key, first.key)
        shutil.copy(second.certificate, first.certificate)
        assert soon(lambda: trusts(router.url, second.certificate), within_s=60)
        assert not trusts(router.url, began)
        assert invoked(before) == b"onetwo"  # its connection stayed open


def test_the_routers_beside_an_endpoint_speak_https_with_its_certificate(control: LiveEndpoint) -> None:
    assert control.trusted is not None
    address, _, port = control.url.rpartition(":")
    for number in (1, 2):
        client = runtime(f"{address}:{int(port) + number}", control.trusted)
        assert until(lambda client=client: answered(client), within_s=60) == b"onetwo"  # type: ignore[misc]
        assert streamed(client) == b"onetwo"


def answered(client: Any) -> bytes | None:
    """The answer of a router, once it runs."""
    try:
        return invoked(client)
    except (BotoCoreError, ClientError):
        return None


@pytest.mark.thorough
def test_a_router_needs_to_trust_its_control(control: LiveEndpoint, tmp_path: Path) -> None:
    """`AWS_CA_BUNDLE` says whom, as it does for AWS's clients."""
    trusting = LiveRouter(control.url, tmp_path / "one.log", {"AWS_CA_BUNDLE": str(control.trusted)})
    trusting.stop()
    stranger = pair(tmp_path, "stranger").certificate
    with pytest.raises(AssertionError, match=r"--control: the certificate of the control at .* is not trusted"):
        LiveRouter(control.url, tmp_path / "other.log", {}, f"--control-ca={stranger}")
