"""Makes what AWS's training toolkit gives a script: arguments, `SM_*` variables, configuration files. It runs nothing.

The names and forms are those of the sagemaker-training-toolkit, so that a script finds here what it finds on AWS.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torpor_container.frozen_class import frozen
from torpor_endpoint.services.training.lifecycle import TrainingJob

PROGRAM = "sagemaker_program"
SUBMIT_DIRECTORY = "sagemaker_submit_directory"
OWN_PREFIX = "sagemaker_"
INPUT_DATA = "/opt/ml/input/data/"
"""The folder of channels in AWS's containers. With network isolation the SageMaker SDK puts the script into one."""
HOST = "algo-1"

OWN_PARAMETERS = frozenset(
    {
        PROGRAM,
        SUBMIT_DIRECTORY,
        "sagemaker_enable_cloudwatch_metrics",
        "sagemaker_container_log_level",
        "sagemaker_job_name",
        "sagemaker_region",
        "sagemaker_s3_output",
    }
)
"""The toolkit's own hyperparameters. Any other `sagemaker_*` is a parameter of a framework."""


@frozen
class ToolkitFolders:
    """The folders of a job, which are below `/opt/ml` in AWS's containers, and below `root` here."""

    root: Path

    @property
    def code(self) -> Path:
        return self.root / "code"

    @property
    def model(self) -> Path:
        return self.root / "model"

    @property
    def config(self) -> Path:
        return self.root / "input" / "config"

    @property
    def output(self) -> Path:
        return self.root / "output"

    @property
    def output_files(self) -> Path:
        return self.output / "data"

    @property
    def failure(self) -> Path:
        """ "your algorithm should write the failure description to this file" """
        return self.output / "failure"

    def channel(self, name: str) -> Path:
        return self.root / "input" / "data" / name

    def make(self) -> None:
        for folder in (self.code, self.model, self.config, self.output_files, self.output / "intermediate"):
            folder.mkdir(parents=True)


def within_channel(path: str) -> tuple[str, str] | None:
    """The channel and the path in it, of a path in AWS's containers; None for a path outside of channels."""
    if not path.startswith(INPUT_DATA):
        return None
    channel, _, rest = path.removeprefix(INPUT_DATA).partition("/")
    return channel, rest


def decoded(hyperparameters: Mapping[str, str]) -> dict[str, Any]:
    """The values, decoded from JSON where they are JSON."""
    return {name: _decoded(value) for name, value in hyperparameters.items()}


def users(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """The script's own hyperparameters."""
    return {name: value for name, value in hyperparameters.items() if not name.startswith(OWN_PREFIX)}


def arguments(hyperparameters: Mapping[str, Any]) -> list[str]:
    """`--name value` for each, `-n value` for a name of one letter, in the order of their names."""
    pairs = (
        (f"--{name}" if len(name) > 1 else f"-{name}", _argument(hyperparameters[name]))
        for name in sorted(hyperparameters)
    )
    return [text for pair in pairs for text in pair]


def configuration(job: TrainingJob) -> dict[str, Any]:
    """The files of `input/config`, by name."""
    resources = job.request["ResourceConfig"]
    return {
        "hyperparameters.json": job.request.get("HyperParameters", {}),
        "inputdataconfig.json": {channel["ChannelName"]: _input(job, channel) for channel in _channels(job)},
        "resourceconfig.json": {
            "current_host": HOST,
            "hosts": [HOST],
            "network_interface_name": "lo",
            "current_instance_type": resources.get("InstanceType", ""),
        },
    }


def variables(job: TrainingJob, layout: ToolkitFolders, cpus: int) -> dict[str, str]:
    """The environment of the script. It says that there is no GPU, for every instance type."""
    given = decoded(job.request.get("HyperParameters", {}))
    script, own = users(given), {name: given[name] for name in given if name.startswith(OWN_PREFIX)}
    framework = {name: value for name, value in own.items() if name not in OWN_PARAMETERS}
    folders = {channel["ChannelName"]: str(layout.channel(channel["ChannelName"])) for channel in _channels(job)}
    facts = {**_folders(layout), **_host(job, cpus), **_module(own, layout)}
    facts |= {
        "training_env": facts
        | {
            "additional_framework_parameters": framework,
            "channel_input_dirs": folders,
            "hyperparameters": script,
            "job_name": job.name,
        },
        "channels": sorted(folders),
        "hps": script,
        "framework_params": framework,
        "user_args": arguments(script),
        **{f"channel_{name}": path for name, path in folders.items()},
        **{f"hp_{name}": value for name, value in script.items()},
    }
    return {f"SM_{name.upper()}": _variable(value) for name, value in facts.items()}


def _folders(layout: ToolkitFolders) -> dict[str, Any]:
    return {
        "model_dir": str(layout.model),
        "input_dir": str(layout.root / "input"),
        "input_config_dir": str(layout.config),
        "output_dir": str(layout.output),
        "output_data_dir": str(layout.output_files),
        "output_intermediate_dir": str(layout.output / "intermediate"),
    }


def _host(job: TrainingJob, cpus: int) -> dict[str, Any]:
    config = configuration(job)
    return {
        "hosts": [HOST],
        "current_host": HOST,
        "master_hostname": HOST,
        "is_master": True,
        "current_instance_type": config["resourceconfig.json"]["current_instance_type"],
        "network_interface_name": "lo",
        "num_cpus": cpus,
        "num_gpus": 0,
        "resource_config": config["resourceconfig.json"],
        "input_data_config": config["inputdataconfig.json"],
    }


def _module(own: Mapping[str, Any], layout: ToolkitFolders) -> dict[str, Any]:
    program = str(own.get(PROGRAM, ""))
    return {
        "log_level": own.get("sagemaker_container_log_level", 20),
        "module_dir": own.get(SUBMIT_DIRECTORY, str(layout.code)),
        "module_name": program.removesuffix(".py"),
        "user_entry_point": program,
        "framework_module": "",
    }


def _channels(job: TrainingJob) -> list[Mapping[str, Any]]:
    channels: list[Mapping[str, Any]] = job.request.get("InputDataConfig", [])
    return channels


def _input(job: TrainingJob, channel: Mapping[str, Any]) -> dict[str, str]:
    source = channel["DataSource"]["S3DataSource"]
    entry = {
        "TrainingInputMode": channel.get("InputMode") or job.request["AlgorithmSpecification"]["TrainingInputMode"],
        "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
        "RecordWrapperType": "None",
    }
    return {**entry, "ContentType": channel["ContentType"]} if "ContentType" in channel else entry


def _decoded(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _argument(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{name}={value[name]}" for name in sorted(value))
    return "" if value is None else str(value)


def _variable(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
