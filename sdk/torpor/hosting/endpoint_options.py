"""Holds the options of one endpoint of `torpor.local`, and turns them into SageMaker's terms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor.hosting.endpoint_deployment import EndpointPlan

BUCKET = "torpor-local"
"""The bucket of all models. Those of an endpoint are below its name."""
ASYNC = "async"
"""What the inputs and results of asynchronous endpoints are below in that bucket, by the endpoint's name."""
MAX_CONCURRENCY = 20
"""The MaxConcurrency of a serverless endpoint whose memory alone is given."""


@dataclass(frozen=True)
class EndpointOptions:
    """The options of `torpor.local` for the endpoint itself, under the same names. `Start` has those of its process."""

    environment: Mapping[str, str] | None = None
    memory_mib: float | None = None
    instance_count: int = EndpointPlan.instance_count
    instance_type: str = EndpointPlan.instance_type
    serverless: Mapping[str, int] | int | None = None
    sleep_after_s: float | None = None
    image: str = EndpointPlan.image
    asynchronous: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """The container's `Environment`, in which `memory_mib` and `sleep_after_s` override `environment`."""
        amounts = {"TORPOR_MEMORY_MIB": self.memory_mib, "TORPOR_IDLE_SECONDS": self.sleep_after_s}
        known = {key: str(amount) for key, amount in amounts.items() if amount is not None}
        return {**(self.environment or {}), **known}

    def plan(self, name: str) -> EndpointPlan:
        """The configuration of an endpoint of this name."""
        serverless = self.serverless
        if isinstance(serverless, int):
            serverless = {"MemorySizeInMB": serverless, "MaxConcurrency": MAX_CONCURRENCY}
        return EndpointPlan(
            name,
            f"s3://{BUCKET}/{name}/",
            self.settings,
            self.instance_type,
            self.instance_count,
            serverless,
            self.image,
            instances_min=None if self.sleep_after_s is None else 0,
            asynchronous=self._results(name) if self.asynchronous else None,
        )

    @staticmethod
    def _results(name: str) -> dict[str, Any]:
        """The AsyncInferenceConfig of an endpoint of this name."""
        folder = f"s3://{BUCKET}/{ASYNC}/{name}"
        return {"OutputConfig": {"S3OutputPath": f"{folder}/out", "S3FailurePath": f"{folder}/failed"}}
