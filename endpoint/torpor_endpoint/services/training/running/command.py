"""Makes the command of a job: its program, arguments and environment. Pure."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class TrainingCommand:
    """One command. It runs in `folder`. Its environment is added to what it inherits from the endpoint."""

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]

    def __str__(self) -> str:
        return shlex.join(self.arguments)

    def json(self) -> str:
        """The command in the form that `child` reads."""
        return json.dumps(
            {"arguments": self.arguments, "folder": str(self.folder), "environment": dict(self.environment)}
        )


def command(job: TrainingJob, layout: ToolkitFolders, cpus: int, wiring: Mapping[str, str]) -> TrainingCommand:
    """The user's script, or the image's algorithm. The user's `Environment` wins over everything but the wiring."""
    environment = {
        "PYTHONUNBUFFERED": "1",
        "TRAINING_JOB_NAME": job.name,
        "TRAINING_JOB_ARN": job.arn,
        **variables(job, layout, cpus),
        **job.request.get("Environment", {}),
        **wiring,
    }
    return TrainingCommand(tuple(_program(job)), layout.code, environment)


def _program(job: TrainingJob) -> list[str]:
    hyperparameters = decoded(job.request.get("HyperParameters", {}))
    program = hyperparameters.get(PROGRAM)
    if not program:
        return [sys.executable, "-m", XGBOOST]
    interpreter = sys.executable if str(program).endswith(".py") else "/bin/sh"
    return [interpreter, str(program), *arguments(users(hyperparameters))]
