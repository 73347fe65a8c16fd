"""Makes a certificate for local use, by an authority that is made for this data folder and for these names alone.

Clients trust the authority, so that a renewed certificate needs no new trust. Whoever has the authority's key could
make certificates that these clients believe. So it is bound to the endpoint's own names (RFC 5280, section 4.2.1.10),
and lies in the data folder with mode 0600.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from torpor_account.core.origins.certificate_names import AUTHORITY_S, CERTIFICATE_S, renewal_due
from torpor_account.core.origins.cross_origin import address_of
from torpor_account.storage.private import write_private
from torpor_account.tls.certificate_facts import chain_of
from torpor_container.http.tls.certificate import BadCertificate

EARLIER_S = 3600.0
"""So long before it is made a certificate begins to hold: clocks differ."""

ISSUER = "Torpor, for local use"


class OwnAuthority:
    """The files of one data folder: the authority that clients trust, its key, and the server's certificate and key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.trusted = folder / "ca.pem"
        self.server = folder / "server.pem"
        """The server's key, its certificate, and the authority's, in one file: so a reader finds all or nothing new."""

    def ensure(self, names: Sequence[str], now_s: float) -> bool:
        """Make what is missing, runs out, or is for other names. True if the server's certificate is a new one."""
        if self._holds(self.server, names, now_s) and self._signed_by_authority():
            return False
        found = self._authority(names, now_s)
        if found is None:
            found = new_authority(ISSUER, _bounds(names), now_s)
            certificate, key = found
            write_private(self._folder / "ca.key", private_pem(key))
            write_private(self.trusted, certificate.public_bytes(Encoding.PEM))
        write_private(self.server, _server(found, names, now_s))
        return True

    def _authority(self, names: Sequence[str], now_s: float) -> "Authority | None":
        """The authority that is there; None if there is none, or one that is for other names or runs out."""
        if not self._holds(self.trusted, (), now_s):
            return None
        with suppress(OSError, ValueError, TypeError):
            certificate = x509.load_pem_x509_certificate(self.trusted.read_bytes())
            key = load_pem_private_key((self._folder / "ca.key").read_bytes(), None)
            fits = set(_bounds(names)) <= set(_bounds_of(certificate)) and key.public_key() == certificate.public_key()
            if fits and isinstance(key, ec.EllipticCurvePrivateKey):
                return certificate, key
        return None

    def _holds(self, path: Path, names: Sequence[str], now_s: float) -> bool:
        """Whether the first certificate of a file is for all these names, and is not to be renewed yet."""
        try:
            first, *_ = chain_of(path)
        except (BadCertificate, ValueError):
            return False
        return set(names) <= set(first.names) and not renewal_due(first.begins_s, first.ends_s, now_s)

    def _signed_by_authority(self) -> bool:
        try:
            return chain_of(self.server)[-1] == chain_of(self.trusted)[0]
        except (BadCertificate, IndexError):
            return False


Authority = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def new_authority(issuer: str, bounds: Sequence[x509.GeneralName], now_s: float) -> Authority:
    """An authority of this name, and a few digits. It certifies what is within the bounds, and no authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{issuer} ({os.urandom(4).hex()})")])
    usage = {**NO_USAGE, "key_cert_sign": True, "crl_sign": True}
    made = (
        begun(key.public_key(), name, name, now_s, AUTHORITY_S)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.NameConstraints(bounds, None), critical=True)
    )
    return made.sign(key, hashes.SHA256()), key


def _server(found: Authority, names: Sequence[str], now_s: float) -> bytes:
    """A new key and a certificate of it for these names, with the authority's."""
    authority, signer = found
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Torpor")])
    usage = {**NO_USAGE, "digital_signature": True}
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    made = (
        begun(key.public_key(), name, authority.subject, now_s, CERTIFICATE_S)
        .add_extension(x509.SubjectAlternativeName(list(map(_general, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
    )
    certificates = (made.sign(signer, hashes.SHA256()), authority)
    return private_pem(key) + b"".join(one.public_bytes(Encoding.PEM) for one in certificates)


NO_USAGE = dict.fromkeys(
    (
        *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ),
    False,
)


def begun(
    key: ec.EllipticCurvePublicKey, subject: x509.Name, issuer: x509.Name, now_s: float, lasts_s: float
) -> x509.CertificateBuilder:
    """What every certificate has: whose it is, by whom, and when it holds."""
    begins = datetime.fromtimestamp(now_s - EARLIER_S, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(seconds=lasts_s))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key in PEM, without a passphrase."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _general(name: str) -> x509.GeneralName:
    address = address_of(name)
    return x509.DNSName(name) if address is None else x509.IPAddress(address)


def _bounds(names: Sequence[str]) -> list[x509.GeneralName]:
    """What an authority for these names may certify. A name in it stands for all names under it too."""
    found: list[x509.GeneralName] = []
    for name in names:
        address = address_of(name)
        found.append(x509.DNSName(name.removeprefix("*.")) if address is None else x509.IPAddress(ip_network(address)))
    return list(dict.fromkeys(found))


def _bounds_of(authority: x509.Certificate) -> list[x509.GeneralName]:
    found = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    return list(found.permitted_subtrees or ())
