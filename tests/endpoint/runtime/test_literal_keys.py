"""S3's keys are literal, and so are the models that they name: empty segments, slashes at either end, any character."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, many, one
from tests.endpoint.helpers.model_artifacts import ROW, booster, packed, predicted
from tests.endpoint.services.helpers.runtime_answers import refusal

KEYS = ("/lead/job.tar.gz", "out//job/model.tar.gz")


@pytest.fixture(scope="module")
def s3(live: LiveEndpoint) -> Iterator[Any]:
    client = live.client("s3")
    client.create_bucket(Bucket="literal")
    yield client
    client.close()


def put(s3: Any, key: str, factor: float = 1.0) -> None:
    s3.put_object(Bucket="literal", Key=key, Body=packed({"xgboost-model": booster(factor)}))


def answered(live: LiveEndpoint, endpoint: str, **members: Any) -> float:
    return float(live.invoke(endpoint, ROW, Accept="text/csv", **members)["Body"].decode().strip("[]\n"))


@pytest.mark.parametrize("key", KEYS)
def test_a_model_is_served_from_the_exact_key_of_its_url(live: LiveEndpoint, s3: Any, key: str) -> None:
    put(s3, key)
    put(s3, key.replace("//", "/").lstrip("/"), factor=2.0)
    name = live.deploy(f"Literal{KEYS.index(key)}", Variant(one(f"literal/{key}")))
    assert answered(live, name) == pytest.approx(predicted())
    live.sagemaker.delete_endpoint(EndpointName=name)


@pytest.fixture(scope="module")
def endpoint(live: LiveEndpoint, s3: Any) -> str:
    return live.deploy("LiteralMany", Variant(many("literal/a//models")))


@pytest.mark.parametrize(
    ("target", "key"),
    [
        ("m.tar.gz", "a//models/m.tar.gz"),
        ("c//m.tar.gz", "a//models/c//m.tar.gz"),
        ("//m.tar.gz", "a//models//m.tar.gz"),
        ("folder/", "a//models/folder/"),
        ("a b+c%2Fd%20é.tar.gz", "a//models/a b+c%2Fd%20é.tar.gz"),
        ("e\u0301.tar.gz", "a//models/e\u0301.tar.gz"),
        ("\u00e9.tar.gz", "a//models/\u00e9.tar.gz"),
        ("x" * 300, f"a//models/{'x' * 300}"),
    ],
)
def test_a_target_is_the_rest_of_its_key(live: LiveEndpoint, s3: Any, endpoint: str, target: str, key: str) -> None:
    factor = 1.0 + 2.0 * len(key) / 1024
    put(s3, key, factor)
    for _ in ("cold", "warm"):
        assert answered(live, endpoint, TargetModel=target) == pytest.approx(predicted(factor))


@pytest.mark.parametrize("target", ["../m.tar.gz", "a/../../m.tar.gz", "a//../m.tar.gz", "./m.tar.gz", "/../m.tar.gz"])
def test_no_target_leaves_its_prefix(live: LiveEndpoint, s3: Any, endpoint: str, target: str) -> None:
    put(s3, "a//m.tar.gz")
    error = refusal(lambda: live.invoke(endpoint, ROW, TargetModel=target))["Error"]
    assert (error["Code"], "'.' or '..' segment" in error["Message"]) == ("ValidationError", True)


@pytest.mark.parametrize("target", ["%2e%2e/m.tar.gz", "..\\m.tar.gz", "..%2fm.tar.gz", "a//..\\..\\m.tar.gz"])
def test_a_target_that_only_looks_like_an_escape_is_a_literal_key(
    live: LiveEndpoint, s3: Any, endpoint: str, target: str
) -> None:
    error = refusal(lambda: live.invoke(endpoint, ROW, TargetModel=target))["Error"]
    assert f"key: a//models/{target})" in error["Message"]
