"""The documents of S3's operations, held against the service model."""

import pytest

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.document_schema import check_schema, document_shape
from torpor_account.s3.wire.parsing import parsed

XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
RULE = "<Rule><ID>a</ID><Filter><Prefix>x/</Prefix></Filter><Status>{}</Status>{}</Rule>"


def grant(kind: str) -> str:
    grantee = f"<Grantee {XSI} {kind}><ID>1</ID></Grantee><Permission>FULL_CONTROL</Permission>"
    return f"<AccessControlPolicy><AccessControlList><Grant>{grantee}</Grant></AccessControlList></AccessControlPolicy>"


def block(text: str) -> str:
    return f"<PublicAccessBlockConfiguration><BlockPublicAcls>{text}</BlockPublicAcls></PublicAccessBlockConfiguration>"


def lifecycle(status: str, more: str = "") -> str:
    return f"<LifecycleConfiguration>{RULE.format(status, more)}</LifecycleConfiguration>"


@pytest.mark.parametrize(
    ("operation", "document"),
    [
        ("PutBucketLifecycleConfiguration", lifecycle("Enabled", "<Expiration><Days>3</Days></Expiration>")),
        ("PutBucketLifecycleConfiguration", lifecycle("Disabled").replace("<Filter>", "<Newest>1</Newest><Filter>")),
        ("PutBucketAcl", grant('xsi:type="CanonicalUser"')),
        ("PutPublicAccessBlock", block("true")),
        ("PutPublicAccessBlock", block(" TRUE ")),
        ("PutPublicAccessBlock", block("0")),
        ("PutBucketLogging", "<BucketLoggingStatus/>"),
        ("PutBucketNotificationConfiguration", "<NotificationConfiguration/>"),
    ],
)
def test_a_document_of_the_schema_is_taken(operation: str, document: str) -> None:
    tree = parsed(document.encode(), document[1:].partition(">")[0].partition("/")[0])
    check_schema(tree, document_shape(operation))


@pytest.mark.parametrize(
    ("operation", "document"),
    [
        ("PutBucketLifecycleConfiguration", "<LifecycleConfiguration></LifecycleConfiguration>"),
        ("PutBucketLifecycleConfiguration", lifecycle("enabled")),
        ("PutBucketLifecycleConfiguration", lifecycle("Enabled", "<Expiration><Days>soon</Days></Expiration>")),
        ("PutBucketLifecycleConfiguration", lifecycle("Enabled").replace("<Status>Enabled</Status>", "")),
        ("PutBucketAcl", grant('xsi:type="Nobody"')),
        ("PutBucketAcl", grant("")),
        ("PutPublicAccessBlock", block("yes")),
    ],
)
def test_a_document_that_breaks_the_schema_is_malformed(operation: str, document: str) -> None:
    tree = parsed(document.encode(), document[1:].partition(">")[0])
    with pytest.raises(S3Error) as caught:
        check_schema(tree, document_shape(operation))
    assert caught.value.refusal is Refusal.MalformedXML
