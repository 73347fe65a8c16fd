"""Makes the command of a training job: its program, arguments and environment. It runs nothing."""

import os
import sys
from collections.abc import Mapping

from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand, container_program, search_path
from torpor_endpoint.services.jobs.work import Failed, client_error
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.running.toolkit import (
    PROGRAM,
    ToolkitFolders,
    arguments,
    decoded,
    users,
    variables,
)

XGBOOST = "torpor_endpoint.services.training.running.xgboost_algorithm"


def command(job: TrainingJob, layout: ToolkitFolders, cpus: int, wiring: Mapping[str, str]) -> ScriptCommand:
    """The container's entry point, the user's script, or the image's algorithm. The user's `Environment` wins over
    everything but the wiring. Raises Failed for an entry point that this machine does not have."""
    contained = "ContainerEntrypoint" in job.request["AlgorithmSpecification"]
    environment = {
        "PYTHONUNBUFFERED": "1",
        "TRAINING_JOB_NAME": job.name,
        "TRAINING_JOB_ARN": job.arn,
        **({"PATH": search_path(os.environ.get("PATH", ""))} if contained else {}),
        **variables(job, layout, cpus),
        **job.request.get("Environment", {}),
        **wiring,
    }
    program = _contained(job) if contained else _program(job)
    return ScriptCommand(tuple(program), layout.code, environment, layout.root, contained)


def _contained(job: TrainingJob) -> list[str]:
    algorithm = job.request["AlgorithmSpecification"]
    program = container_program(algorithm["ContainerEntrypoint"], algorithm.get("ContainerArguments", ()))
    if program is None:
        name = algorithm["ContainerEntrypoint"][0]
        raise Failed(client_error(f"AlgorithmSpecification.ContainerEntrypoint: this machine has no program {name}"))
    return program


def _program(job: TrainingJob) -> list[str]:
    hyperparameters = decoded(job.request.get("HyperParameters", {}))
    program = hyperparameters.get(PROGRAM)
    if not program:
        return [sys.executable, "-m", XGBOOST]
    interpreter = sys.executable if str(program).endswith(".py") else "/bin/sh"
    return [interpreter, str(program), *arguments(users(hyperparameters))]
