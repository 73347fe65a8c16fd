"""What is checked and made before an endpoint speaks TLS."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.helpers.certificates import pair
from torpor_account.tls.prepared import BadTls
from torpor_account.tls.preparing import prepared
from torpor_endpoint.options import Options

NOW = datetime.now(UTC)
NOW_S = NOW.timestamp()
DAY_S = 86_400.0


def given(folder: Path, *names: str, begins: datetime | None = None, days: int = 90, **more: object) -> Options:
    """Options with a new certificate for these names."""
    files = pair(folder, "given", *names, begins=begins, lasts=timedelta(days=days))
    return Options(folder / "data", tls_cert=files.certificate, tls_key=files.key, **more)  # type: ignore[arg-type]


def test_a_name_of_the_certificate_is_called(tmp_path: Path) -> None:
    found = prepared(given(tmp_path, "torpor.example.com", allow_hosts=("torpor.example.com",)), "box", NOW_S, {})
    assert found.called == "torpor.example.com"
    assert found.warnings == ()


def test_a_certificate_for_other_names_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadTls, match=r"--tls-cert: .* add --allow-host torpor\.a\.example, "):
        prepared(given(tmp_path, "*.a.example"), "box", NOW_S, {})


def test_the_flag_of_the_file_at_fault_is_named(tmp_path: Path) -> None:
    options = given(tmp_path)
    pair(tmp_path, "given").certificate.write_text("")
    with pytest.raises(BadTls, match=r"--tls-cert: .* no certificate"):
        prepared(options, "box", NOW_S, {})
    (tmp_path / "given.key").unlink()
    with pytest.raises(BadTls, match=r"--tls-key: .* cannot be read"):
        prepared(options, "box", NOW_S, {})


@pytest.mark.parametrize(
    ("begins", "days", "said"), [(-40, 30, "expired on"), (1, 30, "holds from"), (-80, 90, "expires on")]
)
def test_a_certificate_out_of_its_time_is_warned_of(tmp_path: Path, begins: int, days: int, said: str) -> None:
    found = prepared(given(tmp_path, begins=NOW + timedelta(days=begins), days=days), "box", NOW_S, {})
    assert [said in warning for warning in found.warnings] == [True]


def test_a_root_in_the_chain_and_the_bundle_of_the_environment_are_what_clients_here_trust(tmp_path: Path) -> None:
    options = given(tmp_path)
    alone = prepared(options, "box", NOW_S, {})
    assert alone.trusted is not None
    assert alone.trusted.read_text() == (tmp_path / "given.pem").read_text()
    assert alone.trusted.stat().st_mode & 0o777 == 0o600
    other = pair(tmp_path, "other").certificate
    both = prepared(options, "box", NOW_S, {"AWS_CA_BUNDLE": str(other)})
    assert both.trusted is not None
    assert both.trusted.read_text() == other.read_text() + (tmp_path / "given.pem").read_text()
    again = prepared(options, "box", NOW_S, {"AWS_CA_BUNDLE": str(alone.trusted)})  # a shell after `torpor env`
    assert again.trusted is not None
    assert again.trusted.read_text() == (tmp_path / "given.pem").read_text()


def test_the_own_certificate_is_for_this_machine(tmp_path: Path) -> None:
    found = prepared(Options(tmp_path, tls_self_signed=True), "box", NOW_S, {"AWS_CA_BUNDLE": "/nowhere"})
    assert found.called == "127.0.0.1"
    assert found.files.certificate == found.files.key == tmp_path / "tls" / "server.pem"
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "tls").iterdir()} == {0o600}
