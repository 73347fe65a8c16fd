"""The destination of a Caller, its credentials, and its proxies and certificates."""

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from threading import Thread

import pytest
from botocore.exceptions import NoCredentialsError, NoRegionError
from botocore.session import Session, get_session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.sdk.helpers.recording_server import served, session_of
from torpor.calling.caller import Caller
from torpor.calling.destination import Destination
from torpor.errors import EndpointUnreachable, TorporError

AWS = "https://runtime.sagemaker.eu-central-1.amazonaws.com"
VARIABLES = ("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "AWS_ENDPOINT_URL")
ASKED = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "REGION", "DEFAULT_REGION", "CA_BUNDLE")


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment without settings; its configuration file is `config` in the temporary folder."""
    for name in (*VARIABLES, *(f"AWS_{name}" for name in ASKED), "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


# -- where ---------------------------------------------------------------------------------------------------------
def test_the_url_is_the_argument_else_the_variables_else_awss_own(nothing: pytest.MonkeyPatch) -> None:
    def url(given: str | None = None) -> str:
        return Destination.found(given, "eu-central-1", session_of()).url

    assert url() == AWS
    nothing.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4700")
    assert url() == "http://127.0.0.1:4700"
    nothing.setenv("AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME", "http://127.0.0.1:4701")
    assert url() == "http://127.0.0.1:4701"
    assert url("http://127.0.0.1:4702") == "http://127.0.0.1:4702"


@pytest.mark.parametrize(
    ("url", "host", "prefix"),
    [
        (AWS, "runtime.sagemaker.eu-central-1.amazonaws.com", ""),
        ("http://LocalHost:80/some/where/", "localhost", "/some/where"),
        ("https://localhost:80", "localhost:80", ""),
        ("http://[::1]:4700", "[::1]:4700", ""),
    ],
)
def test_host_and_prefix_are_those_of_the_url(url: str, host: str, prefix: str) -> None:
    found = Destination(url, "eu-central-1", None, None)
    assert (found.host, found.prefix) == (host, prefix)


def test_calls_go_below_the_path_of_the_url(nothing: pytest.MonkeyPatch) -> None:
    with served() as recording, Caller(f"{recording.url}/behind/", session=session_of()) as caller:
        caller.invoke("houses")
    assert recording.received[0].path == "/behind/endpoints/houses/invocations"


# -- in whose name -------------------------------------------------------------------------------------------------
def test_aws_wants_a_region_and_credentials(nothing: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoRegionError):
        Caller()
    with pytest.raises(NoCredentialsError):
        Caller(region="eu-central-1")


def test_a_local_endpoint_needs_neither_credentials_nor_a_region(nothing: pytest.MonkeyPatch) -> None:
    with served() as recording, Caller(recording.url) as caller:
        caller.invoke("houses")
    assert "Credential=torpor/" in recording.received[0].headers["authorization"]
    assert "/us-east-1/sagemaker/aws4_request" in recording.received[0].headers["authorization"]


def test_a_variable_may_name_it_too(nothing: pytest.MonkeyPatch) -> None:
    with served() as recording:
        nothing.setenv("AWS_ENDPOINT_URL", recording.url)
        with Caller() as caller:
            caller.invoke("houses")
    assert len(recording.received) == 1


def test_an_https_destination_needs_a_region(nothing: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoRegionError):
        Caller("https://127.0.0.1:1", session=session_of())


def test_region_and_credentials_are_those_of_the_usual_chain(nothing: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile = "region = eu-central-1\naws_access_key_id = MINE\naws_secret_access_key = s\naws_session_token = t"
    (tmp_path / "config").write_text(f"[profile work]\n{profile}\n")
    with served() as recording, Caller(recording.url, session=Session(profile="work")) as caller:
        caller.invoke("houses")
    [received] = recording.received
    assert "Credential=MINE/" in received.headers["authorization"]
    assert "/eu-central-1/sagemaker/aws4_request" in received.headers["authorization"]
    assert received.headers["x-amz-security-token"] == "t"


def test_credentials_that_expire_are_refreshed(nothing: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """botocore fetches new ones when the old ones have less than ten minutes left: here, each time."""
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    script = tmp_path / "credentials.sh"
    script.write_text(
        f"""echo x >> {tmp_path}/count
echo '{{"Version": 1, "AccessKeyId": "KEY'$(wc -l < {tmp_path}/count | tr -d ' ')'",
"SecretAccessKey": "s", "Expiration": "{soon}"}}'
"""
    )
    (tmp_path / "config").write_text(f"[default]\ncredential_process = sh {script}\n")
    with served() as recording, Caller(recording.url, session=get_session()) as caller:
        caller.invoke("houses")
        caller.invoke("houses")
    named = [one.headers["authorization"] for one in recording.received]
    first, second = (line.partition("Credential=KEY")[2].partition("/")[0] for line in named)
    assert 0 < int(first) < int(second)


# -- by TLS --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and its certificate for localhost, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    file.write_bytes(private + made.public_bytes(pem))
    return file


@pytest.fixture
def tls(certificate: Path) -> SSLContext:
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def trusting(certificate: Path) -> Session:
    session = Session()
    session.set_credentials("AKIA", "secret")
    session.set_config_variable("ca_bundle", str(certificate))
    return session


def test_a_server_whose_certificate_is_trusted_is_called(
    nothing: pytest.MonkeyPatch, tls: SSLContext, certificate: Path
) -> None:
    with (
        served(tls=tls) as recording,
        Caller(recording.url, region="us-east-1", session=trusting(certificate)) as caller,
    ):
        assert [caller.invoke("houses").body for _ in range(2)] == [b"4.2", b"4.2"]
    assert len({one.connection for one in recording.received}) == 1
    assert recording.received[0].headers["host"] == recording.url.removeprefix("https://")


def test_a_server_with_an_untrusted_certificate_receives_nothing(nothing: pytest.MonkeyPatch, tls: SSLContext) -> None:
    with (
        served(tls=tls) as recording,
        Caller(recording.url, region="us-east-1", session=session_of(), attempts=1) as caller,
    ):
        with pytest.raises(EndpointUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
            caller.invoke("houses")
    assert recording.received == []


@contextmanager
def proxy() -> Iterator[tuple[str, list[list[str]]]]:
    """One that makes tunnels: its address, and the lines of each that it was asked for."""
    asked: list[list[str]] = []

    class Tunnel(StreamRequestHandler):
        def handle(self) -> None:
            lines = list(iter(lambda: self.rfile.readline().decode().strip(), ""))
            asked.append(lines)
            host, _, port = lines[0].split(" ")[1].rpartition(":")
            with socket.create_connection((host, int(port))) as there:
                self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
                other = {there: self.connection, self.connection: there}
                while True:
                    for ready in select.select(list(other), [], [])[0]:
                        if not (piece := ready.recv(65536)):
                            return
                        other[ready].sendall(piece)

    with ThreadingTCPServer(("127.0.0.1", 0), Tunnel) as server:
        serving = Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            serving.join()


def test_the_proxy_of_the_environment_is_used_only_for_https(
    nothing: pytest.MonkeyPatch, tls: SSLContext, certificate: Path
) -> None:
    with proxy() as (address, asked), served(tls=tls) as recording, served() as own:
        nothing.setenv("HTTPS_PROXY", f"http://me:p%40ss@{address}")
        nothing.setenv("HTTP_PROXY", f"http://{address}")
        for url in (recording.url, own.url):
            with Caller(url, region="us-east-1", session=trusting(certificate)) as caller:
                assert caller.invoke("houses").body == b"4.2"
    [lines] = asked
    assert lines[0].startswith(f"CONNECT {recording.url.removeprefix('https://')} ")
    assert "proxy-authorization: Basic bWU6cEBzcw==" in lines


def test_a_proxy_that_cannot_be_used_is_refused_by_its_variable(nothing: pytest.MonkeyPatch) -> None:
    nothing.setenv("HTTPS_PROXY", "https://127.0.0.1:1")
    with pytest.raises(TorporError, match="HTTPS_PROXY must begin with http://"):
        Caller(region="eu-central-1", session=session_of())
