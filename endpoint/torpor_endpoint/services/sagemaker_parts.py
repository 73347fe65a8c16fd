"""Holds the parts of the endpoint that SageMaker's services act on. Each takes those that it needs."""

from collections.abc import Callable

from torpor_account.aws.wire.asgi import App
from torpor_container.frozen_class import frozen
from torpor_endpoint.options import Options
from torpor_endpoint.services.autoscaling.context import Autoscaling
from torpor_endpoint.services.late_jobs import LateJobs
from torpor_endpoint.services.sagemaker.context import Control
from torpor_endpoint.services.sagemaker.experiments.context import Experimenting
from torpor_endpoint.storage.store import Store


@frozen
class SageMakerParts:
    """The parts that the endpoint makes when it starts, and that these services share."""

    options: Options
    clock: Callable[[], float]
    """The wall clock, in epoch seconds."""
    store: Store
    control: Control
    experimenting: Experimenting
    jobs: LateJobs
    autoscaling: Autoscaling
    runtime: App

    @property
    def account(self) -> str:
        return self.options.account
