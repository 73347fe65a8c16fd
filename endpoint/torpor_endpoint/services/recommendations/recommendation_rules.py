"""The rules for CreateInferenceRecommendationsJob that AWS's service model lacks."""

from collections.abc import Iterator
from typing import Any

from torpor_container.settings import BY_VARIABLE
from torpor_endpoint.services.sagemaker.rules import Rules, Wire

TRIED = "TORPOR_VCPU"
"""The variable whose effect the simulator knows: the number of threads that predict."""
TESTS_MAX = 10
"""AWS's default of MaxNumberOfTests, and the most recommendations of a job."""

JOB_RULES: Rules[Wire] = (
    (
        lambda job: ("ModelName" in job["InputConfig"]) == ("ModelPackageVersionArn" in job["InputConfig"]),
        "InputConfig must have either ModelName or ModelPackageVersionArn.",
    ),
    (
        lambda job: job["JobType"] == "Default" and bool(_beyond_default(job)),
        "A Default job has no TrafficPattern, EnvironmentParameterRanges or StoppingConditions: use JobType Advanced.",
    ),
    (
        lambda job: job["JobType"] == "Advanced" and not _configurations(job) and "Endpoints" not in job["InputConfig"],
        "InputConfig.EndpointConfigurations must be given: an Advanced job tries the instance types that it names.",
    ),
    (
        lambda job: "Endpoints" in job["InputConfig"] and bool(_configurations(job)),
        "InputConfig has Endpoints, whose configuration is tried as it is, and EndpointConfigurations: give one of "
        "them.",
    ),
    (
        lambda job: _phases_and_stairs(_pattern(job)),
        "InputConfig.TrafficPattern must have Phases for TrafficType PHASES, and Stairs for STAIRS.",
    ),
    (
        lambda job: any(("InstanceType" in one) == ("ServerlessConfig" in one) for one in _configurations(job)),
        "Each of EndpointConfigurations must have either InstanceType or ServerlessConfig.",
    ),
    (
        lambda job: any(name != TRIED for name, _ in parameters(job)),
        f"EnvironmentParameterRanges: Torpor's simulator knows the effect of {TRIED} alone.",
    ),
    (
        lambda job: any(not _readable(value) for _, value in parameters(job)),
        f"EnvironmentParameterRanges: the values of {TRIED} must be whole numbers of 1 or more.",
    ),
)


def parameters(job: Wire) -> Iterator[tuple[str, str]]:
    """Each variable that is tried, with each value."""
    for one in _configurations(job):
        for given in one.get("EnvironmentParameterRanges", {}).get("CategoricalParameterRanges", ()):
            for value in given["Value"]:
                yield given["Name"], value


def _readable(value: str) -> bool:
    try:
        BY_VARIABLE[TRIED].read(value)
    except ValueError:
        return False
    return True


def _configurations(job: Wire) -> Any:
    return job["InputConfig"].get("EndpointConfigurations", ())


def _pattern(job: Wire) -> Wire:
    found: Wire = job["InputConfig"].get("TrafficPattern", {})
    return found


def _phases_and_stairs(pattern: Wire) -> bool:
    """Whether a pattern lacks what its type says, or has the other too."""
    if not pattern:
        return False
    stairs = pattern.get("TrafficType", "PHASES") == "STAIRS"
    given = "Stairs" in pattern, bool(pattern.get("Phases"))
    return given != (stairs, not stairs)


def _beyond_default(job: Wire) -> bool:
    return bool(_pattern(job)) or "StoppingConditions" in job or any(parameters(job))
