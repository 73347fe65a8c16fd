"""Deploys the variants of one endpoint: starts the new pools, swaps them in, then drains the old ones."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from weakref import WeakValueDictionary

from torpor_account.outer_edge import outer_edge
from torpor_container.settings import BadSetting
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.scaling import after_update, at_start, may_sleep, size_range
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.in_service.incarnation import StartTrouble
from torpor_endpoint.in_service.served_endpoints import same_machine

log = logging.getLogger(__name__)

NO_PING = (
    "The {containers} for production variant {variant} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
NO_ARTIFACT = (
    'Failed to download model data for container "{container}" from URL: "{url}". Please ensure that there is an '
    "object located at the URL and that the role passed to CreateModel has permissions to download the object."
)
UNKNOWN_IMAGE = (
    "The image {image} of production variant {variant} is not one that this endpoint can run: nothing is pulled from a "
    "registry. Use `torpor` or an AWS XGBoost or scikit-learn image, or give a file with --images: a row with "
    '`as = "built-in"` lets the built-in container stand in for it, one with `command` starts its own server. '
    "`--unknown-images built-in` lets the built-in container stand in for every such image."
)
BAD_SETTING = "The Environment of production variant {variant} cannot be read: {error}"


class DeploymentFailed(Exception):
    """A deployment failed. The message is the endpoint's FailureReason."""


@dataclass(frozen=True)
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


class Deployment:
    """The pools of one endpoint."""

    def __init__(self, live: FleetEndpoint, factory: InstanceFactory) -> None:
        self.live = live
        self._factory = factory
        self._numbers: WeakValueDictionary[str, SlotNumbers] = WeakValueDictionary()  # by variant; its pools own them
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    async def become(self, variants: Sequence[Variant], resized: Collection[str] = ()) -> None:
        """Serve exactly these variants. Raises DeploymentFailed, and then the old variants go on serving.

        `resized` names the variants whose size the update gives, even where it is the size that they have.
        """
        for variant in variants:
            if fault := await self._factory.fault(variant, self.live.arn):
                raise DeploymentFailed(fault)
        changes = [self._change(variant, variant.name in resized) for variant in variants]
        with ExitStack() as unfinished:
            unfinished.callback(self._undo, changes)
            for change in changes:
                change.begin()
            await asyncio.gather(*(_all_ready(change.pool, change.after) for change in changes))
            unfinished.pop_all()
        self._swap(changes)

    def start(self, variants: Sequence[Variant]) -> None:
        """Serve these variants at once after a restart: requests wait for the instances.

        Instances that run already are adopted if they were launched for the same containers and machine, and end
        otherwise. If more are adopted than a variant has, the sizer removes them; a variant of a fixed size has no
        sizer, so they leave at once. A variant that may scale to zero starts no other instance until a request comes.
        Raises DeploymentFailed if an image is unknown: no variant is served then, until an update or a restart, and
        `live.trouble` says why.
        """
        try:
            pools = [self._pool_for(variant) for variant in variants]
        except DeploymentFailed as failure:
            self.live.trouble = str(failure)
            raise
        self._serve({pool.variant.name: pool for pool in pools})
        for pool in pools:
            running = self._factory.running(self.live.name, pool.variant)
            pool.adopt([number for number, same in running.items() if same])
            pool.end([number for number, same in running.items() if not same], "it was of another configuration")
            if not may_sleep(pool.variant):
                wanted = at_start(pool.variant, pool.settings.concurrency)
                sized = size_range(pool.variant, pool.settings.concurrency) is not None
                pool.scale(max(wanted, pool.size) if sized else wanted, "the endpoint started")

    async def close(self, why: str) -> None:
        """Drain and stop every instance. The disks stay, for the next start."""
        self._closed = True
        pools = self.live.pools
        self._serve({})
        await asyncio.gather(*(pool.close(why) for pool in pools.values()), *self._closing)

    async def detach(self) -> None:
        """Serve no more, and let the instances run on."""
        self._closed = True
        pools = self.live.pools
        self._serve({})
        await asyncio.gather(*(pool.detach() for pool in pools.values()), *self._closing)

    def _pool_for(self, variant: Variant) -> InstancePool:
        present = self.live.pools.get(variant.name)
        if present is not None and same_machine(present.variant, variant):
            return present
        for container in variant.containers:
            if self._factory.images.find(container.image) is None:
                raise DeploymentFailed(UNKNOWN_IMAGE.format(image=container.image, variant=variant.name))
        numbers = self._numbers.setdefault(variant.name, SlotNumbers())
        try:
            return InstancePool(self.live.name, variant, self._factory, numbers)
        except BadSetting as error:  # CreateModel refuses it: an earlier release took it
            raise DeploymentFailed(BAD_SETTING.format(variant=variant.name, error=error)) from error

    def _change(self, variant: Variant, resized: bool) -> VariantChange:
        """A pool that stays keeps its size, unless the update names another."""
        pool = self._pool_for(variant)
        at_first = at_start(variant, pool.settings.concurrency)
        if pool is not self.live.pools.get(variant.name):
            return VariantChange(pool, variant, pool.size, at_first, "deployed", fresh=True)
        resized = resized or variant.instance_count != pool.variant.instance_count
        after = at_first if resized else after_update(variant, pool.settings.concurrency, pool.size)
        return VariantChange(pool, variant, pool.size, after, "updated", resized=resized)

    def _serve(self, pools: dict[str, InstancePool]) -> None:
        """Serve by these pools, and by the copies of inference components until the endpoint has none."""
        copies = {name: pool for name, pool in self.live.pools.items() if pool.variant.copies is not None}
        self.live.serve({**pools, **copies} if pools else {})
        self._factory.changed()

    def _undo(self, changes: Sequence[VariantChange]) -> None:
        for change in changes:
            change.undo()
            if change.fresh:
                self._begin_dismissal(change.pool, "its deployment failed")

    def _swap(self, changes: Sequence[VariantChange]) -> None:
        self._factory.updating()
        staying = {change.pool for change in changes}
        ordinary = [pool for pool in self.live.pools.values() if pool.variant.copies is None]
        old = [pool for pool in ordinary if pool not in staying]
        for change in changes:
            change.finish()
        self._serve({change.variant.name: change.pool for change in changes})
        self.live.trouble = None
        for pool in old:
            self._begin_dismissal(pool, "it was replaced by an update")

    def _begin_dismissal(self, pool: InstancePool, why: str) -> None:
        """Close a pool while the endpoint goes on: a host that cannot end its instances now keeps nobody waiting."""
        closing = asyncio.create_task(self._dismiss_or_tell(pool, why))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _dismiss_or_tell(self, pool: InstancePool, why: str) -> None:
        with outer_edge(log, "the disks of variant %s of endpoint %s may stay", pool.variant.name, pool.endpoint):
            await self._dismiss(pool, why)

    async def _dismiss(self, pool: InstancePool, why: str) -> None:
        """Close a pool without traffic. If it was the last pool of its variant, the variant's disks go."""
        await pool.close(why)
        name = pool.variant.name
        if name not in self.live.pools and self._numbers[name].all_free and not self._closed:
            await self._factory.vacated(self.live.name, name)


async def _all_ready(pool: InstancePool, size: int) -> None:
    await pool.until(lambda: len(pool.ready) >= size or pool.hopeless or pool.closed)
    if len(pool.ready) < size and pool.trouble is not None:
        raise DeploymentFailed(_failure_reason(pool.variant, pool.trouble))


def _failure_reason(variant: Variant, trouble: StartTrouble) -> str:
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
