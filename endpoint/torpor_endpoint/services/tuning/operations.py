"""The operations of hyperparameter tuning jobs, which the service `sagemaker` includes."""

from dataclasses import dataclass
from typing import Any

from torpor_account.aws.calls import Call, Operation
from torpor_endpoint.services.jobs.job_operations import JobContext, JobForm
from torpor_endpoint.services.sagemaker.errors import INVALID
from torpor_endpoint.services.sagemaker.listing import page
from torpor_endpoint.services.training.rules import runs_script
from torpor_endpoint.services.tuning import errors, rules, shapes
from torpor_endpoint.services.tuning.lifecycle import Trial, TuningJob

Tuning = JobContext[TuningJob]
"""`current` brings the trials of a job up to date."""

FORM = JobForm(
    noun="HyperParameterTuningJob",
    job=TuningJob,
    segment="hyper-parameter-tuning-job",
    name="HyperParameterTuningJobName",
    arn="HyperParameterTuningJobArn",
    summaries="HyperParameterTuningJobSummaries",
    exists=errors.EXISTS,
    missing=errors.NO_JOB,
    description=shapes.description,
    summary=shapes.summary,
)


@dataclass(frozen=True)
class ListedTrial:
    """A trial as `listing.page` sorts it."""

    trial: Trial
    name: str
    created_s: float
    status: str


async def create_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    rules.checked(call.params)
    if not tuning.scripts and runs_script(rules.training_request(call.params, {})):
        raise INVALID("This endpoint runs no training script: it was started with --refuse scripts.")
    return await FORM.created(tuning, call, call.params["TrainingJobDefinition"]["RoleArn"])


def list_training_jobs_for_hyper_parameter_tuning_job(tuning: Tuning, call: Call) -> dict[str, Any]:
    job = tuning.current(FORM.found(tuning, call))
    params = {"SortBy": "Name", "SortOrder": "Ascending", **call.params}
    listed = [ListedTrial(trial, trial.name, trial.created_s, trial.status) for trial in job.trials]
    if params["SortBy"] == "FinalObjectiveMetricValue":
        listed, params = _by_value(listed, params["SortOrder"] == "Descending"), {**params, "SortBy": "Name"}
        params["SortOrder"] = "Ascending"
    trials, token = page(listed, params)
    return {"TrainingJobSummaries": [shapes.trial_summary(job, one.trial) for one in trials], "NextToken": token}


OPERATIONS: dict[str, Operation[Tuning]] = {
    "CreateHyperParameterTuningJob": create_hyper_parameter_tuning_job,
    **FORM.operations(),
    "ListTrainingJobsForHyperParameterTuningJob": list_training_jobs_for_hyper_parameter_tuning_job,
}


def _by_value(listed: list[ListedTrial], descending: bool) -> list[ListedTrial]:
    """In order of their values, named by their places, so that a page sorts them so."""
    known = [one for one in listed if one.trial.value is not None]
    known.sort(key=lambda one: (one.trial.value or 0.0, one.name), reverse=descending)
    ordered = [*known, *(one for one in listed if one.trial.value is None)]
    return [ListedTrial(one.trial, f"{at:06d}", one.created_s, one.status) for at, one in enumerate(ordered)]
