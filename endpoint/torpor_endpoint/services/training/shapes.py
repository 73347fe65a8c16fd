"""Writes training jobs in the API's shapes. `aws.wire.pruning` removes members that are None."""

from math import ceil
from typing import Any

from torpor_endpoint.services.jobs.scripts.script_runs import RUNTIME_MAX_S
from torpor_endpoint.services.jobs.stages import Transition
from torpor_endpoint.services.training.lifecycle import STAGES, TrainingJob, TrainingStage
from torpor_endpoint.services.training.running.transport import results


def description(job: TrainingJob) -> dict[str, Any]:
    trained_s = ceil(job.ended_s - job.started_s) if job.ended_s and job.started_s else None
    return {
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": False,
        "EnableManagedSpotTraining": False,
        **job.request,
        **summary(job),
        # The SageMaker SDK requires KmsKeyId when it attaches to a job; AWS sends it even if there is none.
        "OutputDataConfig": {"KmsKeyId": "", "CompressionType": "GZIP", **job.request["OutputDataConfig"]},
        "StoppingCondition": {"MaxRuntimeInSeconds": RUNTIME_MAX_S, **job.request.get("StoppingCondition", {})},
        "SecondaryStatusTransitions": list(map(_transition, job.transitions)),
        "FailureReason": job.failure_reason,
        "TuningJobArn": job.tuning_job_arn,
        # The service model requires it, so it says from the start where the model will be.
        "ModelArtifacts": {"S3ModelArtifacts": f"{results(job)}/model.tar.gz"},
        "TrainingStartTime": job.started_s,
        "TrainingTimeInSeconds": trained_s,
        "BillableTimeInSeconds": trained_s,
    }


def summary(job: TrainingJob) -> dict[str, Any]:
    return {
        "TrainingJobName": job.name,
        "TrainingJobArn": job.arn,
        "CreationTime": job.created_s,
        "TrainingEndTime": job.ended_s,
        "LastModifiedTime": job.modified_s,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.stage.value,
    }


def _transition(transition: Transition[TrainingStage]) -> dict[str, Any]:
    return {
        "Status": transition.stage.value,
        "StartTime": transition.started_s,
        "EndTime": transition.ended_s,
        "StatusMessage": STAGES[transition.stage][1],
    }
