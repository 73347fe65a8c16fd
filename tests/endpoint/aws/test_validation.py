import re
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.endpoint.aws.helpers.refusals import outcome
from torpor_endpoint.aws.errors import AwsError
from torpor_endpoint.aws.service import refusal
from torpor_endpoint.aws.validation import JAVA_PATTERNS, message, violations
from torpor_endpoint.aws.wire.reading import read


@pytest.fixture(scope="module")
def sagemaker() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("sagemaker", "service-2"), "sagemaker")


@pytest.fixture(scope="module")
def cloudwatch() -> ServiceModel:
    return ServiceModel(Loader().load_service_model("cloudwatch", "service-2"), "cloudwatch")


def said(params: dict[str, Any], shape: Shape) -> str:
    return message(list(violations(read(params, shape), shape)))


def variant(**members: Any) -> dict[str, Any]:
    return {"EndpointConfigName": "c", "ProductionVariants": [{"VariantName": "v", "ModelName": "m", **members}]}


def test_the_error_of_a_bad_name_has_awss_text(sagemaker: ServiceModel) -> None:
    text = said({"EndpointName": "-x"}, sagemaker.operation_model("DescribeEndpoint").input_shape)
    assert text == (
        "1 validation error detected: Value '-x' at 'endpointName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
    )


@pytest.mark.parametrize(
    ("members", "where", "constraint"),
    [
        ({"InitialInstanceCount": -1}, "initialInstanceCount", "Member must have value greater than or equal to 1"),
        ({"InitialVariantWeight": -0.5}, "initialVariantWeight", "Member must have value greater than or equal to 0"),
        ({"InitialVariantWeight": "NaN"}, "initialVariantWeight", "Member must have value greater than or equal to 0"),
        ({"InitialVariantWeight": "Infinity"}, "initialVariantWeight", "Member must have value less than or equal to"),
        ({"InitialVariantWeight": 10**400}, "initialVariantWeight", "Member must have value less than or equal to"),
        ({"InstanceType": "ml.huge"}, "instanceType", "Member must satisfy enum value set: [ml.t2.medium"),
        ({"VariantName": ""}, "variantName", "Member must satisfy regular expression pattern"),
        ({"ModelName": "m" * 64}, "modelName", "Member must have length less than or equal to 63"),
        ({"ServerlessConfig": {}}, "serverlessConfig.maxConcurrency", "Member must not be null"),
    ],
)
def test_a_validation_error_of_a_variant_names_its_place(
    sagemaker: ServiceModel, members: dict[str, Any], where: str, constraint: str
) -> None:
    text = said(variant(**members), sagemaker.operation_model("CreateEndpointConfig").input_shape)
    assert f"at 'productionVariants.1.member.{where}' failed to satisfy constraint: {constraint}" in text


def test_several_errors_are_counted(sagemaker: ServiceModel) -> None:
    text = said({"ProductionVariants": []}, sagemaker.operation_model("CreateEndpointConfig").input_shape)
    assert text.startswith("2 validation errors detected: Value null at 'endpointConfigName'")
    assert "; Value '[]' at 'productionVariants' failed" in text


def test_tags_may_hold_letters_of_any_script_but_no_newline(sagemaker: ServiceModel) -> None:
    shape = sagemaker.operation_model("AddTags").input_shape
    arn = "arn:aws:sagemaker:us-east-1:123456789012:model/a"
    assert not list(violations({"ResourceArn": arn, "Tags": [{"Key": "größe", "Value": "大 1"}]}, shape))
    assert list(violations({"ResourceArn": arn, "Tags": [{"Key": "a\n", "Value": ""}]}, shape))


@pytest.mark.parametrize("end", ["\n", "\r", "\u0085", "\u2028", "\u2029"])
def test_a_dot_of_java_matches_no_end_of_a_line(sagemaker: ServiceModel, end: str) -> None:
    """Such a value becomes a header of requests."""
    shape = sagemaker.operation_model("CreateTransformJob").input_shape.members["TransformInput"].members["ContentType"]
    assert not list(violations("text/csv; charset=utf-8", shape))
    assert list(violations(f"text/csv{end}X: 1", shape))


def test_environment_keys_and_values_are_checked(sagemaker: ServiceModel) -> None:
    shape = sagemaker.operation_model("CreateModel").input_shape
    text = said({"ModelName": "m", "PrimaryContainer": {"Environment": {"bad key": "x" * 1025}}}, shape)
    assert "Map keys must satisfy constraint" in text
    assert "primaryContainer.environment.bad key.member" in text


def test_the_names_of_all_resources_have_patterns_that_python_reads(sagemaker: ServiceModel) -> None:
    unread = []
    for name in sagemaker.shape_names:
        pattern = sagemaker.shape_for(name).metadata.get("pattern", "")
        for java, python in JAVA_PATTERNS.items():
            pattern = pattern.replace(java, python)
        try:
            re.compile(pattern)
        except re.error:
            unread.append(name)
    hosting = ("Model", "Endpoint", "Variant", "Tag", "Container", "Environment", "Production", "Image", "Url", "Arn")
    assert len(unread) < 10
    assert [name for name in unread if name.startswith(hosting)] == ["ModelPackageSourceUri"]


def test_cloudwatch_names_a_missing_parameter_in_its_own_way(cloudwatch: ServiceModel) -> None:
    operation = cloudwatch.operation_model("PutMetricData")
    error = refusal(list(violations({"MetricData": [{"MetricName": "m"}]}, operation.input_shape)), operation)
    assert (error.code, error.message) == ("MissingParameter", "The parameter Namespace is required.")
    error = refusal(list(violations({"Namespace": ":"}, operation.input_shape)), operation)
    assert error.code == "ValidationError"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=40, deadline=None)  # the shape is large
@given(st.data())
def test_any_input_is_read_or_refused(sagemaker: ServiceModel, data: st.DataObject) -> None:
    shape = sagemaker.operation_model("CreateEndpointConfig").input_shape
    params = {name: data.draw(json_values) for name in shape.members}
    found = outcome(lambda: list(violations(read(params, shape), shape)))
    if isinstance(found, AwsError):
        assert found.code == "SerializationException"
    else:
        assert message(found).startswith(f"{len(found)} validation error")


def test_the_error_of_a_list_names_its_size_and_not_its_members(sagemaker: ServiceModel) -> None:
    variants = [{"VariantName": "v", "ModelName": "secret"}] * 11
    params = {"EndpointConfigName": "c", "ProductionVariants": variants}
    text = said(params, sagemaker.operation_model("CreateEndpointConfig").input_shape)
    assert "Value '[11 items]' at 'productionVariants' failed to satisfy constraint" in text
    assert "secret" not in text
