import pytest
from hypothesis import given
from hypothesis import strategies as st

from torpor_account.aws.wire.scope import MISDIRECTED, UNSERVED, UNSIGNED_FORM, region_of
from torpor_endpoint.services.service_register import ADDRESSES

TARGETS, service_of = ADDRESSES.targets, ADDRESSES.service_of

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


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
        ("sagemaker", "/endpoints/arn:of:endpoint/e/invocations", "sagemaker-runtime"),
        ("sagemaker", "/endpoints//invocations", "sagemaker"),
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
        ("POST", "/", {"x-amz-target": "CoffeeMaker.Brew"}, "", MISDIRECTED),
        ("GET", "/", {}, "Action=Odd&Version=1999-01-01", UNSIGNED_FORM),
        ("POST", "/", FORM, "", UNSIGNED_FORM),
        ("POST", "/bucket", FORM, "", "s3"),
        ("POST", "/", {"content-type": "multipart/form-data; boundary=b"}, "", "s3"),
        ("GET", "/bucket/key", {}, "Action=a&Version=2011-06-15", "s3"),
        ("GET", "/service/key", {}, "", "s3"),
        ("POST", "/endpoints/e/invocations", {}, "", "sagemaker-runtime"),
        ("POST", "/endpoints/e/invocations", {}, "uploads", "s3"),
        ("GET", "/endpoints/e/invocations", {}, "", "s3"),
    ],
)
def test_an_unsigned_request_finds_its_service_by_target_path_and_version(
    method: str, path: str, headers: dict[str, str], query: str, service: str
) -> None:
    assert service_of(method, path, headers, query) == service


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_a_post_invokes(method: str) -> None:
    assert service_of(method, "/endpoints/e/invocations", signed("sagemaker")) == "sagemaker"


@pytest.mark.parametrize("name", ["sagemaker-runtime", "cloudwatch", "unsigned-form", "misdirected", "unserved"])
@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("path", ["/", "/x", "/endpoints/e/invocations"])
def test_a_name_that_no_service_is_signed_for_leads_to_none(name: str, method: str, path: str) -> None:
    assert service_of(method, path, signed(name)) == service_of(method, path, {}, presigned(name)) == UNSERVED


@pytest.mark.parametrize(
    ("name", "signed_as"), [("s3", "s3"), ("sagemaker", "sagemaker"), ("cloudwatch", "monitoring")]
)
def test_a_service_has_a_usual_name_in_signatures(name: str, signed_as: str) -> None:
    assert ADDRESSES.signing_name(name) == signed_as


@given(
    st.sampled_from(["POST", "GET", "HEAD", "PUT", "DELETE", "post"]),
    st.sampled_from(["/", "/x", "/endpoints/e/invocations", "/endpoints/e/async-invocations", "/endpoints/e"]),
    st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True) | st.sampled_from(["sagemaker", "sagemaker-runtime"]),
)
def test_whatever_a_request_is_signed_for_only_a_post_to_an_endpoint_invokes(method: str, path: str, name: str) -> None:
    invokes = method == "POST" and path.endswith("invocations") and name == "sagemaker"
    assert (service_of(method, path, signed(name)) == "sagemaker-runtime") is invokes


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["s3", "sagemaker", "monitoring", "logs", "sns"])
def test_a_target_of_another_service_than_the_signatures_is_misdirected(name: str, target: str) -> None:
    service = service_of("POST", "/", {**signed(name), "x-amz-target": f"{target}.TagResource"})
    assert service == (TARGETS[target] if name == ADDRESSES.signing_name(TARGETS[target]) else MISDIRECTED)


@pytest.mark.parametrize("target", ["Foo.ListModels", "ListModels", "SageMakerX.ListModels", "a.SageMaker.ListModels"])
def test_a_target_that_its_service_lacks_is_misdirected(target: str) -> None:
    assert service_of("POST", "/", {**signed("sagemaker"), "x-amz-target": target}) == MISDIRECTED
    assert service_of("POST", "/", {**signed("secretsmanager"), "x-amz-target": target}) == "secretsmanager"


def test_without_a_region_it_is_the_default_one() -> None:
    sigv4a = {"authorization": "AWS4-ECDSA-P256-SHA256 Credential=AKIA/20260101/s3/aws4_request, Signature=00"}
    assert service_of("GET", "/b/k", sigv4a) == "s3"
    assert region_of(sigv4a) == region_of({}) == "us-east-1"


@given(st.text(), st.text(), st.sampled_from(["", "X-Amz-Credential=", "Action=&Version="]), st.text())
def test_every_request_belongs_to_a_service(authorization: str, path: str, start: str, query: str) -> None:
    headers = {"authorization": f"Credential={authorization}", "x-amz-target": query, "smithy-protocol": ""}
    for given_headers in (headers, {}):
        assert isinstance(service_of("POST", f"/service/{path}", given_headers, start + query), str)
        assert region_of(given_headers, start + query)
