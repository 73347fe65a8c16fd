"""S3 as a service: this endpoint's own object store, or another one that it leads to."""

from functools import partial

from torpor_account.iam.context import Iam
from torpor_account.iam.policies.principals import ids_named
from torpor_account.s3.app import S3App
from torpor_account.s3.elsewhere import S3Elsewhere
from torpor_account.s3.store import ObjectStore


def service(objects: ObjectStore, iam: Iam, *, account: str, region: str) -> S3App:
    return S3App(objects, account=account, region=region, ids_named=partial(ids_named, iam, account))


def elsewhere(url: str) -> S3Elsewhere:
    """In place of the own store, where artifacts are in another S3."""
    return S3Elsewhere(url)
