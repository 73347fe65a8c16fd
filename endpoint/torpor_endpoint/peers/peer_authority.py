"""Makes the authority of a deployment's own processes, and signs their certificates. It keeps nothing.

It needs `cryptography`: import it where a certificate is made, and not before.
"""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from torpor_account.tls.own_authority import EARLIER_S, NO_USAGE, begun, private_pem
from torpor_account.tls.own_authority import new_authority as bounded_authority
from torpor_container.transport.peers.peer_names import DOMAIN
from torpor_endpoint.peers.authority_records import KeptAuthority

BOTH = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


class BadKey(ValueError):
    """This is no public key that the authority signs."""


def new_authority(now_s: float) -> KeptAuthority:
    """An authority for names of `peers.peer_names` alone: whoever trusts it believes it about no other name."""
    made, key = bounded_authority("Torpor's own processes", [x509.DNSName(DOMAIN)], now_s)
    return KeptAuthority(made.public_bytes(Encoding.PEM).decode(), private_pem(key).decode(), now_s)


def signed(authority: KeptAuthority, name: str, public_key: bytes, now_s: float, lasts_s: float) -> str:
    """The certificate of the process with this name and this public key, in PEM, which ends `lasts_s` from now. Raises
    BadKey."""
    try:
        key = load_pem_public_key(public_key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise BadKey("the public key is none in PEM, or of an unknown kind") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise BadKey("the public key must be one of an elliptic curve")
    signer = load_pem_private_key(authority.key.encode(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Torpor")])
    known = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    made = (
        begun(key, subject, issuer.subject, now_s, EARLIER_S + lasts_s)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**{**NO_USAGE, "digital_signature": True}), critical=True)
        .add_extension(x509.ExtendedKeyUsage(BOTH), critical=False)
        .add_extension(known, critical=False)
        .sign(signer, hashes.SHA256())
    )
    return made.public_bytes(Encoding.PEM).decode()


def new_key() -> tuple[str, bytes]:
    """A private key and its public key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    return private_pem(key).decode(), key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
