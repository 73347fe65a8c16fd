"""A request of no service is refused in the caller's protocol, after its body is read."""

import json
from functools import partial

import pytest

from tests.account.aws.helpers.asgi_calls import call
from torpor_account.aws.refusing import Refusing, misdirected, unserved
from torpor_endpoint.services.service_register import ADDRESSES

MISDIRECTED = Refusing(partial(misdirected, ADDRESSES))

BODY = b"a" * (5 << 20)


@pytest.mark.parametrize("content_type", ["application/x-amz-json-1.0", "application/x-amz-json-1.1"])
def test_the_refusal_of_a_request_signed_for_another_service_names_the_right_one(content_type: str) -> None:
    headers = {"content-type": content_type, "x-amz-target": "GraniteServiceVersion20100801.ListMetrics"}
    reply = call(MISDIRECTED, headers=headers, body=BODY)
    assert reply is not None
    assert (reply.status, reply.headers["content-type"]) == (400, content_type)
    assert json.loads(reply.body) == {
        "__type": "InvalidSignatureException",
        "message": "Credential should be scoped to correct service: 'monitoring'.",
    }


def test_a_target_of_no_service_is_an_unknown_operation() -> None:
    reply = call(MISDIRECTED, headers={"x-amz-target": "Foo.ListModels"}, body=BODY)
    assert reply is not None
    assert reply.headers["x-amzn-errortype"] == "UnknownOperationException"
    assert b"Foo" in reply.body


def test_a_cbor_caller_is_refused_in_cbor() -> None:
    path = "/service/GraniteServiceVersion20100801/operation/ListMetrics"
    reply = call(MISDIRECTED, path=path, headers={"smithy-protocol": "rpc-v2-cbor"}, body=BODY)
    assert reply is not None
    assert reply.headers["content-type"] == "application/cbor"
    assert b"InvalidSignatureException" in reply.body


def test_a_form_for_a_service_that_is_not_here_is_refused_in_xml() -> None:
    signature = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/elasticloadbalancing/aws4_request, Signature=0"
    headers = {"content-type": "application/x-www-form-urlencoded", "authorization": signature}
    reply = call(Refusing(unserved), headers=headers, body=b"Action=DescribeLoadBalancers&Version=2015-12-01")
    assert reply is not None
    assert b"<Code>InvalidAction</Code>" in reply.body
    assert b"elasticloadbalancing" in reply.body
