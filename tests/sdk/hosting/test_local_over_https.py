"""`torpor.local` by HTTPS, and the commands that reach such an endpoint."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import torpor
from tests.helpers.certificates import pair
from torpor.calling.connection import EndpointConnection
from torpor.cli import app
from torpor.errors import EndpointRefused, EndpointUnreachable

EXPORT = re.compile(r"export (\w+)=(\S+)")
UNSET = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE"))


def run(*arguments: str, **variables: str) -> str:
    done = CliRunner().invoke(app, list(arguments), env={**UNSET, **variables})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.thorough
def test_every_client_of_the_sdk_trusts_the_endpoint(tmp_path: Path) -> None:
    with torpor.local(data_dir=tmp_path, name="secure", tls_self_signed=True) as endpoint:
        assert endpoint.url.startswith("https://127.0.0.1:")
        with endpoint.caller() as caller, pytest.raises(torpor.InvokeError, match="no-model"):
            caller.invoke("secure", b"1", target_model="no-model.tar.gz")
        assert endpoint.client("s3").list_buckets()["Buckets"][0]["Name"] == "torpor-local"
        check_commands(endpoint.url, tmp_path)
        check_errors(endpoint.url)


def check_commands(url: str, data_dir: Path) -> None:
    """`torpor env` finds what an endpoint is trusted by, also for who does not know that it speaks HTTPS."""
    plain = url.replace("https", "http")
    for named in (url, plain):
        found = dict(EXPORT.findall(run("env", "--url", named, "--data-dir", str(data_dir))))
        assert found["AWS_ENDPOINT_URL"] == url
        assert Path(found["AWS_CA_BUNDLE"]) == data_dir / "tls" / "trusted.pem"
    assert "secure" in run("ls", **found)


def check_errors(url: str) -> None:
    with pytest.raises(EndpointUnreachable, match=r"not trusted .*set AWS_CA_BUNDLE"):
        EndpointConnection(url, ca_bundle=None).page("health")
    with pytest.raises(EndpointRefused, match="This port speaks HTTPS"):
        EndpointConnection(url.replace("https", "http")).page("health")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tls-cert", "{cert}"], "--tls-cert: add --tls-key"),
        (["--tls-cert", "{cert}", "--tls-key", "{other}"], "--tls-key: .* is not the key of"),
        (["--tls-self-signed", "--tls-cert", "{cert}", "--tls-key", "{key}"], "--tls-self-signed: leave it out"),
        (["--tls-self-signed", "--faults"], "--faults: .* leave out TLS"),
        (["--rate-limit", "control=1"], "--rate-limit: .* add --auth"),
        (["--auth", "--rate-limit", "control"], "--rate-limit: 'control' is not KIND=N"),
        (["--connections-per-client=-1"], "--connections-per-client: it must be"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(tmp_path: Path, arguments: list[str], said: str) -> None:
    one, other = pair(tmp_path, "one"), pair(tmp_path, "other")
    files = {"cert": str(one.certificate), "key": str(one.key), "other": str(other.key)}
    command = ["up", "--port", "0", "--data-dir", str(tmp_path / "data"), *(part.format(**files) for part in arguments)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert re.search(said, " ".join(done.output.split()))
