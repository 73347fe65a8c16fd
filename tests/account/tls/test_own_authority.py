"""The certificate that an endpoint makes for itself: how long it stays, and that clients believe it."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from torpor_account.core.origins.certificate_names import AUTHORITY_S, CERTIFICATE_S, wanted_names
from torpor_account.core.origins.cross_origin import address_of
from torpor_account.tls.own_authority import OwnAuthority
from torpor_account.tls.renewing import Renewal
from torpor_endpoint.options import Options

NOW_S = 1_800_000_000.0
NAMES = ("localhost", "127.0.0.1", "*.s3.localhost")


def believed(own: OwnAuthority, name: str, now_s: float) -> bool:
    """Whether a client that trusts the authority believes the server to be of this name."""
    server, *_ = x509.load_pem_x509_certificates(own.server.read_bytes())
    store = Store(x509.load_pem_x509_certificates(own.trusted.read_bytes()))
    address = address_of(name)
    subject = x509.DNSName(name) if address is None else x509.IPAddress(address)
    at = datetime.fromtimestamp(now_s, UTC)
    try:
        PolicyBuilder().store(store).time(at).build_server_verifier(subject).verify(server, [])
    except VerificationError:
        return False
    return True


@pytest.fixture
def own(tmp_path: Path) -> OwnAuthority:
    made = OwnAuthority(tmp_path)
    assert made.ensure(NAMES, NOW_S)
    return made


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "models.s3.localhost"])
def test_clients_believe_its_names_and_no_others(own: OwnAuthority, name: str) -> None:
    assert believed(own, name, NOW_S)
    assert not believed(own, "example.com", NOW_S)


def test_it_stays_while_it_holds(own: OwnAuthority) -> None:
    before = own.server.read_bytes()
    assert not own.ensure(NAMES, NOW_S + CERTIFICATE_S / 2)
    assert own.server.read_bytes() == before


def test_a_renewed_certificate_needs_no_new_trust(own: OwnAuthority) -> None:
    trusted, later_s = own.trusted.read_bytes(), NOW_S + CERTIFICATE_S * 0.7
    assert own.ensure(NAMES, later_s)
    assert own.trusted.read_bytes() == trusted
    assert believed(own, "localhost", later_s + CERTIFICATE_S / 2)


def test_new_names_need_a_new_authority_since_the_old_one_is_bound_to_its_own(own: OwnAuthority) -> None:
    trusted = own.trusted.read_bytes()
    assert own.ensure((*NAMES, "torpor.internal"), NOW_S)
    assert own.trusted.read_bytes() != trusted
    assert believed(own, "torpor.internal", NOW_S)


def test_an_authority_that_runs_out_or_is_damaged_is_made_anew(own: OwnAuthority) -> None:
    assert own.ensure(NAMES, NOW_S + AUTHORITY_S)
    assert believed(own, "localhost", NOW_S + AUTHORITY_S)
    own.trusted.write_text("")
    assert own.ensure(NAMES, NOW_S)
    assert believed(own, "localhost", NOW_S)


def test_the_chore_renews_when_it_is_time(tmp_path: Path) -> None:
    options = Options(tmp_path, tls_self_signed=True)
    own = OwnAuthority(tmp_path / "tls")
    own.ensure(wanted_names("127.0.0.1", (), "box"), NOW_S)
    os.utime(own.server, (NOW_S, NOW_S))
    chore = Renewal(options, "box")
    assert not chore.look(NOW_S + CERTIFICATE_S / 2)
    assert chore.look(NOW_S + CERTIFICATE_S * 0.7)
    assert believed(own, "localhost", NOW_S + CERTIFICATE_S)
