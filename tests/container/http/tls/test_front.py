"""A server that speaks TLS, over the wire."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.container.helpers.echo_server_process import Address, answer, connected, post, serving
from tests.helpers.certificates import pair
from tests.helpers.waiting import soon
from torpor_container.http.server import TlsFiles
from torpor_container.http.tls.certificate import server_context


@dataclass(frozen=True)
class Secure:
    """A server, and the files of its certificate."""

    address: Address
    files: TlsFiles

    def connected(self, *alpn: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLSocket:
        """A connection of a client that trusts the certificate that is there now."""
        context = ssl.create_default_context(cafile=self.files.certificate)
        context.set_alpn_protocols(list(alpn))
        context.maximum_version = version
        return context.wrap_socket(connected(self.address), server_hostname="localhost")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    files = pair(tmp_path_factory.mktemp("tls"), "one")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        told = [str(files.certificate), str(files.key)]
        with serving(listener, tls=told, head_s=0.5, body_s=0.5, connections_max=5):
            yield Secure(listener.getsockname(), files)


def test_every_way_of_a_request_works_and_has_the_scheme_https(secure: Secure) -> None:
    with closing(secure.connected()) as client:
        for path, way in (("/now/invocations", "inline"), ("/a/invocations", "asgi"), ("/a?x", "asgi")):
            client.sendall(post(path))
            status, headers, told = answer(client)
            assert (status, headers["x-way"], told["scheme"]) == (200, way, "https")


def test_a_body_of_many_records_arrives_whole(secure: Secure) -> None:
    with closing(secure.connected()) as client:
        client.sendall(post("/now/invocations", b"x" * 1_000_000))
        assert answer(client)[2]["body"] == "x" * 1_000_000


def test_http_1_1_is_spoken_whatever_is_offered_and_tls_1_2_at_least(secure: Secure) -> None:
    with closing(secure.connected("h2", "http/1.1")) as client:
        assert client.selected_alpn_protocol() == "http/1.1"
    with closing(secure.connected(version=ssl.TLSVersion.TLSv1_2)) as client:
        assert client.version() == "TLSv1.2"
    assert server_context(secure.files).minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_client_without_tls_is_told(secure: Secure) -> None:
    with closing(connected(secure.address)) as client:
        client.sendall(post("/now/invocations"))
        said = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert said.startswith(b"HTTP/1.1 400 Bad Request")
    assert b"This port speaks HTTPS" in said


def test_a_head_that_trickles_is_refused_in_time(secure: Secure) -> None:
    with closing(secure.connected()) as client:
        client.sendall(post("/a?x")[:30])
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 408 Request Timeout")


def test_a_connection_counts_once_while_and_after_it_shakes_hands(secure: Secure) -> None:
    """As many at once as there may be, none of them idle: not one is turned away."""
    told = [str(secure.files.certificate), str(secure.files.key)]
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener, tls=told, connections_max=9):
        other = Secure(listener.getsockname(), secure.files)
        with ExitStack() as closing_all:
            for _ in range(9):
                client = closing_all.enter_context(closing(other.connected()))
                client.sendall(post("/a?x")[:30])


def test_clients_that_begin_no_handshake_count_as_connections(secure: Secure) -> None:
    silent = [connected(secure.address) for _ in range(7)]
    for client in silent:
        client.settimeout(0)

    def closed() -> int:
        return sum(_is_closed(client) for client in silent)

    assert soon(lambda: closed() >= 2)
    assert closed() < len(silent)
    for client in silent:
        client.close()


def _is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_new_certificate_serves_new_connections_and_the_open_ones_go_on(secure: Secure) -> None:
    def serves() -> bool:
        try:
            secure.connected().close()
        except OSError:  # it trusts another one, or the clients of another test have only just left
            return False
        return True

    assert soon(serves)
    with closing(secure.connected()) as before:
        old = before.getpeercert(binary_form=True)
        before.sendall(post("/now/invocations"))  # it is no silent one
        assert answer(before)[0] == 200
        pair(Path(secure.files.certificate).parent, "one")
        assert soon(serves)  # a client of the new one
        before.sendall(post("/now/invocations"))
        assert answer(before)[0] == 200
        with closing(secure.connected()) as after:
            assert after.getpeercert(binary_form=True) != old
