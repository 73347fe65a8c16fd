"""Signatures in minisign's form: those that minisign has made, and what is wrong with others."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.container.helpers.minisigned import public_line, signed
from torpor_container.artifacts.digests import UnsignedList
from torpor_container.artifacts.list_signatures import check_signed, signing_key

PUBLIC = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
HASHED = """untrusted comment: signature from minisign secret key
RUQf6LRCGA9i559r3g7V1qNyJDApGip8MfqcadIgT9CuhV3EMhHoN1mGTkUidF/z7SrlQgXdy8ofjb7bNJJylDOocrCo8KLzZwo=
trusted comment: timestamp:1556193335\tfile:test
y/rUw2y8/hOUYjZU71eHp/Wo1KZ40fGy2VJEDl34XMJM+TX48Ss/17u3IvIfbVR1FkZZSNCisQbuQY+bHwhEBg==
"""
PLAIN = """untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==
"""
"""Signatures of `test` by minisign itself: the vectors of the library minisign-verify (docs.rs/minisign-verify)."""


@pytest.mark.parametrize("signature", [HASHED, PLAIN])
def test_what_minisign_has_signed_counts_and_nothing_else(signature: str) -> None:
    key = signing_key(PUBLIC)
    check_signed(key, b"test", signature)
    with pytest.raises(UnsignedList, match="it is not what the key E7620F1842B4E81F has signed"):
        check_signed(key, b"Test", signature)
    with pytest.raises(UnsignedList, match="it is not what the key"):
        check_signed(key, b"test", signature.replace("file:test", "file:best"))


def test_another_key_is_named() -> None:
    secret = Ed25519PrivateKey.generate()
    check_signed(signing_key(public_line(secret)), b"test", signed(secret, b"test"))
    with pytest.raises(UnsignedList, match="signed by the key 0807060504030201, and not by E7620F1842B4E81F"):
        check_signed(signing_key(PUBLIC), b"test", signed(secret, b"test"))
    other = signing_key(public_line(Ed25519PrivateKey.generate()))  # of the same name
    with pytest.raises(UnsignedList, match="it is not what the key 0807060504030201 has signed"):
        check_signed(other, b"test", signed(secret, b"test"))


@pytest.mark.parametrize(
    "signature",
    ["", "one\n", HASHED.replace("RUQ", "RXQ"), HASHED.replace("trusted comment: t", "comment: t"), HASHED[:200]],
)
def test_what_is_no_signature_is_refused(signature: str) -> None:
    with pytest.raises(UnsignedList, match="none of minisign"):
        check_signed(signing_key(PUBLIC), b"test", signature)


@pytest.mark.parametrize("text", ["", "RW", PUBLIC[:-1], "AA" + PUBLIC[2:]])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a public key of minisign"):
        signing_key(text)
