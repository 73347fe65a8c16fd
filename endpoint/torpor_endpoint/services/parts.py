"""Holds the parts of the endpoint. Each service takes the parts that it needs and composes itself."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torpor_account.aws.calls import Otherwise
from torpor_account.aws.wire.asgi import App
from torpor_account.cloudwatch.alarms.keeping import Alarms
from torpor_account.iam.context import Iam
from torpor_account.logs.files.reading import Logs
from torpor_account.metrics.registry import MetricRegistry
from torpor_account.s3.store import ObjectStore
from torpor_account.storage.databases.database import Database
from torpor_endpoint.options import Options
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.jobs.queue import JobQueue
from torpor_endpoint.services.jobs.records import JobRecords
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.services.training.lifecycle import TrainingJob
from torpor_endpoint.services.transform.lifecycle import TransformJob
from torpor_endpoint.storage.store import Store

if TYPE_CHECKING:
    from torpor_account.iam.identities.directory import Directory


@dataclass(frozen=True)
class ServiceParts:
    """The parts that the endpoint makes when it starts, and that its services share."""

    options: Options
    clock: Callable[[], float]
    """The wall clock, in epoch seconds."""
    database: Database
    store: Store
    objects: ObjectStore
    control: Control
    experimenting: Experimenting
    jobs: JobRecords[TrainingJob]
    trainer: JobQueue[TrainingJob]
    transform_jobs: JobRecords[TransformJob]
    transforming: JobQueue[TransformJob]
    autoscaling: Autoscaling
    alarms: Alarms
    logs: Logs
    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]]
    """Brings the registry up to date. A reader of the registry calls it first."""
    runtime: App
    iam: Iam
    directory: "Directory | None"
    """Finds callers by their access keys; None where signatures are not verified."""
    otherwise: Otherwise
    """Answers the operations that a service's own table lacks."""

    @property
    def account(self) -> str:
        return self.options.account
