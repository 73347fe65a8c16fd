"""Every header of InvokeEndpoint, in both directions, through boto3."""

import json
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many
from tests.endpoint.helpers.model_artifacts import ROW, predicted, put, script
from tests.endpoint.services.helpers.runtime_answers import code_and_status, raw, refusal

TALKING = """
def model_fn(model_dir):
    return None
def transform_fn(model, body, content_type, accept, context):
    asked = context.get_request_header(0, "X-Amzn-SageMaker-Custom-Attributes")
    context.set_response_header(0, "X-Amzn-SageMaker-Custom-Attributes", f"heard={asked}")
    return "ok", "text/plain"
"""


def echoed(live: LiveEndpoint, endpoint: str, **request: Any) -> Any:
    answer = live.invoke(endpoint, ROW, TargetModel="echo.tar.gz", **request)
    return {**json.loads(answer["Body"]), "answered": answer["ContentType"]}


def test_content_type_and_accept_reach_the_model(live: LiveEndpoint, houses: str) -> None:
    echo = echoed(live, houses, content_type="text/csv; charset=utf-8", Accept="text/csv;q=0.9")
    assert echo["content_type"] == "text/csv; charset=utf-8"
    assert echo["accept"] == echo["answered"] == "text/csv;q=0.9"


def test_a_caller_who_names_no_types_gets_the_defaults(live: LiveEndpoint, houses: str) -> None:
    answer = live.runtime.invoke_endpoint(EndpointName=houses, Body=ROW, TargetModel="good.json")
    assert answer["ContentType"].startswith("application/json")
    assert json.loads(answer["Body"].read()) == [pytest.approx(predicted())]


@pytest.mark.parametrize(("accept", "expected"), [("text/csv", f"{predicted():.5}"), ("application/json", "[")])
def test_the_answer_is_of_the_type_that_was_accepted(
    live: LiveEndpoint, houses: str, accept: str, expected: str
) -> None:
    answer = live.invoke(houses, ROW, TargetModel="good.json", Accept=accept)
    assert answer["ContentType"].startswith(accept)
    assert answer["Body"].decode().startswith(expected)


def test_custom_attributes_reach_the_script_and_return(live: LiveEndpoint, houses: str) -> None:
    put(live.folder("houses"), {"models/talking.tar.gz": script(TALKING)})
    answer = live.invoke(houses, ROW, TargetModel="talking.tar.gz", CustomAttributes="trace=7; user=me")
    assert answer["CustomAttributes"] == "heard=trace=7; user=me"


def test_custom_attributes_are_returned_only_if_the_model_sets_them(live: LiveEndpoint, houses: str) -> None:
    answer = live.invoke(houses, ROW, TargetModel="echo.tar.gz", CustomAttributes="trace=7", InferenceId="id-1")
    assert "CustomAttributes" not in answer


def test_custom_attributes_of_a_call_do_not_reach_the_next_call(live: LiveEndpoint, houses: str) -> None:
    put(live.folder("houses"), {"models/talking.tar.gz": script(TALKING)})
    live.invoke(houses, ROW, TargetModel="talking.tar.gz", CustomAttributes="secret")
    assert live.invoke(houses, ROW, TargetModel="talking.tar.gz")["CustomAttributes"] == "heard=None"


@pytest.mark.parametrize("target", ["good.json", "/good.json", "good.tar.gz"])
def test_a_target_is_one_model_however_it_is_written(live: LiveEndpoint, houses: str, target: str) -> None:
    answer = live.invoke(houses, ROW, TargetModel=target)
    assert json.loads(answer["Body"]) == [pytest.approx(predicted())]


def test_a_target_may_lie_deep_and_have_any_letters(live: LiveEndpoint, houses: str) -> None:
    answer = live.invoke(houses, ROW, TargetModel="deep/er/Zürich.tar.gz")
    assert json.loads(answer["Body"]) == [pytest.approx(predicted(2.0))]


def test_the_variant_that_answered_is_named(live: LiveEndpoint, models: str) -> None:
    all_to_a = (
        Variant(many(models), "A", {"InstanceType": "ml.m5.large", "InitialVariantWeight": 1.0}),
        Variant(many(models), "B", {"InstanceType": "ml.m5.large", "InitialVariantWeight": 0.0}),
    )
    live.deploy("Split", *all_to_a)
    answers = [live.invoke("Split", ROW, TargetModel="good.json") for _ in range(20)]
    assert {answer["InvokedProductionVariant"] for answer in answers} == {"A"}
    aimed = live.invoke("Split", ROW, TargetModel="good.json", TargetVariant="B")  # AWS: it overrides the weights
    assert aimed["InvokedProductionVariant"] == "B"


def test_traffic_is_split_by_the_weights(live: LiveEndpoint, models: str) -> None:
    members = {"InstanceType": "ml.m5.large", "InitialVariantWeight": 1.0}
    live.deploy("Even", Variant(many(models), "A", members), Variant(many(models), "B", members))
    answers = [live.invoke("Even", ROW, TargetModel="good.json")["InvokedProductionVariant"] for _ in range(100)]
    assert 20 < answers.count("A") < 80  # it misses this once in a billion runs


TOO_LONG = {
    "CustomAttributes": "x" * 1025,
    "InferenceId": "x" * 65,
    "TargetVariant": "x" * 64,
    "Accept": "x" * 1025,
    "TargetContainerHostname": "x" * 64,
    "InferenceComponentName": "x" * 64,
    "SessionId": "x" * 257,
    "PrefixAwareId": "x" * 65,
    "EnableExplanations": "x" * 65,
}


@pytest.mark.parametrize("member", TOO_LONG)
def test_a_header_that_is_too_long_is_refused_by_its_name(live: LiveEndpoint, houses: str, member: str) -> None:
    response = refusal(lambda: live.invoke(houses, ROW, TargetModel="good.json", **{member: TOO_LONG[member]}))
    assert code_and_status(response) == ("ValidationError", 400)
    path = member[:1].lower() + member[1:]
    longest = len(TOO_LONG[member]) - 1
    assert response["Error"]["Message"].endswith(
        f" at '{path}' failed to satisfy constraint: Member must have length less than or equal to {longest}"
    )


def test_explanations_are_refused_without_an_explainer(live: LiveEndpoint, houses: str) -> None:
    asked = {"EnableExplanations": "`true`"}
    response = refusal(lambda: live.invoke(houses, ROW, TargetModel="good.json", **asked))
    assert code_and_status(response) == ("ValidationError", 400)
    assert "EnableExplanations" in response["Error"]["Message"]


def test_an_answer_has_the_headers_of_the_api_and_no_others(live: LiveEndpoint, houses: str) -> None:
    _, headers, _ = raw(f"{live.url}/endpoints/{houses}/invocations", ROW, x_amzn_sagemaker_target_model="good.json")
    assert set(headers) <= {
        "content-type",
        "content-length",
        "date",
        "server",
        "server-timing",
        "x-amzn-invoked-production-variant",
        "x-amzn-requestid",
    }
