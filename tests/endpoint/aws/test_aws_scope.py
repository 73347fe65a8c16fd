import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_endpoint.aws.scope import region_of, service_of


def signed(name: str) -> dict[str, str]:
    credential = f"AKIA/20260101/eu-west-3/{name}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=00"}


def presigned(name: str) -> str:
    return f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20260101%2Feu-west-3%2F{name}%2Faws4_request"


@pytest.mark.parametrize(
    ("name", "path", "service"),
    [
        ("s3", "/bucket/key", "s3"),
        ("s3", "/endpoints/e/invocations", "s3"),
        ("sagemaker", "/", "sagemaker"),
        ("sagemaker", "/endpoints/e/invocations", "sagemaker-runtime"),
        ("sagemaker", "/endpoints/e/async-invocations", "sagemaker-runtime"),
        ("sagemaker", "/endpoints/e/invocations-response-stream", "sagemaker-runtime"),
        ("sagemaker", "/BatchPutMetrics", "sagemaker-metrics"),
        ("monitoring", "/", "cloudwatch"),
        ("sts", "/", "sts"),
        ("iam", "/", "iam"),
        ("sns", "/", "sns"),
        ("sqs", "/", "sqs"),
        ("logs", "/", "logs"),
        ("ecr", "/", "ecr"),
        ("application-autoscaling", "/", "application-autoscaling"),
    ],
)
def test_a_signature_names_the_service_and_the_region(name: str, path: str, service: str) -> None:
    assert service_of("POST", path, signed(name)) == service
    assert service_of("POST", path, {}, presigned(name)) == service
    assert region_of(signed(name)) == region_of({}, presigned(name)) == "eu-west-3"


@pytest.mark.parametrize(
    ("method", "path", "headers", "query", "service"),
    [
        ("GET", "/bucket/key", {}, "", "s3"),
        ("GET", "/bucket/key", {}, "AWSAccessKeyId=a&Signature=b&Expires=1", "s3"),
        ("PUT", "/bucket/key", {"authorization": "AWS key:signature"}, "", "s3"),
        ("POST", "/", {"x-amz-target": "SageMaker.ListModels"}, "", "sagemaker"),
        ("POST", "/", {"x-amz-target": "GraniteServiceVersion20100801.ListMetrics"}, "", "cloudwatch"),
        ("POST", "/", {"x-amz-target": "AnyScaleFrontendService.X"}, "", "application-autoscaling"),
        (
            "POST",
            "/service/GraniteServiceVersion20100801/operation/ListMetrics",
            {"smithy-protocol": "rpc-v2-cbor"},
            "",
            "cloudwatch",
        ),
        ("GET", "/", {}, "Action=GetCallerIdentity&Version=2011-06-15", "sts"),
        ("GET", "/", {}, "Action=ListMetrics&Version=2010-08-01", "cloudwatch"),
        ("GET", "/service/key", {}, "", "s3"),
        ("POST", "/endpoints/e/invocations", {}, "", "sagemaker-runtime"),
        ("POST", "/endpoints/e/invocations", {}, "uploads", "s3"),
        ("GET", "/endpoints/e/invocations", {}, "", "s3"),
    ],
)
def test_an_unsigned_request_is_told_by_target_path_and_version(
    method: str, path: str, headers: dict[str, str], query: str, service: str
) -> None:
    assert service_of(method, path, headers, query) == service


def test_without_a_region_it_is_the_default_one() -> None:
    sigv4a = {"authorization": "AWS4-ECDSA-P256-SHA256 Credential=AKIA/20260101/s3/aws4_request, Signature=00"}
    assert service_of("GET", "/b/k", sigv4a) == "s3"
    assert region_of(sigv4a) == region_of({}) == "us-east-1"


@given(st.text(), st.text(), st.sampled_from(["", "X-Amz-Credential=", "Action=&Version="]), st.text())
def test_every_request_is_somebodys(authorization: str, path: str, start: str, query: str) -> None:
    headers = {"authorization": f"Credential={authorization}", "x-amz-target": query, "smithy-protocol": ""}
    for given_headers in (headers, {}):
        assert isinstance(service_of("POST", f"/service/{path}", given_headers, start + query), str)
        assert region_of(given_headers, start + query)
