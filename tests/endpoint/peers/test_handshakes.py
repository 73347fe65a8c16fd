"""Who may connect to an instance that speaks TLS, and whom a router takes for it, over the wire."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
import uvloop

from tests.container.helpers.echo_server_process import answer, connected, post, serving
from tests.endpoint.helpers.peer_authorities import TestedPeers
from tests.helpers.waiting import PATIENCE_S
from torpor_container import wire
from torpor_container.transport.address import GuardedAddress
from torpor_container.transport.multiplexed import Multiplexed
from torpor_container.transport.peers.credential import PeerCredential
from torpor_container.transport.peers.handing import hand_over
from torpor_container.transport.peers.peer_names import PeerRole
from torpor_container.transport.peers.peer_tls import PeerTls, peer_in
from torpor_container.transport.tickets import ARTIFACT, HEADER, ticket_for
from torpor_container.transport.upstream import Upstream
from torpor_container.transport.upstream_answers import UpstreamAnswer, UpstreamRefused
from torpor_endpoint.core.pages import RouterPage
from torpor_endpoint.peers.authority_records import CREDENTIAL_S
from torpor_endpoint.peers.deployment_peers import DeploymentPeers
from torpor_endpoint.routing.router.control_client import ControlAway, ControlClient

SECRET = bytes(range(32))
LAUNCH = "i-0123456789abcdef"
BODY = b"what nobody else may read"
LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)
DEPLOYMENT, ANOTHER = TestedPeers(), TestedPeers()
ROUTER = DEPLOYMENT.peers.issued(PeerRole.ROUTER, "r-1")
REFUSED = DEPLOYMENT.peers.issued(PeerRole.ROUTER, "r-refused")
DEPLOYMENT.peers.refuse(REFUSED.name)


@dataclass(frozen=True)
class Instance:
    """A server of one launch, with a certificate, and its address as the control knows it."""

    address: GuardedAddress

    def seen_by(self, credential: PeerCredential | None) -> GuardedAddress:
        return replace(self.address, peers=PeerTls(credential))


@pytest.fixture(scope="module")
def instance() -> Iterator[Instance]:
    own = DEPLOYMENT.peers.issued(PeerRole.INSTANCE, LAUNCH)
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener, secret=SECRET.hex(), peers=own.text()):
        yield Instance(DEPLOYMENT.peers.address("127.0.0.1", listener.getsockname()[1], SECRET, LAUNCH))


async def sent(address: GuardedAddress) -> UpstreamAnswer:
    upstream = Upstream(address)
    try:
        return await upstream.send("POST", "/a/invocations", (), [BODY], PATIENCE_S)
    finally:
        upstream.close()


def expired() -> PeerCredential:
    ago_s = time.time() - 2 * CREDENTIAL_S
    earlier = DeploymentPeers(DEPLOYMENT.keeping, "0a1b2c3d", lambda: ago_s)
    return earlier.issued(PeerRole.ROUTER, "r-1")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("credential", [ROUTER, DEPLOYMENT.peers.tls.credential])
def test_a_router_and_the_control_are_answered(
    instance: Instance, credential: PeerCredential, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        answer = runner.run(sent(instance.seen_by(credential)))
    assert (answer.status, BODY in answer.body) == (200, True)


def test_small_requests_share_a_connection_as_frames(instance: Instance) -> None:
    async def story() -> object:
        shared = Multiplexed(instance.seen_by(ROUTER), "/framed/invocations")
        try:
            assert await shared.connect(PATIENCE_S)
            answered: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            assert shared.send(b"", BODY, PATIENCE_S, answered.set_result)
            return await answered
        finally:
            shared.close()

    found = asyncio.run(story())
    assert isinstance(found, UpstreamAnswer)
    assert BODY in found.body


@pytest.mark.parametrize(
    ("credential", "why"),
    [
        (ANOTHER.peers.issued(PeerRole.ROUTER, "r-1"), "unable to get|self.signed|signature failure"),
        (DEPLOYMENT.peers.issued(PeerRole.INSTANCE, "i-2"), "hung up"),
        (expired(), "hung up|expired"),
        (REFUSED, "hung up"),
        (None, "no certificate"),
    ],
    ids=["another deployment's", "an instance's", "expired", "refused", "none"],
)
def test_nobody_else_is(instance: Instance, credential: PeerCredential | None, why: str) -> None:
    with pytest.raises(UpstreamRefused, match=why):
        asyncio.run(sent(instance.seen_by(credential)))


def test_a_router_takes_no_other_instance_for_the_one_that_it_means(instance: Instance) -> None:
    other = DEPLOYMENT.peers.name_of(PeerRole.INSTANCE, "i-other")
    with pytest.raises(UpstreamRefused, match="ostname mismatch"):
        asyncio.run(sent(replace(instance.seen_by(ROUTER), name=other)))


def test_a_router_s_certificate_needs_the_incarnation_s_secret_too(instance: Instance) -> None:
    with pytest.raises(UpstreamRefused, match="another instance, or a stranger"):
        asyncio.run(sent(replace(instance.seen_by(ROUTER), secret=bytes(32))))


def test_a_router_does_not_speak_to_an_instance_without_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener, secret=SECRET.hex()):
        address = DEPLOYMENT.peers.address("127.0.0.1", listener.getsockname()[1], SECRET, LAUNCH)
        with pytest.raises(UpstreamRefused):
            asyncio.run(sent(address))


def test_only_tls_1_3_is_spoken(instance: Instance) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=ROUTER.trusted)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    place = instance.address.host, instance.address.port
    with socket.create_connection(place, timeout=PATIENCE_S) as client, pytest.raises(ssl.SSLError):
        context.wrap_socket(client, server_hostname=instance.address.name)


def test_this_machine_needs_no_tls(instance: Instance) -> None:
    plain = GuardedAddress(instance.address.host, instance.address.port, SECRET)
    assert asyncio.run(sent(plain)).status == 200


@pytest.fixture(scope="module")
def sharing() -> Iterator[Instance]:
    """One that shares artifacts, as its neighbours are told of it."""
    own = DEPLOYMENT.peers.issued(PeerRole.INSTANCE, LAUNCH)
    told: dict[str, Any] = {"secret": SECRET.hex(), "peers": own.text(), "shares_artifacts": True}
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener, **told):
        port = listener.getsockname()[1]
        yield Instance(replace(DEPLOYMENT.peers.address("127.0.0.1", port, SECRET, LAUNCH), secret=b""))


@pytest.mark.parametrize(
    ("method", "path", "secret", "status"),
    [
        ("GET", wire.ARTIFACT, SECRET, 200),
        ("GET", wire.ARTIFACT, bytes(32), 403),
        ("POST", "/invocations", SECRET, 403),
    ],
)
def test_a_neighbour_takes_an_artifact_with_a_ticket_and_nothing_else(
    sharing: Instance, method: str, path: str, secret: bytes, status: int
) -> None:
    async def story() -> int:
        upstream = Upstream(sharing.seen_by(DEPLOYMENT.peers.issued(PeerRole.INSTANCE, "i-2")))
        headers = [(b"x-amzn-sagemaker-target-model", b"a"), (HEADER, ticket_for(secret, b"a", time.time(), ARTIFACT))]
        try:
            return (await upstream.send(method, path, headers, [], PATIENCE_S)).status
        finally:
            upstream.close()

    assert asyncio.run(story()) == status


# -- the control ------------------------------------------------------------------------------------------------------
@contextmanager
def controlling(own: str) -> Iterator[str]:
    """The URL of a control's port, which echoes. It answers already: handshakes are not waited for long."""
    with socket.create_server(("127.0.0.1", 0)) as listener, serving(listener, control=own):
        with closing(connected(listener.getsockname())) as connection:
            connection.sendall(post())
            assert answer(connection)[0] == 200
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def control() -> Iterator[str]:
    own = DEPLOYMENT.peers.tls.credential.text()
    with controlling(own) as url:
        yield url


def asked(url: str, credential: PeerCredential | None) -> bool:
    """Whether the control answers a router with this credential; None: by plain HTTP."""
    client = ControlClient(url)
    try:
        if credential is not None:
            client.peers.take(credential)
            client.secure()
        client._call("POST", RouterPage.WAKE, b"{}", 0.0)
    finally:
        client.close()
    return True


@pytest.mark.parametrize("credential", [ROUTER, None])
def test_a_control_answers_its_routers_by_tls_and_everybody_without(
    control: str, credential: PeerCredential | None
) -> None:
    assert asked(control, credential)


@pytest.mark.parametrize(
    "credential",
    [
        ANOTHER.peers.issued(PeerRole.ROUTER, "r-1"),
        DEPLOYMENT.peers.issued(PeerRole.INSTANCE, "i-2"),
        expired(),
        REFUSED,
    ],
    ids=["another deployment's", "an instance's", "expired", "refused"],
)
def test_a_control_answers_nobody_else_by_tls(control: str, credential: PeerCredential) -> None:
    with pytest.raises(ControlAway):
        asked(control, credential)


def test_a_router_takes_nobody_else_for_the_control() -> None:
    own = DEPLOYMENT.peers.issued(PeerRole.ROUTER, "r-2").text()
    with controlling(own) as url, pytest.raises(ControlAway, match="ostname mismatch"):
        asked(url, ROUTER)


# -- what is on the wire --------------------------------------------------------------------------------------------
@asynccontextmanager
async def recording(address: GuardedAddress, wire: list[bytes]) -> AsyncIterator[GuardedAddress]:
    """An address that leads to this one, and notes every byte."""

    async def carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                wire.append(data)
                writer.write(data)
        writer.close()

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_connection(address.host, address.port)
        await asyncio.gather(carried(reader, on), carried(back, writer))
        await asyncio.gather(on.wait_closed(), writer.wait_closed(), return_exceptions=True)
        over.set()

    over = asyncio.Event()
    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    async with server:
        yield replace(address, port=server.sockets[0].getsockname()[1])
        await over.wait()


@pytest.mark.parametrize("secured", [True, False])
def test_no_body_is_on_the_wire_in_the_open(instance: Instance, secured: bool) -> None:
    async def story() -> bytes:
        wire: list[bytes] = []
        address = instance.seen_by(ROUTER) if secured else replace(instance.address, name="")
        async with recording(address, wire) as through:
            assert BODY in (await sent(through)).body
        return b"".join(wire)

    wire = asyncio.run(story())
    assert len(wire) > len(BODY)
    assert (BODY in wire) is not secured


# -- a new certificate -----------------------------------------------------------------------------------------------
def shown(instance: Instance) -> str:
    """The serial number of the certificate that a new connection gets."""
    place = instance.address.host, instance.address.port
    client = socket.create_connection(place, timeout=PATIENCE_S)
    with PeerTls(ROUTER).client.wrap_socket(client, server_hostname=instance.address.name) as secure:
        found = secure.getpeercert()
        assert peer_in(found) == instance.address.name
        return str((found or {})["serialNumber"])


def test_the_control_hands_over_a_certificate_and_open_connections_go_on(instance: Instance) -> None:
    async def story() -> None:
        upstream = Upstream(instance.seen_by(ROUTER))
        assert (await upstream.send("POST", "/a/invocations", (), [BODY], PATIENCE_S)).status == 200
        before = await asyncio.to_thread(shown, instance)
        await hand_over(instance.address, DEPLOYMENT.peers.issued(PeerRole.INSTANCE, LAUNCH), PATIENCE_S)
        assert await asyncio.to_thread(shown, instance) != before
        assert (await upstream.send("POST", "/a/invocations", (), [BODY], PATIENCE_S)).status == 200
        upstream.close()

    asyncio.run(story())


@pytest.mark.parametrize("launch", ["i-other", LAUNCH])
def test_no_router_hands_over_a_certificate_nor_anybody_that_of_another_instance(
    instance: Instance, launch: str
) -> None:
    before, giver = shown(instance), ROUTER if launch == LAUNCH else DEPLOYMENT.peers.tls.credential
    given = DEPLOYMENT.peers.issued(PeerRole.INSTANCE, launch)
    with pytest.raises(OSError):
        asyncio.run(hand_over(instance.seen_by(giver), given, PATIENCE_S))
    assert shown(instance) == before


def test_a_router_that_is_refused_later_is_turned_away_from_then_on(instance: Instance) -> None:
    late = DEPLOYMENT.peers.issued(PeerRole.ROUTER, "r-late")
    assert asyncio.run(sent(instance.seen_by(late))).status == 200
    DEPLOYMENT.peers.refuse(late.name)
    asyncio.run(hand_over(instance.address, DEPLOYMENT.peers.issued(PeerRole.INSTANCE, LAUNCH), PATIENCE_S))
    with pytest.raises(UpstreamRefused, match="hung up"):
        asyncio.run(sent(instance.seen_by(late)))
    assert asyncio.run(sent(instance.seen_by(ROUTER))).status == 200


def test_a_further_authority_is_trusted_at_once_and_signs_later() -> None:
    tested = TestedPeers()
    first = tested.peers.records.signing(tested.now_s)
    tested.peers.roll_over()
    assert tested.peers.records.signing(tested.now_s) == first
    assert tested.peers.issued(PeerRole.ROUTER, "r-1").trusted.count("BEGIN CERTIFICATE") == 2
    tested.now_s += CREDENTIAL_S
    assert tested.peers.records.signing(tested.now_s) != first
    tested.now_s += CREDENTIAL_S
    tested.peers.renew_own()
    assert len(tested.keeping.kept.authorities) == 1


def test_a_deployment_has_the_same_authority_after_a_restart() -> None:
    tested = TestedPeers()
    again = DeploymentPeers(tested.keeping, "0a1b2c3d", lambda: tested.now_s)
    assert again.tls.credential.trusted == tested.peers.tls.credential.trusted
    assert again.records == tested.peers.records
