"""The operations on processing jobs, which the service `sagemaker` includes."""

from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_operations import JobContext, JobForm
from torpor_endpoint.services.processing import errors, rules, shapes
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.rules import check

Processing = JobContext[ProcessingJob]

FORM = JobForm(
    noun="ProcessingJob",
    job=ProcessingJob,
    segment="processing-job",
    name="ProcessingJobName",
    arn="ProcessingJobArn",
    summaries="ProcessingJobSummaries",
    exists=errors.EXISTS,
    missing=errors.NO_JOB,
    description=shapes.description,
    summary=shapes.summary,
)


async def create_processing_job(processing: Processing, call: Call) -> dict[str, Any]:
    check(rules.JOB_RULES, call.params)
    for given in call.params.get("ProcessingInputs", ()):
        check(rules.INPUT_RULES, given, name=given["InputName"])
    for given in call.params.get("ProcessingOutputConfig", {}).get("Outputs", ()):
        check(rules.OUTPUT_RULES, given, name=given["OutputName"])
    if not processing.scripts and not rules.is_analyzer(call.params["AppSpecification"]["ImageUri"]):
        raise INVALID("This endpoint runs no script of a job: it was started with --refuse scripts.")
    return await FORM.created(processing, call, call.params["RoleArn"])


OPERATIONS: dict[str, Operation[Processing]] = {"CreateProcessingJob": create_processing_job, **FORM.operations()}
