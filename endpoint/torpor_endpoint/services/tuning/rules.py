"""The rules for CreateHyperParameterTuningJob that AWS's service model lacks: they refuse what Torpor cannot do."""

import re
from typing import Any

from torpor_endpoint.core.tuning.parameter_ranges import BadRange, Choices, ParameterRange, read_ranges
from torpor_endpoint.core.tuning.tuning_course import TuningGoal
from torpor_endpoint.core.tuning.tuning_proposals import grid_size
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.rules import Rules, Wire, check
from torpor_endpoint.services.training import rules as training_rules

OF_ALGORITHM = re.compile(r"(train|validation):([\w@.-]+)")
"""The metrics of the built-in XGBoost: a channel, and a metric of its evaluation."""

OF_TUNING = "HyperParameterTuningResourceConfig"
"""The member that SageMaker's SDK gives in place of ResourceConfig. It may have several sizes of instances."""

JOB_RULES: Rules[Wire] = (
    (
        lambda job: "TrainingJobDefinitions" in job,
        "TrainingJobDefinitions is not supported by Torpor: give one TrainingJobDefinition.",
    ),
    (lambda job: "TrainingJobDefinition" not in job, "TrainingJobDefinition must be given."),
    (
        lambda job: "WarmStartConfig" in job,
        "WarmStartConfig is not supported by Torpor: each tuning job begins with nothing known.",
    ),
    (lambda job: "Autotune" in job, "Autotune is not supported by Torpor: give ParameterRanges."),
    (
        lambda job: _config(job)["Strategy"] == "Hyperband",
        "Strategy Hyperband is not supported by Torpor: it stops training jobs by metrics that they emit meanwhile. "
        "Use Bayesian, Random or Grid.",
    ),
    (
        lambda job: "AutoParameters" in _config(job).get("ParameterRanges", {}),
        "ParameterRanges.AutoParameters is not supported by Torpor: give each hyperparameter its range.",
    ),
    (
        lambda job: "HyperParameterTuningJobObjective" not in _config(job),
        "HyperParameterTuningJobConfig.HyperParameterTuningJobObjective must be given.",
    ),
    (
        lambda job: _criteria(job).get("ConvergenceDetected", {}).get("CompleteOnConvergence") == "Enabled",
        "TuningJobCompletionCriteria.ConvergenceDetected is not supported by Torpor: use BestObjectiveNotImproving.",
    ),
    (
        lambda job: _config(job)["Strategy"] != "Grid" and "MaxNumberOfTrainingJobs" not in _limits(job),
        "ResourceLimits.MaxNumberOfTrainingJobs must be given.",
    ),
    (
        lambda job: any(name in job["TrainingJobDefinition"] for name in ("TuningObjective", "HyperParameterRanges")),
        "TrainingJobDefinition: TuningObjective and HyperParameterRanges must be given in "
        "HyperParameterTuningJobConfig, as HyperParameterTuningJobObjective and ParameterRanges.",
    ),
    (
        lambda job: {"ResourceConfig", OF_TUNING} <= set(job["TrainingJobDefinition"]),
        f"TrainingJobDefinition must have exactly one of ResourceConfig and {OF_TUNING}.",
    ),
)


def checked(job: Wire) -> None:
    """Raises ValidationException for a tuning job that Torpor cannot run."""
    check(JOB_RULES, job)
    definition = job["TrainingJobDefinition"]
    try:
        ranges = read_ranges(_config(job).get("ParameterRanges", {}))
    except BadRange as bad:
        raise INVALID(str(bad)) from None
    both = [one.name for one in ranges if one.name in definition.get("StaticHyperParameters", {})]
    if both:
        raise INVALID(f"The hyperparameter {both[0]} must be either in ParameterRanges or in StaticHyperParameters.")
    _check_grid(job, ranges)
    _check_metric(job)
    request = training_request(job, {})
    check(training_rules.JOB_RULES, request)
    for channel in request.get("InputDataConfig", ()):
        check(training_rules.CHANNEL_RULES, channel, name=channel["ChannelName"])


def training_request(job: Wire, tuned: Wire) -> dict[str, Any]:
    """The request of a training job with these hyperparameters, without a name."""
    definition = job["TrainingJobDefinition"]
    ours = ("StaticHyperParameters", "DefinitionName", OF_TUNING)
    request = {member: value for member, value in definition.items() if member not in ours}
    if OF_TUNING in definition:
        request["ResourceConfig"] = _resources(definition[OF_TUNING])
    return {**request, "HyperParameters": {**_static(job), **tuned}}


def goal_of(job: Wire) -> TuningGoal:
    """What the tuning job was asked for."""
    limits, criteria = _limits(job), _criteria(job)
    jobs = limits.get("MaxNumberOfTrainingJobs")
    if jobs is None:
        jobs = grid_size(read_ranges(_config(job)["ParameterRanges"]))
    return TuningGoal(
        _config(job)["HyperParameterTuningJobObjective"]["Type"] == "Maximize",
        jobs,
        limits["MaxParallelTrainingJobs"],
        criteria.get("TargetObjectiveMetricValue"),
        criteria.get("BestObjectiveNotImproving", {}).get("MaxNumberOfTrainingJobsNotImproving"),
    )


def metric_regex(job: Wire) -> str | None:
    """The expression that finds the objective metric in a log; None if there is none."""
    name = _config(job)["HyperParameterTuningJobObjective"]["MetricName"]
    algorithm = job["TrainingJobDefinition"]["AlgorithmSpecification"]
    for definition in algorithm.get("MetricDefinitions", ()):
        if definition["Name"] == name:
            return str(definition["Regex"])
    built_in = OF_ALGORITHM.fullmatch(name)
    if built_in is None or not _is_algorithm(job):
        return None
    return rf"{built_in[1]}-{re.escape(built_in[2])}:([-+0-9.eE]+|nan|inf)"


def _resources(given: Wire) -> dict[str, Any]:
    """The resources of a training job. Of several sizes of instances it takes the first: none makes a job faster."""
    sizes = given.get("InstanceConfigs") or [given]
    known = ("InstanceType", "InstanceCount", "VolumeSizeInGB")
    chosen = {member: sizes[0][member] for member in known if member in sizes[0]}
    return {**chosen, **({"VolumeKmsKeyId": given["VolumeKmsKeyId"]} if "VolumeKmsKeyId" in given else {})}


def _static(job: Wire) -> dict[str, str]:
    """The hyperparameters that stay. The built-in algorithm evaluates the objective metric beside its own."""
    static = dict(job["TrainingJobDefinition"].get("StaticHyperParameters", {}))
    built_in = OF_ALGORITHM.fullmatch(_config(job)["HyperParameterTuningJobObjective"]["MetricName"])
    if built_in is not None and _is_algorithm(job):
        metrics = [one for one in static.get("eval_metric", "").split(",") if one]
        static["eval_metric"] = ",".join(dict.fromkeys([*metrics, built_in[2]]))
    return static


def _is_algorithm(job: Wire) -> bool:
    definition = job["TrainingJobDefinition"]
    request = {**definition, "HyperParameters": definition.get("StaticHyperParameters", {})}
    image = definition["AlgorithmSpecification"].get("TrainingImage", "")
    return bool(training_rules.has_algorithm(image)) and not training_rules.runs_script(request)


def _check_grid(job: Wire, ranges: tuple[ParameterRange, ...]) -> None:
    if _config(job)["Strategy"] != "Grid":
        return
    if not all(isinstance(one, Choices) for one in ranges):
        raise INVALID("Strategy Grid takes CategoricalParameterRanges only.")  # as on AWS
    size, given = grid_size(ranges), _limits(job).get("MaxNumberOfTrainingJobs")
    if given not in (None, size):
        raise INVALID(f"ResourceLimits.MaxNumberOfTrainingJobs must be {size}, the size of the grid, or left out.")


def _check_metric(job: Wire) -> None:
    name = _config(job)["HyperParameterTuningJobObjective"]["MetricName"]
    regex = metric_regex(job)
    if regex is None:
        raise INVALID(
            f"The objective metric {name} must be defined in AlgorithmSpecification.MetricDefinitions, or be one of "
            "the built-in XGBoost, such as validation:rmse."
        )
    try:
        groups = re.compile(regex).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise INVALID(f"MetricDefinitions: the Regex of {name} must be a regular expression: {error}.") from None
    if not groups:
        raise INVALID(f"MetricDefinitions: the Regex of {name} must have a group, in (), which is the value.")


def _config(job: Wire) -> Any:
    return job["HyperParameterTuningJobConfig"]


def _limits(job: Wire) -> Any:
    return _config(job)["ResourceLimits"]


def _criteria(job: Wire) -> Any:
    return _config(job).get("TuningJobCompletionCriteria", {})
