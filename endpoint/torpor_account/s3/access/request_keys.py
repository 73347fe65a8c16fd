"""The condition keys of a request to S3, each on the actions alone for which AWS lists it.

https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from torpor_account.core.access.needs import ConditionKeys
from torpor_account.core.access.rights.right_rows import tag_keys
from torpor_account.s3.wire.headers import TAGGING, header_tags
from torpor_account.s3.wire.http_exchange import S3Request

LISTINGS: Final = ("ListObjects", "ListObjectsV2", "ListObjectVersions")
CREATIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("PutObject", "PostObject", "CopyObject", "CompleteMultipartUpload"), "true"),
    **dict.fromkeys(("CreateMultipartUpload", "UploadPart", "UploadPartCopy"), "false"),
}
"""The operations that need `s3:PutObject`, and whether each makes an object (`s3:ObjectCreationOperation`)."""
COPIES: Final = ("CopyObject", "UploadPartCopy")

_ACL: Final = (
    *("x-amz-acl", "x-amz-grant-full-control", "x-amz-grant-read", "x-amz-grant-read-acp"),
    *("x-amz-grant-write", "x-amz-grant-write-acp"),
)
_PUTS: Final = (
    *("if-match", "if-none-match", "x-amz-metadata-directive", "x-amz-storage-class"),
    *("x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id"),
    *("x-amz-server-side-encryption-customer-algorithm", "x-amz-website-redirect-location"),
    *("x-amz-object-lock-mode", "x-amz-object-lock-retain-until-date", "x-amz-object-lock-legal-hold"),
)
_HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(CREATIONS, (*_ACL, *_PUTS)),
    **dict.fromkeys(COPIES, (*_ACL, *_PUTS, "x-amz-copy-source")),
    "PutObjectAcl": (*_ACL, "x-amz-storage-class"),
    "PutBucketAcl": _ACL,
    "CreateBucket": (*_ACL, "x-amz-bucket-namespace", "x-amz-object-ownership"),
    "DeleteObject": ("if-match",),
}
"""The headers that are condition keys of an operation, by the operation's name."""

_TAGGED: Final = frozenset(
    (
        *("GetObject", "GetObjectVersion", "GetObjectAcl", "GetObjectVersionAcl"),
        *("PutObjectAcl", "PutObjectVersionAcl"),
        *("GetObjectAttributes", "GetObjectVersionAttributes", "GetObjectTagging", "GetObjectVersionTagging"),
        *("PutObjectTagging", "PutObjectVersionTagging", "DeleteObjectTagging", "DeleteObjectVersionTagging"),
    )
)
"""The actions whose context has `s3:ExistingObjectTag/x`."""

_EXISTING_TAG: Final = "s3:existingobjecttag/"
_MOMENT: Final = "%Y%m%dT%H%M%SZ"
_VERSION_4, _VERSION_2 = "AWS4-HMAC-SHA256", "AWS"

OF_SERVICES: Final[ConditionKeys] = {"s3:authtype": ("REST-HEADER",), "s3:signatureversion": (_VERSION_4,)}
"""The keys of the requests that a service of AWS makes with a role."""

Tags = Mapping[str, str]
ReadTags = Callable[[], Tags]
"""Reads the tags of the object that a request names. It raises no error for one that does not exist."""


class KeysOfObject(dict[str, Sequence[str]]):
    """Condition keys, and those of the object's tags, which are read when a policy asks for one of them."""

    def __init__(self, keys: ConditionKeys, read_tags: ReadTags) -> None:
        super().__init__(keys)
        self._read_tags = read_tags

    def get(self, key: str, default: Sequence[str] | None = None) -> Sequence[str] | None:  # type: ignore[override]
        if not key.startswith(_EXISTING_TAG):
            return super().get(key, default)
        name = key.removeprefix(_EXISTING_TAG)
        return tuple(value for tag, value in self._read_tags().items() if tag.lower() == name) or default


def keys_of_object(action: str, keys: ConditionKeys, read_tags: ReadTags) -> ConditionKeys:
    """The keys of an action on an object. `action` is without the name of the service."""
    return KeysOfObject(keys, read_tags) if action in _TAGGED else keys


def keys_of_tags(tags: Tags) -> ConditionKeys:
    """`s3:RequestObjectTag/x` and `s3:RequestObjectTagKeys` of tags that a request gives to an object."""
    found: dict[str, Sequence[str]] = {}
    for name, value in tags.items():
        key = f"s3:requestobjecttag/{name.lower()}"
        found[key] = (*found.get(key, ()), value)
    return {**found, "s3:requestobjecttagkeys": tuple(tags)} if tags else {}


def keys_of_bucket(region: str | None, tags: Iterable[tuple[str, str]]) -> ConditionKeys:
    """The keys of what CreateBucket's body says of the new bucket."""
    found: ConditionKeys = tag_keys({"Tags": [{"Key": key, "Value": value} for key, value in tags]})
    return found if region is None else {**found, "s3:locationconstraint": (region,)}


def keys_of(operation: str, request: S3Request, now_s: float) -> ConditionKeys:
    """The keys of a request. `now_s` is in epoch seconds."""
    keys: dict[str, Sequence[str]] = dict(_of_operation(operation, request))
    if operation in CREATIONS:
        keys["s3:objectcreationoperation"] = (CREATIONS[operation],)
        if TAGGING in request.headers:
            keys |= keys_of_tags(header_tags(request.headers))
    return {**keys, **keys_of_every(operation, request, now_s)}


def keys_of_version(version: str | None) -> ConditionKeys:
    """The key of a request that names a version."""
    return {"s3:versionid": (version,)} if version else {}


def _of_operation(operation: str, request: S3Request) -> Iterator[tuple[str, Sequence[str]]]:
    if operation in LISTINGS:
        for name in ("prefix", "delimiter", "max-keys"):
            if name in request.query:
                yield f"s3:{name}", (request.query[name],)
    for name in _HEADERS.get(operation, ()):
        if name in request.headers:
            yield f"s3:{name.replace('x-amz-object-lock', 'object-lock')}", (request.headers[name],)


# -- the keys of every request -----------------------------------------------------------------------------------------
class _Signature(NamedTuple):
    kind: str
    version: str
    date: str


def keys_of_every(operation: str, request: S3Request, now_s: float) -> ConditionKeys:
    """The keys of every request, whatever it asks for."""
    keys: dict[str, str] = {} if request.tls_version is None else {"s3:tlsversion": request.tls_version}
    signature = _signature(operation, request)
    if signature is not None:
        keys |= {"s3:authtype": signature.kind, "s3:signatureversion": signature.version}
        age_ms = _age_ms(signature.date, now_s)
        keys |= {} if age_ms is None else {"s3:signatureage": str(age_ms)}
    content = request.headers.get("x-amz-content-sha256") or request.query.get("X-Amz-Content-Sha256")
    if content is None and signature is not None and signature.version == _VERSION_4:
        content = "UNSIGNED-PAYLOAD"
    keys |= {} if content is None else {"s3:x-amz-content-sha256": content}
    return {name: (value,) for name, value in keys.items()}


def _signature(operation: str, request: S3Request) -> _Signature | None:
    """How the request was signed; None for one that nobody signed. Whether it is right, the endpoint's door knows."""
    query, headers = request.query, request.headers
    if operation == "PostObject" and request.signer_of is not None:
        version = _VERSION_4 if "x-amz-algorithm" in headers else _VERSION_2
        return _Signature("POST", version, headers.get("x-amz-date", "")) if "policy" in headers else None
    if "authorization" in headers:
        return _Signature("REST-HEADER", _VERSION_4, headers.get("x-amz-date", ""))
    if "X-Amz-Signature" in query:
        return _Signature("REST-QUERY-STRING", _VERSION_4, query.get("X-Amz-Date", ""))
    if "Signature" in query and "AWSAccessKeyId" in query:
        return _Signature("REST-QUERY-STRING", _VERSION_2, "")
    return None


def _age_ms(date: str, now_s: float) -> int | None:
    try:
        signed_s = datetime.strptime(date, _MOMENT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return max(0, int((now_s - signed_s) * 1000))
