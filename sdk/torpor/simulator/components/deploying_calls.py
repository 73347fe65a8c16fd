"""The calls of boto3 that deploy a scenario of inference components. It calls nothing."""

from collections.abc import Sequence
from itertools import chain, count
from json import dumps
from math import ceil
from re import sub
from textwrap import indent
from typing import Any, Final

from torpor.simulator.components.component_scenario import ComponentScenario
from torpor.simulator.components.component_setup import ComponentSetup
from torpor.time_units import MINUTE_S
from torpor_endpoint.core.resource_records import ScaleIn, ScaleInStrategy

NAME_MAX: Final = 63
NOT_HELD_ON_AWS = "AWS fails requests for a component without copies: this is for a Torpor endpoint, which holds them"


def endpoint_variant(scenario: ComponentScenario) -> dict[str, Any]:
    """The member of `ProductionVariants`, for `create_endpoint_config`. It names no model."""
    made: dict[str, Any] = {"VariantName": "AllTraffic", "InitialInstanceCount": max(1, scenario.begins)}
    if scenario.pools:
        made["InstancePools"] = [
            {"InstanceType": pool.instance_type, "Priority": pool.priority} for pool in scenario.pools
        ]
    else:
        made["InstanceType"] = scenario.instance_type
    if scenario.managed:
        made["ManagedInstanceScaling"] = {
            "Status": "ENABLED",
            "MinInstanceCount": scenario.least,
            "MaxInstanceCount": scenario.most,
        }
        if scenario.scale_in is not None:
            made["ManagedInstanceScaling"]["ScaleInPolicy"] = _policy(scenario.scale_in)
    return made


def deploying_calls(scenario: ComponentScenario) -> str:
    """The endpoint configuration, and a component for each row: its name, its artifact, and what each of its copies
    reserves."""
    variant = dumps([endpoint_variant(scenario)], indent=4)
    names = _different([component_name(one.name) for one in scenario.components])
    rows = "\n".join(f"    {_row(name, one)}," for name, one in zip(names, scenario.components, strict=True))
    idle = {f"{one.idle_s:g}" for one in scenario.components if not one.copies}
    notes = [f"# {NOT_HELD_ON_AWS}"] if scenario.holds else []
    environment = (
        [f'# and in each model\'s container: "Environment": {{"TORPOR_IDLE_SECONDS": "{idle.pop()}"}}']
        if len(idle) == 1
        else []
    )
    return "\n".join(
        [
            *notes,
            'sagemaker = boto3.client("sagemaker")',
            "sagemaker.create_endpoint_config(",
            '    EndpointConfigName="planned",',
            '    ExecutionRoleArn="arn:aws:iam::ACCOUNT:role/ROLE",',
            f"    ProductionVariants={indent(variant, '    ').lstrip()},",
            ")",
            "for name, artifact, needs, strategy, copies in (",
            rows,
            "):",
            "    sagemaker.create_inference_component(",
            "        InferenceComponentName=name,",
            '        EndpointName="ENDPOINT",',
            '        VariantName="AllTraffic",',
            "        Specification={",
            '            "Container": {"Image": "torpor", "ArtifactUrl": f"s3://BUCKET/PREFIX/{artifact}"},',
            '            "ComputeResourceRequirements": needs,',
            '            "SchedulingConfig": {"PlacementStrategy": strategy},',
            "        },",
            '        RuntimeConfig={"CopyCount": copies},',
            "    )",
            *environment,
        ]
    )


def component_name(model: str) -> str:
    """A name for the component of a model that AWS takes: letters, digits and single hyphens, 63 at most."""
    found = sub("[^a-zA-Z0-9]+", "-", model.removesuffix(".tar.gz"))[:NAME_MAX].strip("-")
    return found or "model"


# -- inside ------------------------------------------------------------------------------------------------------------
def _policy(scale_in: ScaleIn) -> dict[str, Any]:
    if scale_in.strategy is not ScaleInStrategy.CONSOLIDATION:
        return {"Strategy": scale_in.strategy.value}
    minutes = ceil(scale_in.cooldown_s / MINUTE_S)
    return {"Strategy": scale_in.strategy.value, "MaximumStepSize": scale_in.step_max, "CooldownInMinutes": minutes}


def _different(names: Sequence[str]) -> list[str]:
    """The names, with a number at the end of each that another one has before it."""
    taken = dict[str, None]()
    for name in names:
        numbered = (f"{name[: NAME_MAX - len(ending)].rstrip('-')}{ending}" for ending in map("-{}".format, count(2)))
        taken[next(one for one in chain([name], numbered) if one not in taken)] = None
    return list(taken)


def _row(name: str, one: ComponentSetup) -> str:
    needs: dict[str, float] = {"MinMemoryRequiredInMb": one.memory_mib}
    if one.memory_max_mib is not None:
        needs["MaxMemoryRequiredInMb"] = one.memory_max_mib
    if one.cores:
        needs["NumberOfCpuCoresRequired"] = one.cores
    if one.accelerators:
        needs["NumberOfAcceleratorDevicesRequired"] = one.accelerators
    strategy = "BINPACK" if one.binpack else "SPREAD"
    cells = (name, one.serves, needs, strategy, one.copies)
    return f"({', '.join(map(dumps, cells))})"
