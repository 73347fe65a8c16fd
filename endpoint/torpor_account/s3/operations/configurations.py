"""Stores a bucket's configurations as they were sent, and returns them.

`cors` has an effect on web pages, and `policy` and `publicAccessBlock` on callers where they are verified.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from torpor_account.core.access.conditions import BadPolicy
from torpor_account.core.access.policy_statements import read_policy
from torpor_account.s3.access.bucket_policies import checked_policy, is_public
from torpor_account.s3.access.public_access import PublicAccess, blocks
from torpor_account.s3.call import Operation, S3Call, xml
from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.operation_rights import POLICY_IDS
from torpor_account.s3.operations.cors_rules import cors_rules
from torpor_account.s3.wire.document_schema import check_schema, document_shape
from torpor_account.s3.wire.headers import BUCKET_TAGS_MAX, checked_tags
from torpor_account.s3.wire.http_exchange import S3Answer, document_of
from torpor_account.s3.wire.parsing import Element, parsed, required
from torpor_account.s3.wire.xml_elements import document, flag, text

_POLICY_MAX_BYTES: Final = 20 * 1024  # AWS: "Bucket policies are limited to 20 KB in size."


@dataclass(frozen=True)
class Configuration:
    """One sub-resource: its name in S3's operations, the root of its document (None: JSON), and the answer while it is
    not set."""

    named: str
    root: str | None
    unset: Refusal | str = ""
    deletion: str = ""  # the operation, where S3 has one
    put_status: int = 200


NO_PUBLIC_POLICY = "Public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access."

# A string `unset` is the content of the document that AWS answers then.
CONFIGURATIONS: Final[Mapping[str, Configuration]] = {
    "accelerate": Configuration("BucketAccelerateConfiguration", "AccelerateConfiguration"),
    "cors": Configuration(
        "BucketCors",
        "CORSConfiguration",
        Refusal.NoSuchCORSConfiguration,
        deletion="DeleteBucketCors",
    ),
    "encryption": Configuration(
        "BucketEncryption",
        "ServerSideEncryptionConfiguration",
        Refusal.ServerSideEncryptionConfigurationNotFoundError,
        deletion="DeleteBucketEncryption",
    ),
    "lifecycle": Configuration(
        "BucketLifecycleConfiguration",
        "LifecycleConfiguration",
        Refusal.NoSuchLifecycleConfiguration,
        deletion="DeleteBucketLifecycle",
    ),
    "logging": Configuration("BucketLogging", "BucketLoggingStatus"),
    "notification": Configuration("BucketNotificationConfiguration", "NotificationConfiguration"),
    "object-lock": Configuration(
        "ObjectLockConfiguration", "ObjectLockConfiguration", Refusal.ObjectLockConfigurationNotFoundError
    ),
    "ownershipControls": Configuration(
        "BucketOwnershipControls",
        "OwnershipControls",
        Refusal.OwnershipControlsNotFoundError,
        deletion="DeleteBucketOwnershipControls",
    ),
    "policy": Configuration(
        "BucketPolicy", None, Refusal.NoSuchBucketPolicy, deletion="DeleteBucketPolicy", put_status=204
    ),
    "publicAccessBlock": Configuration(
        "PublicAccessBlock",
        "PublicAccessBlockConfiguration",
        Refusal.NoSuchPublicAccessBlockConfiguration,
        deletion="DeletePublicAccessBlock",
    ),
    "replication": Configuration(
        "BucketReplication",
        "ReplicationConfiguration",
        Refusal.ReplicationConfigurationNotFoundError,
        deletion="DeleteBucketReplication",
    ),
    "requestPayment": Configuration(
        "BucketRequestPayment",
        "RequestPaymentConfiguration",
        text("Payer", "BucketOwner"),
    ),
    "tagging": Configuration(
        "BucketTagging",
        "Tagging",
        Refusal.NoSuchTagSet,
        deletion="DeleteBucketTagging",
        put_status=204,
    ),
    "versioning": Configuration("BucketVersioning", "VersioningConfiguration"),
    "website": Configuration(
        "BucketWebsite", "WebsiteConfiguration", Refusal.NoSuchWebsiteConfiguration, deletion="DeleteBucketWebsite"
    ),
}


def get_configuration(name: str) -> Operation:
    rule = CONFIGURATIONS[name]

    async def operation(call: S3Call) -> S3Answer:
        stored = await asyncio.to_thread(_stored, call, name)
        if stored is not None:
            return S3Answer(
                headers={"content-type": "application/xml" if rule.root else "application/json"}, body=stored
            )
        if isinstance(rule.unset, Refusal):
            raise S3Error(rule.unset, BucketName=call.bucket)
        return xml(document(rule.root or "", rule.unset))

    return operation


def put_configuration(name: str) -> Operation:
    rule = CONFIGURATIONS[name]

    async def operation(call: S3Call) -> S3Answer:
        body = await document_of(call.request, partial(_checked, rule))
        await asyncio.to_thread(_put_policy if name == "policy" else partial(_configure, name=name), call, body=body)
        return S3Answer(rule.put_status)

    return operation


def delete_configuration(name: str) -> Operation:
    async def operation(call: S3Call) -> S3Answer:
        await asyncio.to_thread(_configure, call, None, name)
        return S3Answer(204)

    return operation


async def get_bucket_policy_status(call: S3Call) -> S3Answer:
    stored = await asyncio.to_thread(_stored, call, "policy")
    if stored is None:
        raise S3Error(Refusal.NoSuchBucketPolicy, BucketName=call.bucket)
    try:
        public = is_public(read_policy(stored.decode(), "policy", kind="resource"))
    except (BadPolicy, UnicodeDecodeError):  # it denies everything
        public = False
    return xml(document("PolicyStatus", flag("IsPublic", public)))


def _stored(call: S3Call, name: str) -> bytes | None:
    call.store.buckets.get(call.bucket)
    return call.store.buckets.configuration(call.bucket, name)


def _configure(call: S3Call, body: bytes | None, name: str) -> None:
    call.store.buckets.get(call.bucket)
    call.store.buckets.configure(call.bucket, name, body)


def _put_policy(call: S3Call, body: bytes) -> None:
    """Raises MalformedPolicy and AccessDenied. The unique ids of those whom it names are stored before it."""
    call.store.buckets.get(call.bucket)
    try:
        policy = checked_policy(body.decode(), call.bucket)
        ids = call.site.ids_named(policy)
    except (BadPolicy, UnicodeDecodeError) as error:
        raise S3Error(Refusal.MalformedPolicy, f"The policy cannot be enforced: {error}") from error
    if is_public(policy) and blocks(call.store.buckets, call.bucket, PublicAccess.NEW_POLICIES):
        raise S3Error(Refusal.AccessDenied, NO_PUBLIC_POLICY)
    call.store.buckets.configure(call.bucket, POLICY_IDS, json.dumps(ids).encode())
    call.store.buckets.configure(call.bucket, "policy", body)


def tag_pairs(tree: Element) -> list[tuple[str, str]]:
    """The bucket's tags, anywhere in a document. Raises InvalidTag and BadRequest."""
    pairs = [(required(tag, "Key"), required(tag, "Value")) for tag in tree.iter("Tag")]
    checked_tags(pairs, BUCKET_TAGS_MAX, "Bucket tag count")
    return pairs


def _checked(rule: Configuration, body: bytes) -> bytes:
    if rule.root is not None:
        tree = parsed(body, rule.root)
        if rule.named == "BucketTagging":
            tag_pairs(tree)
        if rule.named == "BucketCors":
            cors_rules(tree)
        check_schema(tree, document_shape(f"Put{rule.named}"))
        return body
    if len(body) > _POLICY_MAX_BYTES:
        raise S3Error(Refusal.MalformedPolicy)
    try:
        policy = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise S3Error(Refusal.MalformedPolicy) from error
    if not isinstance(policy, dict):
        raise S3Error(Refusal.MalformedPolicy)
    return body
