"""The live endpoint of a confirmation: one that is started for it, of exactly the plan's configuration, or one that
runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copy
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, TorporError
from torpor.hosting.endpoint_deployment import IMAGE, EndpointPlan, deploy
from torpor.hosting.endpoint_options import BUCKET
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.model_copies import copy_models
from torpor.pages import clock, state
from torpor.replay.target import Target
from torpor.simulator.scenario import ENVIRONMENT, MEMORY, Scenario

NAME, CONTAINERS, RESULTS = "confirmed", "containers", "results"
ASLEEP_TRIES = 5
BESIDE_IDLE_S = 120.0


@dataclass(frozen=True)
class ConfirmingEndpoint:
    """An endpoint of the plan's configuration. `movable`: its clock can be moved over quiet times."""

    connection: EndpointConnection
    target: Target
    movable: bool

    @property
    def name(self) -> str:
        return self.target.endpoint

    def now_s(self) -> float:
        return clock.now_s(self.connection)

    def ready(self) -> int:
        """The number of its instances that take requests."""
        return sum(sum(1 for _ in one.instances) for one in state.endpoints(self.connection) if one.name == self.name)


@contextmanager
def started(
    scenario: Scenario,
    models: Path,
    containers: Mapping[str, Path] = {},
    first: Callable[[ConfirmingEndpoint, Path], None] | None = None,
) -> Iterator[ConfirmingEndpoint]:
    """An endpoint over the artifacts of a folder, for the block. A variant that may sleep is asleep at its beginning,
    as in a simulation. `containers` has the artifacts of a pipeline's other containers, by their names; `first` is
    called before it sleeps, with the folder of the models. Raises TorporError for a scenario that cannot be started so,
    and EndpointFailed."""
    if why := _not_started(scenario):
        raise TorporError(f"{why}: deploy it yourself, and name it with endpoint= (--endpoint)")
    _check_containers(scenario, containers)
    with ChildEndpoint(Start(travelling_clock=True)) as process:
        copy_models(models, process.bucket_folder(BUCKET) / NAME)
        process.until_ready()
        for name, artifact in containers.items():
            kept = process.bucket_folder(BUCKET) / CONTAINERS / name
            kept.mkdir(parents=True)
            copy(artifact, kept)
        deploy(process.client("sagemaker"), _deployment(scenario, containers))
        target = Target(process.connection, NAME, asynchronous=scenario.asynchronous)
        found = ConfirmingEndpoint(process.connection, target, True)
        if first is not None:
            first(found, process.bucket_folder(BUCKET) / NAME)
        if scenario.sleeps:
            _until_asleep(found, scenario)
        yield found


def running(connection: EndpointConnection, name: str, scenario: Scenario) -> ConfirmingEndpoint:
    """An endpoint that runs. Raises TorporError if its configuration is not the plan's, and botocore's ClientError."""
    sagemaker = connection.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
    described = sagemaker.describe_endpoint_config(EndpointConfigName=config)
    variants = described["ProductionVariants"]
    if len(variants) != 1:
        raise TorporError(f"endpoint {name} has {len(variants)} variants, and a plan has one")
    if "ModelName" not in variants[0]:
        raise TorporError(f"endpoint {name} is for inference components, and a plan is confirmed on one with a model")
    model = sagemaker.describe_model(ModelName=variants[0]["ModelName"])
    if other := list(differences(scenario, variants[0], model, described.get("AsyncInferenceConfig"))):
        raise TorporError(f"endpoint {name} is not of the plan's configuration: {'; '.join(other)}")
    return ConfirmingEndpoint(connection, Target.found(connection, name), _movable(connection))


def differences(
    scenario: Scenario,
    variant: Mapping[str, Any],
    model: Mapping[str, Any],
    asynchronous: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """What differs between the scenario and a variant with its model and its AsyncInferenceConfig, as SageMaker's API
    describes them."""
    if (asynchronous is not None) != scenario.asynchronous:
        kinds = {True: "asynchronous", False: "not asynchronous"}
        yield f"it is {kinds[asynchronous is not None]}, and {kinds[scenario.asynchronous]} in the plan"
    wanted = scenario.variant()
    members = ["InstanceType", "ManagedInstanceScaling", "ServerlessConfig"]
    if scenario.scaled is None:
        members.append("InitialInstanceCount")
    for member in members:
        if variant.get(member) != wanted.get(member):
            yield f"{member} is {variant.get(member)}, and {wanted.get(member)} in the plan"
    containers = model.get("Containers") or [model["PrimaryContainer"]]
    place = next((number for number, one in enumerate(scenario.containers) if one.models), 0)
    if len(containers) != max(1, len(scenario.containers)):
        yield f"it has {len(containers)} containers, and {max(1, len(scenario.containers))} in the plan"
        return
    has, planned = containers[place].get("Environment", {}), scenario.environment()
    for variable in (*ENVIRONMENT.values(), MEMORY):
        if has.get(variable) != planned.get(variable):
            yield f"{variable} is {has.get(variable)}, and {planned.get(variable)} in the plan"


def _not_started(scenario: Scenario) -> str:
    """Why an endpoint of this scenario is not started here; empty if it is."""
    if not scenario.model_cache:
        return "the plan has no model cache"
    if scenario.memory_bytes is not None:
        return "the plan gives models a room (memory_bytes) that no instance has"
    return ""


def _check_containers(scenario: Scenario, containers: Mapping[str, Path]) -> None:
    """Raises TorporError unless each of the pipeline's other containers has its artifact."""
    others = {one.name for one in scenario.containers if not one.models}
    if lacking := sorted(others - containers.keys()):
        told = f"the plan is a pipeline: name the artifact of its container {lacking[0]}"
        raise TorporError(f"{told} (containers=, --container {lacking[0]}=FILE), or an endpoint that runs")
    if unknown := sorted(containers.keys() - others):
        has = ", ".join(sorted(others)) or "none beside the one with the models"
        raise TorporError(f"containers: the plan has no container {unknown[0]}: it has {has}")
    if missing := [path for path in containers.values() if not path.is_file()]:
        raise TorporError(f"containers: {missing[0]} is no file")


def _deployment(scenario: Scenario, containers: Mapping[str, Path]) -> EndpointPlan:
    scaled = scenario.scaled
    names = [one.name for one in scenario.containers]
    place = next((number for number, one in enumerate(scenario.containers) if one.models), 0)
    others = [
        {
            "ContainerHostname": name,
            "Image": IMAGE,
            "ModelDataUrl": f"s3://{BUCKET}/{CONTAINERS}/{name}/{containers[name].name}",
        }
        for name in names
        if name in containers
    ]
    return EndpointPlan(
        NAME,
        f"s3://{BUCKET}/{NAME}/",
        scenario.environment(),
        scenario.instance_type,
        1 if scaled else scenario.instances,
        serverless=scenario.variant().get("ServerlessConfig"),
        instances_min=scaled.floor if scaled else None,
        instances_max=scaled.ceiling if scaled else None,
        asynchronous=_queue(scenario) if scenario.asynchronous else None,
        hostname=names[place] if names else "",
        before=others[:place],
        after=others[place:],
    )


def _queue(scenario: Scenario) -> dict[str, Any]:
    at_once = {"MaxConcurrentInvocationsPerInstance": scenario.concurrency}
    return {"OutputConfig": {"S3OutputPath": f"s3://{BUCKET}/{RESULTS}"}, "ClientConfig": at_once}


def _until_asleep(endpoint: ConfirmingEndpoint, scenario: Scenario) -> None:
    for _ in range(ASLEEP_TRIES):
        clock.advance(endpoint.connection, scenario.idle_s + BESIDE_IDLE_S)
        if not endpoint.ready():
            return
    raise TorporError(f"the endpoint did not fall asleep within {ASLEEP_TRIES} times its keep-alive")


def _movable(connection: EndpointConnection) -> bool:
    try:
        clock.state(connection)
    except EndpointRefused:
        return False
    return True
