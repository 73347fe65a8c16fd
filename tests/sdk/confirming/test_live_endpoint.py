"""Whether an endpoint that runs is of a plan's configuration, as SageMaker's API describes it."""

from pathlib import Path
from typing import Any

import pytest

from torpor.confirming.live_endpoint import differences, running, started
from torpor.errors import TorporError
from torpor.simulator.scenario import Scenario
from torpor.workloads.profile import ContainerProfile
from torpor_endpoint.core.resource_records import Serverless

SERVERLESS = Scenario(serverless=Serverless(2048, 5))
ASLEEP = Scenario(instances_min=0, instances_max=2, idle_s=60.0, policy="GDSF", memory_mib=512.0)


def described(scenario: Scenario, **environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return scenario.variant(), {"PrimaryContainer": {"Environment": {**scenario.environment(), **environment}}}


@pytest.mark.parametrize("scenario", [Scenario(), Scenario(instances=3), ASLEEP, SERVERLESS])
def test_what_a_plan_deploys_is_of_its_configuration(scenario: Scenario) -> None:
    assert list(differences(scenario, *described(scenario, OTHER="1"))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance_type": "ml.c5.large", "memory_mib": 512.0}, "InstanceType is ml.c5.large, and ml.m5.large in the"),
        ({"instances_max": 3}, "ManagedInstanceScaling is {'Status': 'ENABLED', 'MinInstanceCount': 0, 'MaxInst"),
        ({"policy": "LRU"}, "TORPOR_POLICY is None, and GDSF in the plan"),
        ({"idle_s": 90.0}, "TORPOR_IDLE_SECONDS is 90, and 60 in the plan"),
        ({"memory_mib": 64.0}, "TORPOR_MEMORY_MIB is 64, and 512 in the plan"),
    ],
)
def test_each_other_setting_is_named(changes: dict[str, Any], said: str) -> None:
    [found] = differences(ASLEEP, *described(ASLEEP.altered(**changes)))
    assert found.startswith(said)


def test_a_queue_is_compared_too() -> None:
    queued = ASLEEP.altered(asynchronous=True)
    assert list(differences(queued, *described(queued), {"OutputConfig": {}})) == []
    [lacks] = differences(queued, *described(queued))
    assert lacks == "it is not asynchronous, and asynchronous in the plan"
    [has] = differences(ASLEEP, *described(ASLEEP), {"OutputConfig": {}})
    assert has == "it is asynchronous, and not asynchronous in the plan"


PIPELINE = Scenario(containers=(ContainerProfile("scale"), ContainerProfile("predict", models=True)))


@pytest.mark.parametrize(
    ("scenario", "containers", "said"),
    [
        (PIPELINE, {}, "name the artifact of its container scale \\(containers=, --container scale=FILE\\)"),
        (PIPELINE, {"scale": "here", "rank": "here"}, "the plan has no container rank: it has scale"),
        (PIPELINE, {"scale": "gone"}, "containers: gone is no file"),
        (Scenario(), {"scale": "here"}, "the plan has no container scale: it has none beside the one with the models"),
    ],
)
def test_a_pipelines_other_containers_need_their_artifacts(
    scenario: Scenario, containers: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").touch()
    given = {name: Path(path) for name, path in containers.items()}
    with pytest.raises(TorporError, match=said), started(scenario, tmp_path, given):
        pass


def test_a_number_of_instances_is_compared_where_nothing_scales() -> None:
    [found] = differences(Scenario(instances=2), *described(Scenario(instances=3)))
    assert found == "InitialInstanceCount is 3, and 2 in the plan"


class ComponentsOnly:
    """SageMaker's API, as far as it describes an endpoint for inference components."""

    def client(self, service: str) -> "ComponentsOnly":
        return self

    def describe_endpoint(self, **asked: str) -> dict[str, Any]:
        return {"EndpointConfigName": "config"}

    def describe_endpoint_config(self, **asked: str) -> dict[str, Any]:
        return {"ProductionVariants": [{"VariantName": "AllTraffic", "InstanceType": "ml.m5.large"}]}


def test_an_endpoint_for_components_is_refused() -> None:
    with pytest.raises(TorporError, match="endpoint of-components is for inference components"):
        running(ComponentsOnly(), "of-components", Scenario())  # type: ignore[arg-type]
