"""Makes the command of a processing job: its program, arguments and environment. It runs nothing."""

import os
from collections.abc import Mapping

from torpor_endpoint.services.jobs.scripts.script_command import ScriptCommand, container_program, search_path
from torpor_endpoint.services.jobs.work import Failed, client_error
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.processing.running.processing_folders import ProcessingFolders


def command(job: ProcessingJob, folders: ProcessingFolders, wiring: Mapping[str, str]) -> ScriptCommand:
    """The job's entry point with its arguments. The user's `Environment` wins over everything but the wiring. Raises
    Failed for an entry point that this machine does not have."""
    container = job.request["AppSpecification"]
    program = container_program(container["ContainerEntrypoint"], container.get("ContainerArguments", ()))
    if program is None:
        name = container["ContainerEntrypoint"][0]
        raise Failed(client_error(f"AppSpecification.ContainerEntrypoint: this machine has no program {name}"))
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
