"""Writes tuning jobs in the API's shapes. `aws.wire.pruning` removes members that are None."""

from collections import Counter
from typing import Any

from torpor_endpoint.core.tuning.tuning_course import TrialSeen, best
from torpor_endpoint.services.tuning.lifecycle import Trial, TuningJob
from torpor_endpoint.services.tuning.rules import goal_of


def description(job: TuningJob) -> dict[str, Any]:
    seen = [TrialSeen(trial.is_over, trial.value) for trial in job.trials]
    at = best(goal_of(job.request), seen)
    ended_s = job.ended_s if job.is_over else job.modified_s
    return {
        **job.request,
        **_identity(job),
        "BestTrainingJob": None if at is None else trial_summary(job, job.trials[at]),
        "FailureReason": job.failure_reason,
        "ConsumedResources": {"RuntimeInSeconds": int((ended_s or job.created_s) - job.created_s)},
    }


def summary(job: TuningJob) -> dict[str, Any]:
    config = job.request["HyperParameterTuningJobConfig"]
    return {**_identity(job), "Strategy": config["Strategy"], "ResourceLimits": config["ResourceLimits"]}


def trial_summary(job: TuningJob, trial: Trial) -> dict[str, Any]:
    """One training job of the tuning job."""
    objective = job.request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]
    metric = None if trial.value is None else {**objective, "Value": trial.value}
    return {
        "TrainingJobDefinitionName": job.request["TrainingJobDefinition"].get("DefinitionName"),
        "TrainingJobName": trial.name,
        "TrainingJobArn": trial.arn,
        "CreationTime": trial.created_s,
        "TrainingStartTime": trial.started_s,
        "TrainingEndTime": trial.ended_s,
        "TrainingJobStatus": trial.status,
        "TunedHyperParameters": trial.tuned,
        "FailureReason": trial.failure_reason,
        "FinalHyperParameterTuningJobObjectiveMetric": metric,
        "ObjectiveStatus": objective_status(trial),
    }


def objective_status(trial: Trial) -> str:
    """Succeeded, Pending or Failed: whether the training job has a value of the objective metric."""
    if not trial.is_over:
        return "Pending"
    return "Failed" if trial.value is None else "Succeeded"


def _identity(job: TuningJob) -> dict[str, Any]:
    statuses = Counter(trial.status if trial.is_over else "InProgress" for trial in job.trials)
    objectives = Counter(map(objective_status, job.trials))
    return {
        "HyperParameterTuningJobName": job.name,
        "HyperParameterTuningJobArn": job.arn,
        "HyperParameterTuningJobStatus": job.status,
        "CreationTime": job.created_s,
        "HyperParameterTuningEndTime": job.ended_s,
        "LastModifiedTime": job.modified_s,
        "TrainingJobStatusCounters": {
            "Completed": statuses["Completed"],
            "InProgress": statuses["InProgress"],
            "RetryableError": 0,
            "NonRetryableError": statuses["Failed"],
            "Stopped": statuses["Stopped"],
        },
        "ObjectiveStatusCounters": {name: objectives[name] for name in ("Succeeded", "Pending", "Failed")},
    }
