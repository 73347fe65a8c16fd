"""What the endpoint's services are made of: each composes itself from the parts that it needs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from torpor_endpoint.aws.calls import Otherwise
from torpor_endpoint.aws.wire.asgi import App
from torpor_endpoint.metrics.registry import MetricRegistry
from torpor_endpoint.options import Options
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.cloudwatch.alarms.keeping import Alarms
from torpor_endpoint.services.logs.files.reading import Logs
from torpor_endpoint.services.s3.store import ObjectStore
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.training.jobs import Jobs
from torpor_endpoint.services.training.running.trainer import Trainer
from torpor_endpoint.storage.record_table import Database
from torpor_endpoint.storage.store import Store


@dataclass(frozen=True)
class ServiceParts:
    """The endpoint's own parts, which it makes at its start and which its services share."""

    options: Options
    clock: Callable[[], float]
    """The wall clock, in epoch seconds."""
    database: Database
    store: Store
    objects: ObjectStore
    control: Control
    jobs: Jobs
    trainer: Trainer
    autoscaling: Autoscaling
    alarms: Alarms
    logs: Logs
    registry: MetricRegistry
    refresh: Callable[[], Awaitable[None]]
    """Brings the registry up to date, before something reads it."""
    runtime: App
    otherwise: Otherwise
    """Answers the operations that a service's own table lacks."""

    @property
    def account(self) -> str:
        return self.options.account
