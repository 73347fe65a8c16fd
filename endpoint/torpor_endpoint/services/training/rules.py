"""The rules for CreateTrainingJob that AWS's service model lacks: they refuse what this stand-in cannot do right."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from torpor_endpoint.services.sagemaker.rules import Rules, Wire
from torpor_endpoint.services.training.running.toolkit import (
    INPUT_DATA,
    PROGRAM,
    SUBMIT_DIRECTORY,
    decoded,
    within_channel,
)

# Shell patterns; the first match wins. The value: whether the image has an algorithm for jobs without a script.
IMAGES: Mapping[str, bool] = MappingProxyType(
    {
        "torpor": False,
        "torpor[:@]*": False,
        "*/xgboost[:@]*": True,  # the versions up to 0.72
        "*/sagemaker-xgboost[:@]*": True,
        "*/sagemaker-scikit-learn[:@]*": False,
    }
)

NOT_DONE = ("ServerlessJobConfig", "ModelPackageConfig", "MlflowConfig", "SessionChainingConfig")

JOB_RULES: Rules[Wire] = (
    *((lambda job, name=name: name in job, f"{name} is not supported by Torpor.") for name in NOT_DONE),
    (lambda job: "AlgorithmSpecification" not in job, "AlgorithmSpecification must be given."),
    (lambda job: "ResourceConfig" not in job, "ResourceConfig must be given."),
    (
        lambda job: not _algorithm(job).get("TrainingImage"),
        "AlgorithmSpecification.TrainingImage must be given: AlgorithmName is not supported by Torpor.",
    ),
    (
        lambda job: has_algorithm(_algorithm(job)["TrainingImage"]) is None,
        "AlgorithmSpecification.TrainingImage must be AWS's image of scikit-learn or XGBoost, or torpor: "
        "Torpor trains on this machine and runs no other container.",
    ),
    (
        lambda job: "ContainerArguments" in _algorithm(job) and "ContainerEntrypoint" not in _algorithm(job),
        "AlgorithmSpecification.ContainerArguments need ContainerEntrypoint, the program that takes them.",
    ),
    (
        lambda job: "Pipe" in _input_modes(job),
        "TrainingInputMode Pipe is not supported by Torpor: use File or FastFile, which copies as File does.",
    ),
    (
        lambda job: "InstanceGroups" in job["ResourceConfig"],
        "ResourceConfig.InstanceGroups is not supported by Torpor.",
    ),
    (
        lambda job: job["ResourceConfig"].get("InstanceCount", 1) > 1,
        "ResourceConfig.InstanceCount must be 1: distributed training is not supported by Torpor.",
    ),
    (
        lambda job: not job["OutputDataConfig"]["S3OutputPath"].startswith("s3://"),
        "OutputDataConfig.S3OutputPath must begin with s3://.",
    ),
    (
        lambda job: job["OutputDataConfig"].get("CompressionType") == "NONE",
        "OutputDataConfig.CompressionType NONE is not supported by Torpor: a model is packed as model.tar.gz.",
    ),
    (
        lambda job: not runs_script(job) and not has_algorithm(_algorithm(job)["TrainingImage"]),
        "The hyperparameter sagemaker_program must name the script, or ContainerEntrypoint the program, for this image "
        "has no algorithm of its own.",
    ),
    (
        lambda job: bool(_program(job)) and not _submit_directory(job).startswith(("s3://", INPUT_DATA)),
        "The hyperparameter sagemaker_submit_directory must be the s3:// address of the script's tar.gz, or its path "
        f"in a channel, such as {INPUT_DATA}code/sourcedir.tar.gz.",
    ),
    (
        lambda job: bool(_program(job)) and _channel_of_code(job) not in (None, *_channel_names(job)),
        "The hyperparameter sagemaker_submit_directory names a path in a channel that InputDataConfig does not have.",
    ),
)

CHANNEL_RULES: Rules[Wire] = (
    (lambda channel: channel["ChannelName"] in (".", ".."), "Channel {name}: ChannelName must name a folder."),
    (
        lambda channel: "S3DataSource" not in channel["DataSource"],
        "Channel {name}: of DataSource, Torpor supports S3DataSource only.",
    ),
    (
        lambda channel: channel["DataSource"]["S3DataSource"]["S3DataType"] != "S3Prefix",
        "Channel {name}: of S3DataType, Torpor supports S3Prefix only.",
    ),
    (
        lambda channel: not channel["DataSource"]["S3DataSource"]["S3Uri"].startswith("s3://"),
        "Channel {name}: S3Uri must begin with s3://.",
    ),
    # "CompressionType is used only in Pipe input mode. In File mode, leave this field unset or set it to None."
    (
        lambda channel: channel.get("CompressionType", "None") != "None",
        "Channel {name}: CompressionType must be None in File mode.",
    ),
    (
        lambda channel: channel.get("RecordWrapperType", "None") != "None",
        "Channel {name}: RecordWrapperType must be None: Torpor wraps no records.",
    ),
)


def _algorithm(job: Wire) -> Wire:
    algorithm: Wire = job["AlgorithmSpecification"]
    return algorithm


def _input_modes(job: Wire) -> Iterator[str]:
    yield _algorithm(job)["TrainingInputMode"]
    yield from (channel.get("InputMode", "") for channel in job.get("InputDataConfig", ()))


def runs_script(job: Wire) -> bool:
    """Whether the job runs code of its own."""
    return bool(_program(job)) or "ContainerEntrypoint" in _algorithm(job)


def _program(job: Wire) -> Any:
    return decoded(job.get("HyperParameters", {})).get(PROGRAM)


def _channel_of_code(job: Wire) -> str | None:
    """The channel that has the script; None if it is in none."""
    place = within_channel(_submit_directory(job))
    return place[0] if place else None


def _channel_names(job: Wire) -> list[str]:
    return [channel["ChannelName"] for channel in job.get("InputDataConfig", ())]


def _submit_directory(job: Wire) -> str:
    return str(decoded(job.get("HyperParameters", {})).get(SUBMIT_DIRECTORY, ""))


def has_algorithm(image: str) -> bool | None:
    """Whether the image has an algorithm of its own; None for an image that cannot train here."""
    return next((algorithm for pattern, algorithm in IMAGES.items() if fnmatchcase(image, pattern)), None)
