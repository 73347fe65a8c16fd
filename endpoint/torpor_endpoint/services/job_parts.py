"""The parts of all jobs: their records, what does their work, and their queues."""

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torpor_account.aws.wire.asgi import App
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.access.embedded import AsRole, Storage
from torpor_account.storage.data_dir import DataDir
from torpor_account.storage.databases.database import Database
from torpor_account.storage.record_table import RecordTable
from torpor_endpoint.core.ledger_records import TRANSFORM_JOB, InstanceLife
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.timing import TIMING
from torpor_endpoint.host import LaunchSpec, Slot
from torpor_endpoint.host.launch import Surroundings, launch_spec
from torpor_endpoint.services.jobs.job_queue import JobQueue
from torpor_endpoint.services.jobs.job_records import JobRecords
from torpor_endpoint.services.jobs.scripts.script_process import Fork
from torpor_endpoint.services.jobs.scripts.script_runs import JobCredentials, ScriptSite
from torpor_endpoint.services.jobs.work import WorkThreads
from torpor_endpoint.services.pipelines.pipeline_records import Pipeline, PipelineExecution
from torpor_endpoint.services.pipelines.running.execution_work import ExecutionWork
from torpor_endpoint.services.pipelines.running.sagemaker_calls import RoleAccess, SageMakerCalls
from torpor_endpoint.services.pipelines.running.step_running import NoteStep, StepSite
from torpor_endpoint.services.processing.lifecycle import ProcessingJob
from torpor_endpoint.services.processing.running.processing_work import ProcessingWork
from torpor_endpoint.services.recommendations.measured_variants import MeasuredVariants
from torpor_endpoint.services.recommendations.recommendation_stages import RecommendationsJob
from torpor_endpoint.services.recommendations.recommendation_work import RecommendationWork
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.training.running.training_work import TrainingWork
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.services.transform.running.objects_done import TABLES
from torpor_endpoint.services.transform.running.transform_work import TracesOfJob, TransformSite, TransformWork
from torpor_endpoint.services.tuning.lifecycle import TuningJob
from torpor_endpoint.services.tuning.running.trial_jobs import TrialJobs
from torpor_endpoint.services.tuning.running.tuning_work import TuningWork
from torpor_endpoint.storage.store import Store

TRANSFORM_TIMING = replace(TIMING, grace_s=3.0)
"""Nobody waits for the answers of an instance whose job has ended or was stopped."""

EXECUTIONS = 200
"""So many executions of pipelines run at once: they wait for jobs, which have turns of their own."""


@dataclass(frozen=True)
class JobSite:
    """What the jobs of one endpoint share with it. `factory` launches as the endpoint does; `lived` gets the lives of
    the instances of transform jobs, and `noted` each data log that has grown. `strict` and `traces` are those of
    `TransformSite`, and `sagemaker` the service whose operations the steps of pipelines are."""

    database: Database
    clock: Callable[[], float]
    folders: DataDir
    storage: Storage
    as_role: AsRole
    role_access: RoleAccess
    credentials: JobCredentials
    surroundings: Surroundings
    fork: Fork
    factory: InstanceFactory
    vacate: Callable[[str], Awaitable[None]]
    lived: Callable[[InstanceLife], None]
    registry: MetricRegistry
    noted: Callable[[Path], object]
    strict: bool
    sagemaker: Callable[[], App]
    traces: TracesOfJob | None
    store: Store
    simulator: str | None  # the module that recommends
    analyzer: str | None  # the module that stands for Model Monitor's image
    ledger: Callable[[], AbstractContextManager[Path]]  # as a file, for a block
    flush_ledger: Callable[[], Awaitable[None]]


class JobParts:
    """`training`, `processing`, `transform`, `tuning`, `recommending` and `executions`, of pipelines, are the queues of
    jobs."""

    def __init__(self, site: JobSite) -> None:
        cpus = os.cpu_count() or 1
        self.training_records = JobRecords(site.database, "training_jobs", TrainingJob, site.clock)
        self.training_work = TrainingWork(_script_site(site, cpus, site.folders.training, site.folders.training_logs))
        self.training = JobQueue(self.training_records, self.training_work, parallel=cpus)
        self.processing_records = JobRecords(site.database, "processing_jobs", ProcessingJob, site.clock)
        folders = site.folders
        self.processing_work = ProcessingWork(
            _script_site(site, cpus, folders.processing, folders.processing_logs), self._note_exit, site.analyzer
        )
        self.processing = JobQueue(self.processing_records, self.processing_work, parallel=cpus)
        self.transform_records = JobRecords(site.database, "transform_jobs", TransformJob, site.clock, TABLES)
        self.transform_work = TransformWork(_transform_site(site, cpus))
        self.transform = JobQueue(self.transform_records, self.transform_work, parallel=cpus)
        self.tuning_records = JobRecords(site.database, "tuning_jobs", TuningJob, site.clock)
        trial_jobs = TrialJobs(self.training_records, self.training, folders.training_logs, site.clock)
        self.tuning_work = TuningWork(self.tuning_records, trial_jobs)
        self.tuning = JobQueue(self.tuning_records, self.tuning_work, parallel=cpus)
        self.recommendation_records = JobRecords(site.database, "recommendation_jobs", RecommendationsJob, site.clock)
        self.recommending = JobQueue(self.recommendation_records, self._recommendation_work(site))

        self.pipelines = RecordTable(site.database, "pipelines", Pipeline)
        self.execution_records = JobRecords(site.database, "pipeline_executions", PipelineExecution, site.clock)
        work = ExecutionWork(self.execution_records, lambda note: self._step_site(site, note))
        self.executions = JobQueue(self.execution_records, work, parallel=EXECUTIONS)

    def has(self, arn: str) -> bool:
        """Whether a job has this ARN."""
        of_training = (self.training_records, self.tuning_records)
        kinds = (*of_training, self.processing_records, self.transform_records, self.recommendation_records)
        pipeline = self.pipelines.at(arn.rpartition("/")[2])
        return any(records.has(arn) for records in kinds) or (pipeline is not None and pipeline.arn == arn)

    def queues(self) -> tuple[JobQueue[Any], ...]:
        """In the order in which they start."""
        return (self.training, self.processing, self.transform, self.tuning, self.recommending, self.executions)

    def writing(self) -> set[Path]:
        """The logs of the scripts that run."""
        return self.training_work.runs.writing | self.processing_work.runs.writing

    def _step_site(self, site: JobSite, note: NoteStep) -> StepSite:
        ended = {
            "Processing": self.processing.ended,
            "Training": self.training.ended,
            "Transform": self.transform.ended,
            "Tuning": self.tuning.ended,
        }

        def calls(execution: PipelineExecution) -> SageMakerCalls:
            role, pipeline = execution.request["RoleArn"], execution.request["PipelineArn"]
            return SageMakerCalls(site.sagemaker, site.role_access, role, pipeline)

        return StepSite(calls, ended, site.storage, site.as_role, site.clock, note)

    def _recommendation_work(self, site: JobSite) -> RecommendationWork:
        variants = MeasuredVariants(site.store)
        return RecommendationWork(self.recommendation_records, variants, site.simulator, site.ledger, site.flush_ledger)

    def _note_exit(self, job: ProcessingJob, message: str) -> None:
        self.processing_records.update(job, lambda now: replace(now, exit_message=message))


def _script_site(site: JobSite, cpus: int, folder: Path, logs: Path) -> ScriptSite:
    return ScriptSite(
        folder=folder,
        logs=logs,
        storage=site.storage,
        fork=site.fork,
        wiring=site.surroundings.wiring,
        forgotten=site.surroundings.forgotten,
        cpus=cpus,
        clock=site.clock,
        as_role=site.as_role,
        credentials=site.credentials,
    )


def _transform_site(site: JobSite, cpus: int) -> TransformSite:
    logs = site.folders.transform_logs

    def spec(variant: Variant, slot: Slot) -> LaunchSpec:
        return replace(
            launch_spec(variant, slot, site.surroundings), logs=logs / slot.endpoint.removeprefix(TRANSFORM_JOB)
        )

    async def vacated(name: str, _: str) -> None:
        await site.vacate(name)

    return TransformSite(
        database=site.database,
        folder=site.folders.transform,
        logs=logs,
        storage=site.storage,
        threads=WorkThreads("transform", cpus + 2),
        factory=replace(site.factory, spec=spec, lived=site.lived, timing=TRANSFORM_TIMING, vacated=vacated),
        registry=site.registry,
        clock=site.clock,
        noted=site.noted,
        strict=site.strict,
        traces=site.traces,
        as_role=site.as_role,
    )
