from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.account.aws.helpers.refusals import outcome
from tests.helpers.example_counts import tries
from torpor_account.aws.errors import AwsError
from torpor_account.aws.java_patterns import Untranslatable, translated
from torpor_account.aws.service import refusal
from torpor_account.aws.validation import message, violations
from torpor_account.aws.wire.parameter_reading import read


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


def test_of_a_map_aws_names_every_constraint_of_its_keys_once_and_of_its_values_once(sagemaker: ServiceModel) -> None:
    shape = sagemaker.operation_model("CreateModel").input_shape
    text = said({"ModelName": "m", "PrimaryContainer": {"Environment": {"a b": "x" * 1025, "c d": "x" * 1025}}}, shape)
    assert text == (
        "2 validation errors detected: Value '{2 members}' at 'primaryContainer.environment' failed to satisfy "
        "constraint: Map keys must satisfy constraint: [Member must have length less than or equal to 1024, Member "
        "must have length greater than or equal to 0, Member must satisfy regular expression pattern: "
        "[a-zA-Z_][a-zA-Z0-9_]*]; Value '{2 members}' at "
        "'primaryContainer.environment' failed to satisfy constraint: Map value must satisfy constraint: [Member must "
        "have length less than or equal to 1024, Member must have length greater than or equal to 0, Member must "
        r"satisfy regular expression pattern: [\S\s]*]"
    )


def test_of_a_list_of_texts_aws_names_the_list(sagemaker: ServiceModel) -> None:
    shape = sagemaker.operation_model("DeleteTags").input_shape
    arn = "arn:aws:sagemaker:us-east-1:123456789012:model/a"
    assert (
        "Value '[a, !]' at 'tagKeys' failed to satisfy constraint: Member must satisfy constraint: [Member must have"
        in (said({"ResourceArn": arn, "TagKeys": ["a", "!"]}, shape))
    )


def test_the_value_of_a_sensitive_member_is_not_repeated() -> None:
    sts = ServiceModel(Loader().load_service_model("sts", "service-2"), "sts")
    shape = sts.operation_model("AssumeRoleWithWebIdentity").input_shape.members["WebIdentityToken"]
    assert (
        said({"WebIdentityToken": "abc"}, sts.operation_model("AssumeRoleWithWebIdentity").input_shape).count("abc")
        == 0
    )
    assert shape.metadata["sensitive"]


def test_every_pattern_of_the_service_can_be_translated(sagemaker: ServiceModel) -> None:
    patterns = {sagemaker.shape_for(name).metadata.get("pattern", "") for name in sagemaker.shape_names}
    for pattern in patterns:
        translated(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "taken"),
    [
        (r"[\w+=,.@-]+", "größe", False),  # Java's \w is of ASCII, and so is \d
        (r"\d+", "\u0663", False),
        (r"[\p{L}]+", "größe大", True),
        (r"[\p{L}]+", "a1", False),
        (r"\p{N}", "\u00b2", True),
        (r"\A\S[\p{Print}]*\z", "a b", True),
        (r"\A\S[\p{Print}]*\z", "a\u00e9", False),
        (r"\p{ASCII}*", "é", False),
        (r"[\S\s]*", "a\n é", True),
        (r".+", "a\u2028", False),
        (r"a$", "a\n", False),  # it must be the whole text
    ],
)
def test_a_pattern_means_what_it_means_in_java(pattern: str, text: str, taken: bool) -> None:
    assert (translated(pattern).fullmatch(text) is not None) is taken


@pytest.mark.parametrize("pattern", [r"[a-z&&[^b]]", r"[\P{L}]", r"\p{Greek}", "(?<"])
def test_a_pattern_that_cannot_be_translated_is_told(pattern: str) -> None:
    with pytest.raises(Untranslatable):
        translated(pattern)


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


@settings(max_examples=tries(16), deadline=None)  # the shape is large
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
