"""The live endpoint of a confirmation: one that is started for it, of exactly the plan's configuration, or one that
runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torpor.calling.connection import EndpointConnection
from torpor.errors import EndpointRefused, TorporError
from torpor.hosting.endpoint_deployment import EndpointPlan, deploy
from torpor.hosting.endpoint_options import BUCKET
from torpor.hosting.endpoint_process import ChildEndpoint, Start
from torpor.hosting.model_copies import copy_models
from torpor.pages import clock, state
from torpor.replay.target import Target
from torpor.simulator.scenario import ENVIRONMENT, MEMORY, Scenario

NAME = "confirmed"
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
def started(scenario: Scenario, models: Path) -> Iterator[ConfirmingEndpoint]:
    """An endpoint over the artifacts of a folder, for the block. A variant that may sleep is asleep at its beginning,
    as in a simulation. Raises TorporError for a scenario that cannot be started so, and EndpointFailed."""
    if why := _not_started(scenario):
        raise TorporError(f"{why}: deploy it yourself, and name it with endpoint= (--endpoint)")
    with ChildEndpoint(Start(travelling_clock=True)) as process:
        copy_models(models, process.bucket_folder(BUCKET) / NAME)
        process.until_ready()
        deploy(process.client("sagemaker"), _deployment(scenario))
        found = ConfirmingEndpoint(process.connection, Target(process.connection, NAME), True)
        if scenario.sleeps:
            _until_asleep(found, scenario)
        yield found


def running(connection: EndpointConnection, name: str, scenario: Scenario) -> ConfirmingEndpoint:
    """An endpoint that runs. Raises TorporError if its configuration is not the plan's, and botocore's ClientError."""
    sagemaker = connection.client("sagemaker")
    config = sagemaker.describe_endpoint(EndpointName=name)["EndpointConfigName"]
    variants = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    if len(variants) != 1:
        raise TorporError(f"endpoint {name} has {len(variants)} variants, and a plan has one")
    model = sagemaker.describe_model(ModelName=variants[0]["ModelName"])
    if other := list(differences(scenario, variants[0], model)):
        raise TorporError(f"endpoint {name} is not of the plan's configuration: {'; '.join(other)}")
    return ConfirmingEndpoint(connection, Target.found(connection, name), _movable(connection))


def differences(scenario: Scenario, variant: Mapping[str, Any], model: Mapping[str, Any]) -> Iterator[str]:
    """What differs between the scenario and a variant with its model, as SageMaker's API describes them."""
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
    if scenario.containers:
        return "the plan is a pipeline, whose other containers are not known here"
    if scenario.asynchronous:
        return "the plan is asynchronous, and a confirmation sends requests that wait for their answers"
    if not scenario.model_cache:
        return "the plan has no model cache"
    if scenario.memory_bytes is not None:
        return "the plan gives models a room (memory_bytes) that no instance has"
    return ""


def _deployment(scenario: Scenario) -> EndpointPlan:
    scaled = scenario.scaled
    return EndpointPlan(
        NAME,
        f"s3://{BUCKET}/{NAME}/",
        scenario.environment(),
        scenario.instance_type,
        1 if scaled else scenario.instances,
        serverless=scenario.variant().get("ServerlessConfig"),
        instances_min=scaled.floor if scaled else None,
        instances_max=scaled.ceiling if scaled else None,
    )


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
