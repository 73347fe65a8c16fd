"""Experiments on a real endpoint: copies, captured data, promotion, and a process that is killed meanwhile."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.endpoint.helpers.constant_models import constant, number_of
from tests.endpoint.helpers.live_endpoint import LiveEndpoint, Variant, one
from tests.endpoint.helpers.model_artifacts import put
from tests.endpoint.services.helpers.in_memory_experiments import experiment as members
from tests.endpoint.services.helpers.in_memory_experiments import sampled, variant
from tests.endpoint.services.helpers.variant_metrics import summed
from tests.helpers.waiting import soon, until


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveEndpoint]:
    """An endpoint of its own, since a test kills it."""
    with LiveEndpoint(tmp_path_factory.mktemp("experiments")) as endpoint:
        put(endpoint.folder("experiments"), {"one.tar": constant(1.0), "two.tar": constant(2.0)})
        yield endpoint


def experiment(live: LiveEndpoint, endpoint: str, **more: Any) -> str:
    """An experiment on an endpoint that answers 1. Its shadow answers 2, and gets every request."""
    live.deploy(endpoint, Variant(one("experiments/one.tar"), "Old"))
    live.sagemaker.create_model(ModelName=f"{endpoint}-New", PrimaryContainer=one("experiments/two.tar"))
    live.sagemaker.create_inference_experiment(
        **members(
            Name=endpoint,
            EndpointName=endpoint,
            ModelVariants=[variant("Old", f"{endpoint}-Old"), variant("New", f"{endpoint}-New")],
            ShadowModeConfig=sampled(100),
            **more,
        )
    )
    reaches(live, endpoint, "Running")
    return endpoint


def reaches(live: LiveEndpoint, name: str, status: str) -> dict[str, Any]:
    def described() -> Any:
        found = live.sagemaker.describe_inference_experiment(Name=name)
        return found if found["Status"] == status else None

    return dict(until(described, 30.0, 0.05))


def captured(live: LiveEndpoint, variant_name: str) -> list[str]:
    """What the model of this variant answered."""
    files = live.folder("experiments").glob(f"data/*/{variant_name}/**/*.jsonl")
    records = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [record["captureData"]["endpointOutput"]["data"].strip() for record in records]


def test_a_shadow_test_from_its_start_to_the_promotion(live: LiveEndpoint) -> None:
    storage = {"Destination": "s3://experiments/data", "ContentType": {"CsvContentTypes": ["text/csv"]}}
    name = experiment(live, "Trial", DataStorageConfig=storage)
    for _ in range(3):
        answer = live.invoke(name, b"1")
        assert (number_of(answer), answer["InvokedProductionVariant"]) == (1.0, "Old")
    assert soon(lambda: summed(live, name, "New", "Invocations") == 3)
    live.sagemaker.stop_inference_experiment(Name=name, ModelVariantActions={"Old": "Remove", "New": "Promote"})
    reaches(live, name, "Completed")
    answer = live.invoke(name, b"1")
    assert (number_of(answer), answer["InvokedProductionVariant"]) == (2.0, "New")
    live.sagemaker.delete_endpoint(EndpointName=name)  # its files are sent before it goes
    assert soon(lambda: (captured(live, "Old"), captured(live, "New")) == (["1.0"] * 3, ["2.0"] * 3), 60)


@pytest.mark.thorough
def test_a_running_experiment_survives_a_kill(live: LiveEndpoint) -> None:
    name = experiment(live, "Killed")
    live.kill()
    live.start()
    assert number_of(live.invoke(name, b"1")) == 1.0
    assert soon(lambda: summed(live, name, "New", "Invocations") == 1, 60)
    assert reaches(live, name, "Running")["ModelVariants"][1]["Status"] == "InService"
    live.sagemaker.stop_inference_experiment(Name=name, ModelVariantActions={"Old": "Retain", "New": "Remove"})
    reaches(live, name, "Completed")
    described = live.settled(name)
    assert ("ShadowProductionVariants" in described, described["EndpointConfigName"]) == (False, name)
