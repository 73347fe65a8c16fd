"""What a deployment does to the pool of one variant, and why an instance of it cannot start."""

from torpor_container.frozen_class import frozen
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.scaling import after_update, size_range
from torpor_endpoint.fleet.instance_pool import InstancePool
from torpor_endpoint.in_service.incarnation import StartTrouble

NO_PING = (
    "The {containers} for production variant {variant} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
NO_ARTIFACT = (
    'Failed to download model data for container "{container}" from URL: "{url}". Please ensure that there is an '
    "object located at the URL and that the role passed to CreateModel has permissions to download the object."
)


class DeploymentFailed(Exception):
    """A deployment failed. The message is the endpoint's FailureReason."""


@frozen
class VariantChange:
    """What a deployment does to one pool: its number of instances before and after, and its new variant.

    Requests may wake the pool or make it grow during the deployment. Their size then stays.
    """

    pool: InstancePool
    variant: Variant
    before: int
    after: int  # the deployment waits until so many are ready
    why: str
    fresh: bool = False  # the pool is a new one
    resized: bool = False  # the update names `after`; otherwise it is the size that the pool has

    @property
    def most(self) -> int:
        """The size while the deployment may still fail: no instance leaves before it succeeds."""
        return max(self.before, self.after)

    def begin(self) -> None:
        self.pool.at_least = self.after
        self.pool.scale(self.most, self.why)

    def undo(self) -> None:
        self.pool.at_least = 0
        unchanged = self.pool.size == self.most and not self.pool.traffic.in_flight
        if unchanged or size_range(self.pool.variant, self.pool.settings.concurrency) is None:
            self.pool.scale(self.before, "the update failed")

    def finish(self) -> None:
        self.pool.at_least = 0
        self.pool.become(self.variant)
        self.pool.resized = self.pool.resized or self.resized
        named = self.fresh or self.resized
        size = self.after if named else after_update(self.variant, self.pool.settings.concurrency, self.pool.size)
        sized = size_range(self.pool.variant, self.pool.settings.concurrency) is not None
        if size or not sized or not self.pool.traffic.in_flight:  # a request may have woken the pool meanwhile
            self.pool.scale(size, self.why)


async def all_ready(pool: InstancePool, size: int) -> None:
    await pool.until(lambda: len(pool.ready) >= size or pool.hopeless or pool.closed)
    if len(pool.ready) < size and pool.trouble is not None:
        raise DeploymentFailed(failure_reason(pool.variant, pool.trouble))


def failure_reason(variant: Variant, trouble: StartTrouble) -> str:
    """AWS's sentence, then the cause in brackets; 1024 characters at most."""
    failed = [one for one in variant.containers if one.name in trouble.containers] or list(variant.containers[:1])
    if trouble.reason.startswith("Failed to download model data"):
        name = failed[0].name if len(variant.containers) > 1 else "container_1"
        shown = NO_ARTIFACT.format(container=name, url=failed[0].model_data_url)
    else:
        names = ", ".join([one.name for one in failed])
        plural = "s" if len(failed) > 1 else ""
        shown = NO_PING.format(containers=f"{names} container{plural}", variant=variant.name)
    return f"{shown} ({trouble.reason})"[:1024]
