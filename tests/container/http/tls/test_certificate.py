"""A server's certificate and key: which pairs are refused, and when changed files take effect."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.certificates import pair
from torpor_container.http.server import TlsFiles
from torpor_container.http.tls.certificate import BadCertificate, ServerCertificate, server_context

LOG = logging.getLogger("test.certificate")


def _of_another(folder: Path) -> TlsFiles:
    return TlsFiles(pair(folder, "one").certificate, pair(folder, "other").key)


def _encrypted(folder: Path) -> TlsFiles:
    return pair(folder, "one", password=b"secret")


def _without(folder: Path, *, key: bool) -> TlsFiles:
    files = pair(folder, "one")
    (files.key if key else files.certificate).unlink()
    return files


def _junk(folder: Path, *, key: bool) -> TlsFiles:
    files = pair(folder, "one")
    (files.key if key else files.certificate).write_text("hello")
    return files


@pytest.mark.parametrize(
    ("make", "said", "in_key"),
    [
        (_of_another, "is not the key of", True),
        (_encrypted, "is encrypted", True),
        (lambda folder: _without(folder, key=True), "cannot be read", True),
        (lambda folder: _without(folder, key=False), "cannot be read", False),
        (lambda folder: _junk(folder, key=True), "has no private key in PEM form", True),
        (lambda folder: _junk(folder, key=False), "has no certificate in PEM form", False),
    ],
)
def test_a_bad_pair_is_refused_with_the_file_at_fault(
    tmp_path: Path, make: Callable[[Path], TlsFiles], said: str, in_key: bool
) -> None:
    with pytest.raises(BadCertificate, match=said) as refused:
        server_context(make(tmp_path))
    assert refused.value.in_key is in_key


def test_a_changed_pair_takes_effect_once(tmp_path: Path) -> None:
    files = pair(tmp_path, "one")
    served = ServerCertificate(files, LOG)
    before = served.context
    assert not served.refresh()
    pair(tmp_path, "one")
    assert served.refresh()
    assert served.context is not before
    assert not served.refresh()


def test_a_bad_new_pair_is_logged_and_the_old_one_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files, other = pair(tmp_path, "one"), pair(tmp_path, "other")
    served = ServerCertificate(files, LOG)
    before = served.context
    os.replace(other.certificate, files.certificate)
    assert not served.refresh()
    assert served.context is before
    assert "the one before it stays" in caplog.text
    os.replace(other.key, files.key)  # now they belong together
    assert served.refresh()
