"""Certificates for tests: each its own authority."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from torpor_container.http.server import TlsFiles

DAY = timedelta(days=1)


def pair(
    folder: Path,
    name: str,
    *names: str,
    password: bytes | None = None,
    begins: datetime | None = None,
    lasts: timedelta = DAY,
) -> TlsFiles:
    """The files of a new certificate for these names, or for this machine's, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = begins or datetime.now(UTC) - timedelta(hours=1)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + lasts)
        .add_extension(
            x509.SubjectAlternativeName([_general(one) for one in names or ("localhost", "127.0.0.1")]), False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .sign(key, hashes.SHA256())
    )
    files = TlsFiles(folder / f"{name}.pem", folder / f"{name}.key")
    files.certificate.write_bytes(made.public_bytes(Encoding.PEM))
    hidden = NoEncryption() if password is None else BestAvailableEncryption(password)
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden))
    return files


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
