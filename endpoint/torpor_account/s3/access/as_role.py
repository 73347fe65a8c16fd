"""Reads and writes objects as an execution role: what the role's policies and the bucket's do not allow is refused.

Every method blocks, so call it in a worker thread.
"""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from torpor_account.core.access.evaluation import denial_text
from torpor_account.core.access.needs import AccessNeed, CallerAccess
from torpor_account.core.access.policy_statements import AccessPolicy
from torpor_account.iam.execution.execution_roles import ExecutionRoles
from torpor_account.iam.execution.refused import RoleRefused
from torpor_account.log_lines import about
from torpor_account.s3.access.embedded import AsRole, NotStored, ObjectHead, Storage
from torpor_account.s3.access.request_keys import OF_SERVICES, Tags, keys_of_object
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.operation_rights import bucket_policy, tags_of_object

audit = logging.getLogger("torpor_endpoint.audit")

BucketPolicy = Callable[[str], AccessPolicy | None]


class BucketRules(NamedTuple):
    """What the store says of a bucket: its policy, and the tags of the object with a key."""

    policy: BucketPolicy
    tags: Callable[[str, str], Tags] = lambda bucket, key: {}

    def reading_object(self, bucket: str, key: str) -> AccessNeed:
        keys = keys_of_object("GetObject", OF_SERVICES, lambda: self.tags(bucket, key))
        return AccessNeed(("s3:GetObject",), f"arn:aws:s3:::{bucket}/{key}", keys)


def rules_of(store: ObjectStore) -> BucketRules:
    return BucketRules(partial(bucket_policy, store), partial(tags_of_object, store))


def listing_bucket(bucket: str, prefix: str) -> AccessNeed:
    return AccessNeed(("s3:ListBucket",), f"arn:aws:s3:::{bucket}", {**OF_SERVICES, "s3:prefix": (prefix,)})


class RoleStorage:
    """See `Storage`. The role is assumed anew for each object: a change of its policies counts at once."""

    def __init__(self, storage: Storage, access: Callable[[], CallerAccess], rules: BucketRules) -> None:
        self._storage = storage
        self._access = access
        self._rules = rules

    def keys(self, bucket: str, prefix: str) -> list[str]:
        self._allow(f"s3://{bucket}/{prefix}", bucket, listing_bucket(bucket, prefix))
        return self._storage.keys(bucket, prefix)

    def check(self, bucket: str) -> None:
        self._storage.check(bucket)

    def check_writable(self, bucket: str, key: str) -> None:
        keys = {**OF_SERVICES, "s3:objectcreationoperation": ("true",)}
        need = AccessNeed(("s3:PutObject",), f"arn:aws:s3:::{bucket}/{key}", keys)
        self._allow(f"s3://{bucket}/{key}", bucket, need)

    def head(self, bucket: str, key: str) -> ObjectHead:
        self._check_readable(bucket, key)
        return self._storage.head(bucket, key)

    def fetch(self, bucket: str, key: str, into: Path) -> None:
        self._check_readable(bucket, key)
        self._storage.fetch(bucket, key, into)

    def opened(self, bucket: str, key: str, copy: Path) -> BinaryIO:
        self._check_readable(bucket, key)
        return self._storage.opened(bucket, key, copy)

    def put(self, file: Path, bucket: str, key: str, content_type: str = "") -> None:
        self.check_writable(bucket, key)
        self._storage.put(file, bucket, key, content_type)

    def write(self, body: bytes, bucket: str, key: str, content_type: str = "") -> None:
        self.check_writable(bucket, key)
        self._storage.write(body, bucket, key, content_type)

    def remove(self, bucket: str, key: str) -> None:
        need = AccessNeed(("s3:DeleteObject",), f"arn:aws:s3:::{bucket}/{key}", OF_SERVICES)
        self._allow(f"s3://{bucket}/{key}", bucket, need)
        self._storage.remove(bucket, key)

    def _check_readable(self, bucket: str, key: str) -> None:
        self._allow(f"s3://{bucket}/{key}", bucket, self._rules.reading_object(bucket, key))

    def _allow(self, url: str, bucket: str, need: AccessNeed) -> None:
        """Raises NotStored."""
        check_allowed(url, need, self._access, self._rules.policy(bucket))


def check_allowed(
    url: str, need: AccessNeed, access_of: Callable[[], CallerAccess], policy: AccessPolicy | None
) -> None:
    """Raises NotStored for what a role may not do with `url`, or if SageMaker may not assume it. `policy` is the
    bucket's."""
    try:
        access = access_of()
    except RoleRefused as refused:
        raise NotStored(f"{url} (AccessDenied: {refused})") from None
    decision = access.decide(need, policy)
    if not decision.allowed:
        text = denial_text(access.principal, access.questions(need)[0], decision)
        audit.info("denied: %s: %s", text, decision.why, extra=about(caller=access.principal.arn))
        raise NotStored(f"{url} (AccessDenied: {text})")


def acting_as(roles: ExecutionRoles, rules: BucketRules) -> AsRole:
    """How storages act as roles on an endpoint that verifies its callers."""

    def as_role(storage: Storage, role: str, source: str) -> Storage:
        return RoleStorage(storage, lambda: roles.assumed(role, source), rules)

    return as_role


def why_unreadable(roles: ExecutionRoles, rules: BucketRules) -> Callable[[str, str, str, str], str | None]:
    """See `iam.execution.credentials_pages.WhyUnreadable`."""

    def why(role: str, source: str, bucket: str, key: str) -> str | None:
        need = rules.reading_object(bucket, key)
        try:
            check_allowed(f"s3://{bucket}/{key}", need, lambda: roles.assumed(role, source), rules.policy(bucket))
        except NotStored as refused:
            return str(refused)
        return None

    return why
