"""The rules for CreateProcessingJob that AWS's service model lacks: they refuse what this stand-in cannot do right."""

from fnmatch import fnmatchcase
from typing import Any

from torpor_endpoint.services.sagemaker.rules import Rules, Wire
from torpor_endpoint.services.training.rules import has_algorithm

ANALYZER = "*/sagemaker-model-monitor-analyzer*"
"""The image of Model Monitor, whose work an endpoint's own module does."""
LOCAL = "/opt/ml/processing"
"""Where a job's inputs and outputs are in AWS's containers."""

JOB_RULES: Rules[Wire] = (
    (
        lambda job: has_algorithm(_image(job)) is None and not is_analyzer(_image(job)),
        "AppSpecification.ImageUri must be AWS's image of scikit-learn, XGBoost or Model Monitor, or torpor: Torpor "
        "runs the script on this machine and runs no other container.",
    ),
    (
        lambda job: is_analyzer(_image(job)) and "ContainerEntrypoint" in job["AppSpecification"],
        "AppSpecification.ContainerEntrypoint must be left out for Model Monitor's image, which runs its own program.",
    ),
    (
        lambda job: not is_analyzer(_image(job)) and "ContainerEntrypoint" not in job["AppSpecification"],
        "AppSpecification.ContainerEntrypoint must name the program and its script, such as "
        '["python3", "/opt/ml/processing/input/code/script.py"]: Torpor runs no image\'s own program.',
    ),
    (
        lambda job: job["ProcessingResources"]["ClusterConfig"].get("InstanceCount", 1) > 1,
        "ProcessingResources.ClusterConfig.InstanceCount must be 1: one script runs on this machine.",
    ),
    (
        lambda job: _repeats([one["InputName"] for one in _inputs(job)]),
        "ProcessingInputs: each InputName must be given once.",
    ),
    (
        lambda job: _repeats([one["OutputName"] for one in _outputs(job)]),
        "ProcessingOutputConfig.Outputs: each OutputName must be given once.",
    ),
)

INPUT_RULES: Rules[Wire] = (
    (
        lambda given: "DatasetDefinition" in given,
        "Input {name}: DatasetDefinition is not supported by Torpor: it has no Athena and no Redshift. Give S3Input.",
    ),
    (lambda given: "S3Input" not in given, "Input {name}: S3Input must be given."),
    (lambda given: bool(given.get("AppManaged")), "Input {name}: AppManaged must be false: Torpor copies inputs."),
    (
        lambda given: given["S3Input"]["S3DataType"] != "S3Prefix",
        "Input {name}: of S3DataType, Torpor supports S3Prefix only.",
    ),
    (
        lambda given: given["S3Input"].get("S3InputMode", "File") != "File",
        "Input {name}: S3InputMode Pipe is not supported by Torpor: use File.",
    ),
    (
        lambda given: given["S3Input"].get("S3CompressionType", "None") != "None",
        "Input {name}: S3CompressionType must be None in File mode.",
    ),
    (lambda given: not given["S3Input"]["S3Uri"].startswith("s3://"), "Input {name}: S3Uri must begin with s3://."),
    (
        lambda given: not _is_local(given["S3Input"].get("LocalPath", "")),
        f"Input {{name}}: S3Input.LocalPath must be a folder below {LOCAL}.",
    ),
)

OUTPUT_RULES: Rules[Wire] = (
    (
        lambda given: "FeatureStoreOutput" in given,
        "Output {name}: FeatureStoreOutput is not supported by Torpor: it has no feature store. Give S3Output.",
    ),
    (lambda given: "S3Output" not in given, "Output {name}: S3Output must be given."),
    (lambda given: bool(given.get("AppManaged")), "Output {name}: AppManaged must be false: Torpor uploads outputs."),
    (
        lambda given: given["S3Output"]["S3UploadMode"] != "EndOfJob",
        "Output {name}: S3UploadMode Continuous is not supported by Torpor: use EndOfJob.",
    ),
    (lambda given: not given["S3Output"]["S3Uri"].startswith("s3://"), "Output {name}: S3Uri must begin with s3://."),
    (
        lambda given: not _is_local(given["S3Output"].get("LocalPath", "")),
        f"Output {{name}}: S3Output.LocalPath must be a folder below {LOCAL}.",
    ),
)


def is_analyzer(image: str) -> bool:
    return fnmatchcase(image, ANALYZER)


def _image(job: Wire) -> str:
    image: str = job["AppSpecification"]["ImageUri"]
    return image


def _inputs(job: Wire) -> Any:
    return job.get("ProcessingInputs", ())


def _outputs(job: Wire) -> Any:
    return job.get("ProcessingOutputConfig", {}).get("Outputs", ())


def _repeats(names: list[str]) -> bool:
    return len(set(names)) < len(names)


def _is_local(path: str) -> bool:
    return (
        (path == LOCAL or path.startswith(f"{LOCAL}/")) and not {"..", "."} & set(path.split("/")) and "\0" not in path
    )
