"""The names that all hosts give alike."""

from hashlib import sha256

from torpor_endpoint.host import LaunchSpec

DIGEST_CHARS = 8


def log_name(spec: LaunchSpec, incarnation: str) -> str:
    """The file of an output, as CloudWatch's log streams: by instance, and by container if the instance has several."""
    return f"{spec.instance or incarnation}/{spec.container}.log" if spec.container else f"{incarnation}.log"


def deployment_digest(secret: bytes) -> str:
    """What the names of one Torpor's instances have in common on a cluster. It does not give the secret away."""
    return sha256(b"deployment\0" + secret).hexdigest()[:DIGEST_CHARS]
