"""One endpoint's pools, brought from what they are to what they should be: new ones first, a swap, old ones go."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

from torpor_container.settings import BadSetting
from torpor_endpoint.core.scaling import after_update, at_start, may_sleep, size_range
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.roster import LiveEndpoint, same_machine
from torpor_endpoint.storage.records import Variant

NO_PING = (
    "The primary container for production variant {variant} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
NO_ARTIFACT = (
    'Failed to download model data for container "container_1" from URL: "{url}". Please ensure that there is an '
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
    """The message is the endpoint's FailureReason."""


@dataclass(frozen=True)
class VariantChange:
    """What a deployment does to one pool: from how many instances to how many, under which variant.

    While it is under way the pool may be woken, and its callers may make it grow: then its size is theirs.
    """

    pool: InstancePool
    variant: Variant
    before: int
    after: int  # what it waits for
    why: str
    fresh: bool = False
    told: bool = False  # `after` is what somebody named, and not what the pool happened to have

    @property
    def most(self) -> int:
        """None goes before the change is sure."""
        return max(self.before, self.after)

    def begin(self) -> None:
        self.pool.at_least = self.after
        self.pool.scale(self.most, self.why)

    def undo(self) -> None:
        self.pool.at_least = 0
        ours = self.pool.size == self.most and not self.pool.traffic.in_flight
        if ours or size_range(self.pool.variant, self.pool.settings.concurrency) is None:
            self.pool.scale(self.before, "the update failed")

    def finish(self) -> None:
        self.pool.at_least = 0
        self.pool.variant = self.variant
        self.pool.told = self.pool.told or self.told
        named = self.fresh or self.told
        size = self.after if named else after_update(self.variant, self.pool.settings.concurrency, self.pool.size)
        if size or not self.pool.traffic.in_flight:  # a call may have woken it meanwhile
            self.pool.scale(size, self.why)


class Deployment:
    """The pools of one endpoint."""

    def __init__(self, live: LiveEndpoint, factory: InstanceFactory) -> None:
        self.live = live
        self._factory = factory
        self._numbers: WeakValueDictionary[str, SlotNumbers] = (
            WeakValueDictionary()
        )  # by variant, as long as it has a pool
        self._closing: set[asyncio.Task[None]] = set()
        self._ended = False

    async def become(self, variants: Sequence[Variant], told: Collection[str] = ()) -> None:
        """Serve exactly these variants. Raises DeploymentFailed and leaves what served before as it was.

        `told` names those whose size somebody asked for, be it another one or not.
        """
        changes = [self._change(variant, variant.name in told) for variant in variants]
        try:
            for change in changes:
                change.begin()
            await asyncio.gather(*(_all_ready(change.pool, change.after) for change in changes))
        except BaseException:
            for change in changes:
                change.undo()
            await asyncio.gather(*(self._dismiss(one.pool, "its deployment failed") for one in changes if one.fresh))
            raise
        self._swap(changes)

    def start(self, variants: Sequence[Variant]) -> None:
        """Serve these variants without waiting for them: after a restart, requests wait instead.

        What may sleep is asleep until somebody calls: a restart is no call.
        Raises DeploymentFailed, which is its trouble until it is updated or started again; then none of them is served.
        """
        try:
            pools = [self._pool_for(variant) for variant in variants]
        except DeploymentFailed as failure:
            self.live.trouble = str(failure)
            raise
        self.live.pools = {pool.variant.name: pool for pool in pools}
        for pool in pools:
            if not may_sleep(pool.variant):
                pool.scale(at_start(pool.variant, pool.settings.concurrency), "the endpoint started")

    async def close(self, why: str) -> None:
        """Drain and stop everything. The disks stay, for another start or for whoever deletes the endpoint."""
        self._ended = True
        pools, self.live.pools = self.live.pools, {}
        await asyncio.gather(*(pool.close(why) for pool in pools.values()), *self._closing)

    def _pool_for(self, variant: Variant) -> InstancePool:
        present = self.live.pools.get(variant.name)
        if present is not None and same_machine(present.variant, variant):
            return present
        if self._factory.images.find(variant.container.image) is None:
            raise DeploymentFailed(UNKNOWN_IMAGE.format(image=variant.container.image, variant=variant.name))
        numbers = self._numbers.setdefault(variant.name, SlotNumbers())
        try:
            return InstancePool(self.live.name, variant, self._factory, numbers)
        except BadSetting as error:  # CreateModel refuses it: an earlier release took it
            raise DeploymentFailed(BAD_SETTING.format(variant=variant.name, error=error)) from error

    def _change(self, variant: Variant, told: bool) -> VariantChange:
        """A pool that stays keeps the size that its callers gave it, unless the update names one."""
        pool = self._pool_for(variant)
        at_first = at_start(variant, pool.settings.concurrency)
        if pool is not self.live.pools.get(variant.name):
            return VariantChange(pool, variant, pool.size, at_first, "deployed", fresh=True)
        told = told or variant.instance_count != pool.variant.instance_count
        after = at_first if told else after_update(variant, pool.settings.concurrency, pool.size)
        return VariantChange(pool, variant, pool.size, after, "updated", told=told)

    def _swap(self, changes: Sequence[VariantChange]) -> None:
        kept = {change.pool for change in changes}
        old = [pool for pool in self.live.pools.values() if pool not in kept]
        for change in changes:
            change.finish()
        self.live.pools = {change.variant.name: change.pool for change in changes}
        self.live.trouble = None
        for pool in old:
            closing = asyncio.create_task(self._dismiss(pool, "it was replaced by an update"))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _dismiss(self, pool: InstancePool, why: str) -> None:
        """Close a pool that an update leaves without traffic, and tell when it was the last of its variant."""
        await pool.close(why)
        name = pool.variant.name
        if name not in self.live.pools and self._numbers[name].all_free and not self._ended:
            await self._factory.vacated(self.live.name, name)


async def _all_ready(pool: InstancePool, size: int) -> None:
    await pool.until(lambda: len(pool.ready) >= size or pool.hopeless or pool.closed)
    if len(pool.ready) < size and pool.trouble is not None:
        raise DeploymentFailed(_failure_reason(pool.variant, pool.trouble.reason))


def _failure_reason(variant: Variant, reason: str) -> str:
    """AWS's sentence first, then what really happened; 1024 characters at most."""
    sentence = NO_ARTIFACT if reason.startswith("Failed to download model data") else NO_PING
    shown = sentence.format(variant=variant.name, url=variant.container.model_data_url)
    return f"{shown} ({reason})"[:1024]
