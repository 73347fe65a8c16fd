"""The options of one endpoint that `torpor.local` starts, as one record, and what SageMaker's API calls them."""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor.hosting.deploying import EndpointPlan

BUCKET = "torpor-local"
"""An endpoint's models are in it below the endpoint's own name."""
MAX_CONCURRENCY = 20


@dataclass(frozen=True)
class EndpointOptions:
    """What `torpor.local` takes for the endpoint itself, under the same names. `Start` has what its process takes."""

    environment: Mapping[str, str] | None = None
    memory_mib: float | None = None
    instance_count: int = EndpointPlan.instance_count
    instance_type: str = EndpointPlan.instance_type
    serverless: Mapping[str, int] | int | None = None
    sleep_after_s: float | None = None
    image: str = EndpointPlan.image

    @property
    def settings(self) -> dict[str, str]:
        """The container's `Environment`. The amounts win over what `environment` says."""
        amounts = {"TORPOR_MEMORY_MIB": self.memory_mib, "TORPOR_IDLE_SECONDS": self.sleep_after_s}
        known = {key: str(amount) for key, amount in amounts.items() if amount is not None}
        return {**(self.environment or {}), **known}

    def plan(self, name: str) -> EndpointPlan:
        """The endpoint of this name, as SageMaker has it."""
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
            may_sleep=self.sleep_after_s is not None,
        )
