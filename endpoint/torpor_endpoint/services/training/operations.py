"""The operations on training jobs, which the service `sagemaker` includes."""

from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_operations import JobContext, JobForm
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.rules import check
from torpor_endpoint.services.training import errors, rules, shapes
from torpor_endpoint.services.training.lifecycle import TrainingJob

Training = JobContext[TrainingJob]
"""`scripts` says whether scripts may run. The built-in algorithm always may."""

FORM = JobForm(
    noun="TrainingJob",
    job=TrainingJob,
    segment="training-job",
    name="TrainingJobName",
    arn="TrainingJobArn",
    summaries="TrainingJobSummaries",
    exists=errors.EXISTS,
    missing=errors.NO_JOB,
    description=shapes.description,
    summary=shapes.summary,
)


async def create_training_job(training: Training, call: Call) -> dict[str, Any]:
    check(rules.JOB_RULES, call.params)
    for channel in call.params.get("InputDataConfig", ()):
        check(rules.CHANNEL_RULES, channel, name=channel["ChannelName"])
    if not training.scripts and rules.runs_script(call.params):
        raise INVALID("This endpoint runs no training script: it was started with --refuse scripts.")
    return await FORM.created(training, call, call.params["RoleArn"])


OPERATIONS: dict[str, Operation[Training]] = {"CreateTrainingJob": create_training_job, **FORM.operations()}
