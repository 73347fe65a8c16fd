"""The workload of a batch transform job: it has the same requests as an endpoint before, whose ledger forecasts it."""

import os
import time
from collections.abc import Mapping

import numpy as np

from benchmarks.own_ledgers.artifacts import scripts
from benchmarks.own_ledgers.stage import NAME, ROW, SLO_S, WorkloadPlayed, WorkloadStage, names
from torpor.confirming.core.forecast_beside_fact import MachineStrain, TrafficFigures
from torpor.confirming.live_endpoint import ConfirmingEndpoint
from torpor.confirming.live_sending import WRITTEN_S, costs_of, until_a_minute_begins
from torpor.hosting.endpoint_deployment import EndpointPlan
from torpor.hosting.endpoint_options import BUCKET
from torpor.replay.target import Target
from torpor.workloads import Chunk, Recorded
from torpor_container.waiting.quiet_time import busy_s
from torpor_endpoint.core.ledger_records import TRANSFORM_JOB

RECORDS, DELAY_S, AT_ONCE = 160, 0.08, 2
IDLE_S, NAP_S, BURSTS = 120.0, 400.0, 4
POLL_S = 0.1


def transformed(stage: WorkloadStage) -> WorkloadPlayed:
    """An endpoint with one script answers bursts of requests and sleeps between them, and then a job has them all."""
    scripts(stage.folder / "models", list(names(1)), delay_s=DELAY_S)
    artifact = f"{stage.models(stage.folder / 'models')}{names(1)[0]}"
    settings = {"TORPOR_IDLE_SECONDS": f"{IDLE_S:g}"}
    plan = EndpointPlan(NAME, artifact, settings, instances_min=0, instances_max=1, multi_model=False)
    endpoint = stage.deployed(plan)
    stage.asleep(endpoint, IDLE_S)
    burst = RECORDS // BURSTS
    times_s = np.arange(RECORDS) * DELAY_S + NAP_S * (np.arange(RECORDS) // burst)
    trace = Recorded([""], [Chunk(times_s, np.zeros(RECORDS, np.int32))])
    of_endpoint = stage.played(endpoint, trace, SLO_S, IDLE_S + 60.0)
    figures, strain = _job(stage)
    scaled = {"asynchronous": True, "concurrency": AT_ONCE, "instances": 1}
    return WorkloadPlayed(figures, strain, of_endpoint.ledger, of_endpoint.window_s, scaled, by_job=True)


def _job(stage: WorkloadStage) -> tuple[TrafficFigures, MachineStrain]:
    """The job's figures. A job has no latencies, hits or loads that compare with an endpoint's."""
    folder = stage.process.bucket_folder(BUCKET) / "records"
    folder.mkdir()
    (folder / "all.csv").write_bytes(b"\n".join([ROW[1]] * RECORDS))
    sagemaker, name = stage.process.client("sagemaker"), "job"
    config = sagemaker.describe_endpoint(EndpointName=NAME)["EndpointConfigName"]
    [variant] = sagemaker.describe_endpoint_config(EndpointConfigName=config)["ProductionVariants"]
    job = ConfirmingEndpoint(stage.process.connection, Target(stage.process.connection, f"{TRANSFORM_JOB}{name}"), True)
    minute_s = until_a_minute_begins(job)
    real_s, waited_s = time.monotonic(), busy_s()
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/records/"}}
    sagemaker.create_transform_job(
        TransformJobName=name,
        ModelName=variant["ModelName"],
        MaxConcurrentTransforms=AT_ONCE,
        BatchStrategy="SingleRecord",
        TransformInput={"DataSource": source, "ContentType": ROW[0], "SplitType": "Line"},
        TransformOutput={"S3OutputPath": f"s3://{BUCKET}/out", "AssembleWith": "Line"},
        TransformResources={"InstanceType": "ml.m5.large", "InstanceCount": 1},
    )
    while (found := sagemaker.describe_transform_job(TransformJobName=name))["TransformJobStatus"] == "InProgress":
        time.sleep(POLL_S)
    strain = _strain(found, (busy_s() - waited_s) / (time.monotonic() - real_s))
    time.sleep(WRITTEN_S)
    instance_s, usd = costs_of(job, minute_s, job.now_s())
    answered = len((stage.process.bucket_folder(BUCKET) / "out" / "all.csv.out").read_bytes().split())
    failed = RECORDS - answered
    billed_ms = round(1000 * (instance_s or 0.0))
    figures = TrafficFigures(
        RECORDS, failed, failed, answered, 0, 0, 0, 1, None, None, instance_s, usd, billed_ms=billed_ms
    )
    return figures, strain


def _strain(found: Mapping[str, object], share: float) -> MachineStrain:
    if found["TransformJobStatus"] != "Completed":
        raise RuntimeError(f"the job ended as {found['TransformJobStatus']}: {found.get('FailureReason')}")
    return MachineStrain(0.0, share, 0, 0, AT_ONCE, len(os.sched_getaffinity(0)))
