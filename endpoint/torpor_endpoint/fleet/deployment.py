"""Deploys the variants of one endpoint: starts the new pools, swaps them in, then drains the old ones. A rollout has
both for a while (`two_fleets`)."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from weakref import WeakValueDictionary

from torpor_account.outer_edge import outer_edge
from torpor_container.settings import BadSetting
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.rollouts.rollout import Rollout
from torpor_endpoint.core.scaling import after_update, at_start, may_sleep, size_range
from torpor_endpoint.fleet.components.capacity_pool import CapacityPool
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.fleet.rollouts.two_fleets import TwoFleets
from torpor_endpoint.fleet.variant_change import DeploymentFailed, VariantChange, all_ready
from torpor_endpoint.in_service.served_endpoints import same_machine

log = logging.getLogger(__name__)

UNKNOWN_IMAGE = (
    "The image {image} of production variant {variant} is not one that this endpoint can run: nothing is pulled from a "
    "registry. Use `torpor` or an AWS XGBoost or scikit-learn image, or give a file with --images: a row with "
    '`as = "built-in"` lets the built-in container stand in for it, one with `command` starts its own server. '
    "`--unknown-images built-in` lets the built-in container stand in for every such image."
)
BAD_SETTING = "The Environment of production variant {variant} cannot be read: {error}"


class Deployment:
    """The pools of one endpoint."""

    def __init__(self, live: FleetEndpoint, factory: InstanceFactory) -> None:
        self.live = live
        self._factory = factory
        self._numbers: WeakValueDictionary[str, SlotNumbers] = WeakValueDictionary()  # by variant; its pools own them
        self._closing: set[asyncio.Task[None]] = set()
        self._fleets: TwoFleets | None = None
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
            await asyncio.gather(*(all_ready(change.pool, change.after) for change in changes))
            unfinished.pop_all()
        self._swap(changes)

    # -- a rollout: two fleets for a while -------------------------------------------------------------------------
    async def begin(self, variants: Sequence[Variant], resized: Collection[str]) -> TwoFleets:
        """Bring a green fleet of these variants beside the present one, which has variants of the same names. No
        instance of a new pool starts yet. Raises DeploymentFailed."""
        for variant in variants:
            if fault := await self._factory.fault(variant, self.live.arn):
                raise DeploymentFailed(fault)
        fleets = TwoFleets(self.live, [self._change(one, one.name in resized) for one in variants], self._shifted)
        self._fleets = fleets
        return fleets

    def resume(self, rollout: Rollout, variants: Sequence[Variant], resized: Collection[str]) -> TwoFleets:
        """The same after a restart, in mid-rollout: after `start`, which has spared the instances of these variants.
        Raises DeploymentFailed."""
        sizes = {one.name: one for one in rollout.fleets}
        changes = []
        pools = [self._pool_for(variant) for variant in variants]  # nothing is adopted unless all can be served
        for variant, pool in zip(variants, pools, strict=True):
            size = sizes[variant.name]
            fresh = pool is not self.live.pools.get(variant.name)
            before = 0 if fresh else size.blue
            told = variant.name in resized
            changes.append(VariantChange(pool, variant, before, size.green, "deployed", fresh=fresh, resized=told))
            if fresh:
                running = self._factory.running(self.live.name, variant)
                pool.adopt([number for number, same in running.items() if same])
        self._fleets = TwoFleets(self.live, changes, self._shifted)
        return self._fleets

    def finish(self) -> None:
        """Serve by the green fleet alone, and let the blue one end."""
        if self._fleets is not None:
            self._swap(self._fleets.changes)

    def give_up(self) -> None:
        """Serve by the blue fleet alone, and let the green one end."""
        if self._fleets is not None:
            fleets, self._fleets = self._fleets, None
            self._factory.updating()
            self._serve(dict(self.live.pools))
            for pool in self.live.pools.values():
                pool.at_least = 0
            self.make_whole()
            self._undo(fleets.changes)

    def abandon(self, coming: Sequence[Variant]) -> None:
        """After `resume` has failed: end the instances that `start` has spared for these variants, and serve by the
        blue fleet alone."""
        for name, pool in self.live.pools.items():
            pool.end(self._of(coming, name).difference(pool.numbers), "its configuration can no longer be served")
        self.make_whole()

    def make_whole(self) -> None:
        """Want every instance that the variants in service ask for: a rolling update that does not go on has ended some
        of them. A variant that may scale to zero starts no instance until a request comes."""
        for pool in self.live.pools.values():
            wanted = at_start(pool.variant, pool.settings.concurrency)
            if pool.variant.copies is None and not may_sleep(pool.variant) and pool.size < wanted:
                pool.scale(wanted, "its rollout does not go on")

    async def until_left(self, within_s: float) -> None:
        """Wait until the fleet that was replaced has ended, this long at most."""
        if self._closing:
            await asyncio.wait(self._closing, timeout=within_s)

    def _shifted(self) -> None:
        self._factory.updating()
        self._factory.changed(self.live.name)

    def start(self, variants: Sequence[Variant], coming: Sequence[Variant] = ()) -> None:
        """Serve these variants at once after a restart: requests wait for the instances.

        Instances that run already are adopted if they were launched for the same containers and machine, and end
        otherwise. If more are adopted than a variant has, the sizer removes them; a variant of a fixed size has no
        sizer, so they leave at once. A variant that may scale to zero starts no other instance until a request comes.
        `coming` has the variants of a rollout that goes on: `resume` adopts their instances, and wants the others.
        Raises DeploymentFailed if an image is unknown: no variant is served then, until an update or a restart, and
        `live.trouble` says why.
        """
        try:
            pools = [self._pool_for(variant) for variant in variants]
        except DeploymentFailed as failure:
            self.live.trouble = str(failure)
            raise
        self.live.trouble = None
        self._serve({pool.variant.name: pool for pool in pools})
        for pool in pools:
            running = self._factory.running(self.live.name, pool.variant)
            pool.adopt([number for number, same in running.items() if same])
            spared = self._of(coming, pool.variant.name)
            ending = [number for number, same in running.items() if not same and number not in spared]
            pool.end(ending, "it was of another configuration")
            if not coming and not may_sleep(pool.variant):
                wanted = at_start(pool.variant, pool.settings.concurrency)
                sized = size_range(pool.variant, pool.settings.concurrency) is not None
                pool.scale(max(wanted, pool.size) if sized else wanted, "the endpoint started")

    async def close(self, why: str) -> None:
        """Drain and stop every instance. The disks stay, for the next start."""
        self._closed = True
        pools = self._leave()
        await asyncio.gather(*(pool.close(why) for pool in pools), *self._closing)

    async def detach(self) -> None:
        """Serve no more, and let the instances run on."""
        self._closed = True
        pools = self._leave()
        await asyncio.gather(*(pool.detach() for pool in pools), *self._closing)

    def _leave(self) -> tuple[InstancePool, ...]:
        """Serve no more. Returns the pools, those of a rollout too."""
        pools, self._fleets = self.live.every_pool, None
        self._serve({})
        return pools

    def _of(self, variants: Sequence[Variant], name: str) -> set[int]:
        """The slot numbers of the instances that run for the variant of this name among these."""
        found = [self._factory.running(self.live.name, variant) for variant in variants if variant.name == name]
        return {number for running in found for number, same in running.items() if same}

    def _pool_for(self, variant: Variant) -> InstancePool:
        present = self.live.pools.get(variant.name)
        if present is not None and same_machine(present.variant, variant):
            return present
        for container in variant.containers:
            if self._factory.images.find(container.image) is None:
                raise DeploymentFailed(UNKNOWN_IMAGE.format(image=container.image, variant=variant.name))
        numbers = self._numbers.setdefault(variant.name, SlotNumbers())
        try:
            made = CapacityPool if variant.for_components else InstancePool
            return self._factory.joined(made(self.live.name, variant, self._factory, numbers))
        except BadSetting as error:  # CreateModel refuses it: an earlier release took it
            raise DeploymentFailed(BAD_SETTING.format(variant=variant.name, error=error)) from error

    def _change(self, variant: Variant, resized: bool) -> VariantChange:
        """A pool that stays keeps its size, unless the update names another."""
        pool = self._pool_for(variant)
        at_first = at_start(variant, pool.settings.concurrency)
        if pool is not self.live.pools.get(variant.name):
            return VariantChange(pool, variant, pool.size, at_first, "deployed", fresh=True)
        follows = variant.for_components and variant.instances_min is not None
        resized = not follows and (resized or variant.instance_count != pool.variant.instance_count)
        after = at_first if resized else after_update(variant, pool.settings.concurrency, pool.size)
        return VariantChange(pool, variant, pool.size, after, "updated", resized=resized)

    def _serve(self, pools: dict[str, InstancePool]) -> None:
        """Serve by these pools, and by the copies of inference components until the endpoint has none."""
        copies = {name: pool for name, pool in self.live.pools.items() if pool.variant.copies is not None}
        self.live.serve({**pools, **copies} if pools else {})
        self._factory.changed(self.live.name)

    def _undo(self, changes: Sequence[VariantChange]) -> None:
        for change in changes:
            change.undo()
            if change.fresh:
                self._begin_dismissal(change.pool, "its deployment failed")

    def _swap(self, changes: Sequence[VariantChange]) -> None:
        self._factory.updating()
        self._fleets = None
        staying = {change.pool for change in changes}
        ordinary = [pool for pool in self.live.every_pool if pool.variant.copies is None]
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
