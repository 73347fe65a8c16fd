"""Reads what a certificate says: its names, its time, and whether it is its own issuer."""

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from torpor_container.http.tls.certificate import BadCertificate


@dataclass(frozen=True)
class CertificateFacts:
    """One certificate. Times are in epoch seconds; `pem` is the certificate itself."""

    names: tuple[str, ...]
    begins_s: float
    ends_s: float
    is_root: bool
    pem: str


def chain_of(path: Path) -> list[CertificateFacts]:
    """The certificates of a file, the server's own first. Raises BadCertificate."""
    try:
        return [_facts(one) for one in x509.load_pem_x509_certificates(path.read_bytes())]
    except OSError as error:
        raise BadCertificate(f"{path} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadCertificate(f"{path} has a certificate that cannot be read ({error})") from error


def _facts(certificate: x509.Certificate) -> CertificateFacts:
    from cryptography.hazmat.primitives.serialization import Encoding

    return CertificateFacts(
        _names(certificate),
        certificate.not_valid_before_utc.timestamp(),
        certificate.not_valid_after_utc.timestamp(),
        certificate.issuer == certificate.subject,
        certificate.public_bytes(Encoding.PEM).decode(),
    )


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Clients read the extension alone: a name in the subject counts for none of them."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    return (*found.get_values_for_type(x509.DNSName), *addresses)
