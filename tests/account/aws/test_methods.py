"""No GET changes anything."""

import pytest

from torpor_account.aws.errors import AwsError
from torpor_account.aws.methods import check_method
from torpor_account.aws.wire.asgi import AwsRequest
from torpor_account.aws.wire.protocols import protocol_of

FORM = {"content-type": "application/x-www-form-urlencoded"}
TARGET = {"x-amz-target": "SageMaker.ListModels", "content-type": "application/x-amz-json-1.1"}
CBOR = {"smithy-protocol": "rpc-v2-cbor"}
READS = ["GetCallerIdentity", "ListRoles", "DescribeAlarms", "AssumeRoleWithWebIdentity", "SimulatePrincipalPolicy"]
WRITES = ["CreateTopic", "DeleteRole", "PutMetricData", "SetQueueAttributes", "ConfirmSubscription", "ReceiveMessage"]


def checked(method: str, query: str = "", headers: dict[str, str] | None = None, body: bytes = b"") -> None:
    request = AwsRequest(method, "/", headers or {}, query, body)
    check_method(protocol_of(request), request)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("action", READS)
def test_a_link_that_reads_is_answered(method: str, action: str) -> None:
    checked(method, f"Action={action}&Version=2011-06-15&X-Amz-Signature=0")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("action", [*WRITES, "CreateTopic&Action=ListTopics", "ListTopics&Action=CreateTopic"])
def test_a_link_that_changes_something_is_refused(method: str, action: str) -> None:
    with pytest.raises(AwsError, match="by POST") as refused:
        checked(method, f"Action={action}&Version=2010-03-31")
    assert refused.value.status == 405
    checked("POST", f"Action={action}", FORM)


@pytest.mark.parametrize("headers", [TARGET, CBOR, {**TARGET, **CBOR}])
def test_the_protocols_that_aws_speaks_by_post_are_spoken_by_post(headers: dict[str, str]) -> None:
    with pytest.raises(AwsError, match="by POST"):
        checked("GET", "Action=ListTopics", headers)
    checked("POST", "", headers)
