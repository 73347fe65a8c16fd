"""What differs from AWS, operation by operation, as far as it is known; an operation without a line has none."""

from collections.abc import Mapping
from typing import Final

from torpor_endpoint.services.s3.operations.configurations import CONFIGURATIONS

_KEPT: Final = "Kept as sent and given back; it has no effect."
_ONE_OWNER: Final = "The one account always has full control."
_ENCRYPTION: Final = "Encryption and storage class are kept and shown; nothing is encrypted, nothing leaves the disk."
_VERSIONS: Final = "There are no versions: each object's version is `null`, whatever PutBucketVersioning said."

_CHANGES: Final = {f"Put{rule.named}": _KEPT for rule in CONFIGURATIONS.values()}

DIFFERENCES: Final[Mapping[str, str]] = {
    **_CHANGES,
    "PutBucketCors": "It alone lets a web page of another origin in: a request from a page that no rule matches is refused; AWS answers it, and its browser hides the answer.",
    "PutBucketVersioning": f"{_KEPT} {_VERSIONS}",
    "GetBucketEncryption": "A bucket has none until one is put; AWS has AES256.",
    "GetBucketOwnershipControls": "A bucket has none until they are put; AWS has BucketOwnerEnforced.",
    "GetPublicAccessBlock": "A bucket has none until one is put; AWS blocks all.",
    "GetBucketAcl": _ONE_OWNER,
    "GetObjectAcl": _ONE_OWNER,
    "PutBucketAcl": f"Accepted without effect. {_ONE_OWNER}",
    "PutObjectAcl": f"Accepted without effect. {_ONE_OWNER}",
    "GetBucketPolicyStatus": "Never public: policies have no effect.",
    "CreateBucket": "One namespace for all regions; an ACL has no effect, and Object Lock is refused.",
    "ListObjectVersions": _VERSIONS,
    "DeleteObject": _VERSIONS,
    "DeleteObjects": f"{_VERSIONS} Neither Content-MD5 nor a checksum is required.",
    "PutObject": f"{_ENCRYPTION} The customer's own keys are refused. If-None-Match takes ETags too, not only `*`.",
    "CopyObject": f"{_ENCRYPTION} An ACL has no effect.",
    "GetObject": f"{_VERSIONS} Objects of an archive class can be read at once.",
    "GetObjectAttributes": "Of parts, only how many there are.",
    "CreateMultipartUpload": f"{_ENCRYPTION} An upload never expires.",
}
