"""Where each service of an endpoint is called, and with which keys."""

import json

import pytest
from typer.testing import CliRunner

from tests.sdk.helpers.answering_endpoint import Asked, Told, answering
from torpor.calling.connection import EndpointConnection, urls_of_services
from torpor.cli import app
from torpor.errors import ValueRefused
from torpor.replay.target import ReplayPost, Target

CONTROL, ROUTER, S3 = "http://control.example:4700", "http://router.example:4701", "https://s3.example"
VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A shell that leads the runtime to a router, and S3 elsewhere."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", CONTROL)
    monkeypatch.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", f"{ROUTER}/")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", S3)
    return monkeypatch


def urls(connection: EndpointConnection) -> list[str]:
    return [
        connection.client(service).meta.endpoint_url for service in ("sagemaker", "sagemaker-runtime", "s3", "logs")
    ]


def test_a_service_is_called_where_its_own_variable_says(shell: pytest.MonkeyPatch) -> None:
    shell.setenv("AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", "http://logs.example")
    assert urls(EndpointConnection.configured()) == [CONTROL, ROUTER, S3, "http://logs.example"]


def test_a_url_that_is_given_is_for_all_services(shell: pytest.MonkeyPatch) -> None:
    assert urls(EndpointConnection.configured("http://other.example")) == ["http://other.example"] * 4
    assert urls(EndpointConnection("http://local.example")) == ["http://local.example"] * 4


def test_the_variable_of_a_service_holds_without_a_url_of_the_endpoint(shell: pytest.MonkeyPatch) -> None:
    shell.delenv("AWS_ENDPOINT_URL")
    assert EndpointConnection.configured().url_of("s3") == S3
    assert EndpointConnection.configured().url_of("sagemaker") == "http://127.0.0.1:4700"


def test_another_s3_gets_the_usual_credentials_and_the_endpoint_does_not(shell: pytest.MonkeyPatch) -> None:
    shell.delenv("AWS_ENDPOINT_URL")
    shell.setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
    shell.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    connection = EndpointConnection.configured()
    keys = {service: _access_key(connection.client(service)) for service in ("s3", "sagemaker")}
    assert keys == {"s3": "AKIAOTHER", "sagemaker": "torpor"}


def _access_key(client: object) -> str:
    return str(client._request_signer._credentials.access_key)  # type: ignore[attr-defined]  # botocore's own


def test_a_replay_sends_where_the_runtime_is(shell: pytest.MonkeyPatch) -> None:
    post = ReplayPost(Target(EndpointConnection.configured(), "houses"), 1)
    assert post._pool.host == "router.example"
    post.close()


def test_the_url_of_a_service_is_checked() -> None:
    with pytest.raises(ValueRefused, match="nowhere is not a URL"):
        urls_of_services({"AWS_ENDPOINT_URL_S3": "nowhere"})
    assert urls_of_services({"AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": CONTROL}) == {}


def test_invoke_calls_the_router_of_the_environment() -> None:
    def answer(asked: Asked) -> Told:
        return Told(body=b"4.2")

    with answering(lambda asked: Told(400, json.dumps({"message": "A control."}).encode())) as control:
        with answering(answer) as router:
            led = {"AWS_ENDPOINT_URL": control, "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": router}
            done = CliRunner().invoke(app, ["invoke", "houses", "--body", "1"], env=led)
            explicit = CliRunner().invoke(app, ["invoke", "houses", "--body", "1", "--url", control], env=led)
    assert (done.exit_code, done.stdout) == (0, "4.2")
    assert "A control." in explicit.stderr
