"""Makes the command of a processing job: its program, arguments and environment. It runs nothing."""

import os
import sys
from collections.abc import Mapping
from typing import Any

from torpor_endpoint.services.jobs.scripts.script_command import OPT_ML, ScriptCommand, container_program, search_path
from torpor_endpoint.services.jobs.work import Failed, client_error, internal_error
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.processing.rules import is_analyzer
from torpor_endpoint.services.processing.running.processing_folders import ProcessingFolders

NO_ANALYZER = "This endpoint has nothing that stands for Model Monitor's image. `torpor up` brings it."


def command(
    job: ProcessingJob, folders: ProcessingFolders, wiring: Mapping[str, str], analyzer: str | None
) -> ScriptCommand:
    """The job's entry point with its arguments, or the module `analyzer` for Model Monitor's image. The user's
    `Environment` wins over everything but the wiring. Raises Failed for what this machine does not have."""
    container = job.request["AppSpecification"]
    program = _analyzing(analyzer) if is_analyzer(container["ImageUri"]) else _entry_point(container)
    environment = {
        "PYTHONUNBUFFERED": "1",
        "PROCESSING_JOB_NAME": job.name,
        "PROCESSING_JOB_ARN": job.arn,
        "PATH": search_path(os.environ.get("PATH", "")),
        "PYTHONPATH": str(folders.packages),
        "PIP_TARGET": str(folders.packages),
        **job.request.get("Environment", {}),
        **wiring,
    }
    return ScriptCommand(tuple(program), folders.processing, environment, folders.root, always=True)


def _analyzing(module: str | None) -> list[str]:
    if module is None:
        raise Failed(internal_error(NO_ANALYZER))
    return [sys.executable, "-m", module, OPT_ML]


def _entry_point(container: Mapping[str, Any]) -> list[str]:
    program = container_program(container["ContainerEntrypoint"], container.get("ContainerArguments", ()))
    if program is None:
        name = container["ContainerEntrypoint"][0]
        raise Failed(client_error(f"AppSpecification.ContainerEntrypoint: this machine has no program {name}"))
    return program
