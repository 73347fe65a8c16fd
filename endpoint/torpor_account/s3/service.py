"""S3 as a service: this endpoint's own object store, or another one that it leads to."""

from functools import partial

from torpor_account.iam.context import Iam
from torpor_account.iam.policies.named_principals import ids_named
from torpor_account.s3.app import S3App
from torpor_account.s3.object_store import ObjectStore
from torpor_account.s3.s3_elsewhere import S3Elsewhere


def service(objects: ObjectStore, iam: Iam, *, account: str, region: str) -> S3App:
    return S3App(objects, account=account, region=region, ids_named=partial(ids_named, iam, account))


def elsewhere(url: str) -> S3Elsewhere:
    """In place of the own store, where artifacts are in another S3."""
    return S3Elsewhere(url)
