"""Reads the block of public access of a bucket. Two of its four members are about ACLs, which let nobody in here.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/access-control-block-public-access.html
"""

from enum import StrEnum

from torpor_account.s3.storage.buckets import Buckets
from torpor_account.s3.wire.parsing import parsed


class PublicAccess(StrEnum):
    """What a bucket may block, by the names of the members of PublicAccessBlockConfiguration."""

    NEW_POLICIES = "BlockPublicPolicy"
    ANONYMOUS = "RestrictPublicBuckets"


TRUE = ("true", "1")
"""The spellings of XML's boolean; S3 takes capitals too."""


def blocks(buckets: Buckets, bucket: str, what: PublicAccess) -> bool:
    """Whether the bucket blocks this."""
    stored = buckets.configuration(bucket, "publicAccessBlock")
    if stored is None:
        return False
    said = parsed(stored, "PublicAccessBlockConfiguration").findtext(what, "")
    return said.strip().lower() in TRUE
