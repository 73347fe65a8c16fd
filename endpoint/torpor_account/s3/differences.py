"""Lists the known differences from AWS by operation. An operation without an entry has no known difference."""

from collections.abc import Mapping
from typing import Final

from torpor_account.s3.operations.configurations import CONFIGURATIONS

_KEPT: Final = "Kept and returned as sent, without effect."
_ONE_OWNER: Final = "The one account always has full control."
_ENCRYPTION: Final = (
    "Keeps and shows the encryption and the storage class. Torpor encrypts nothing, and every object stays on the disk."
)
_VERSIONS: Final = "There are no versions: the version of each object is `null`, also after PutBucketVersioning."

_CHANGES: Final = {f"Put{rule.named}": _KEPT for rule in CONFIGURATIONS.values()}

DIFFERENCES: Final[Mapping[str, str]] = {
    **_CHANGES,
    "PutBucketCors": "Only a matching rule lets a web page of another origin in. Torpor refuses the request of any other page; AWS answers it, and the browser hides the answer.",
    "PutBucketVersioning": f"{_KEPT} {_VERSIONS}",
    "GetBucketEncryption": "A bucket has none until a caller puts one, where AWS has AES256.",
    "GetBucketOwnershipControls": "A bucket has none until a caller puts them, where AWS has BucketOwnerEnforced.",
    "GetPublicAccessBlock": "A bucket has none until a caller puts one, where AWS blocks all public access.",
    "GetBucketAcl": _ONE_OWNER,
    "GetObjectAcl": _ONE_OWNER,
    "PutBucketAcl": f"Accepted without effect. {_ONE_OWNER}",
    "PutObjectAcl": f"Accepted without effect. {_ONE_OWNER}",
    "PutBucketPolicy": "Enforced with `--auth` only. Refuses a condition key that no request has here where its absence would help a caller.",
    "PutPublicAccessBlock": "BlockPublicAcls and IgnorePublicAcls have no effect: an ACL lets nobody in.",
    "GetBucketPolicyStatus": "Without `--auth` no policy has an effect, and everybody may do everything.",
    "CreateBucket": "All regions share one namespace. An ACL has no effect, and Object Lock and the namespace account-regional are refused.",
    "ListObjectVersions": _VERSIONS,
    "DeleteObject": _VERSIONS,
    "DeleteObjects": f"{_VERSIONS} Neither Content-MD5 nor a checksum is required.",
    "PutObject": f"{_ENCRYPTION} Refuses the customer's own keys. If-None-Match takes ETags too, not only `*`.",
    "CopyObject": f"{_ENCRYPTION} An ACL has no effect.",
    "GetObject": f"{_VERSIONS} A caller can read objects of an archive class at once.",
    "GetObjectAttributes": "Of the parts, the answer has their number only.",
    "CreateMultipartUpload": f"{_ENCRYPTION} An upload never expires.",
}
