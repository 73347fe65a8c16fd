"""Deploys the inference components of one endpoint: starts copies, swaps a new specification's in, drains the old."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from torpor_account.log_lines import about
from torpor_account.outer_edge import outer_edge
from torpor_container.settings import BadSetting
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.scaling import size_range
from torpor_endpoint.fleet.components.component_pool import ComponentPool
from torpor_endpoint.fleet.components.copy_places import CopyPlaces
from torpor_endpoint.fleet.components.pool_types import pools_of
from torpor_endpoint.fleet.components.served_adapters import ServedAdapters
from torpor_endpoint.fleet.endpoint_roster import FleetEndpoint
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.instance_pool import InstancePool, SlotNumbers
from torpor_endpoint.host import Slot
from torpor_endpoint.in_service.served_endpoints import same_machine

log = logging.getLogger(__name__)

UNKNOWN_IMAGE = (
    "The image {image} of inference component {component} is not one that this endpoint can run: nothing is pulled "
    "from a registry. Use `torpor` or an AWS XGBoost or scikit-learn image, or give a file with --images."
)
BAD_SETTING = "The Environment of inference component {component} cannot be read: {error}"
NO_COPY = "A copy of inference component {component} did not become ready: {reason}"
GONE = "The endpoint of inference component {component} is being deleted."


class ComponentFailed(Exception):
    """A component cannot have its copies. The message is its FailureReason."""


class NoRoomForCopies(ComponentFailed):
    """There is no room for all of its copies."""


class ComponentDeployment:
    """The components of one endpoint. `resized` is called with a variant and the new number of its instances. `strict`:
    copies may have of an instance what they have on AWS. `adapters` are those of all components: copies that serve have
    the present ones, whichever there were when their variant was made."""

    def __init__(
        self,
        live: FleetEndpoint,
        factory: InstanceFactory,
        resized: Callable[[str, int], None] = lambda variant, size: None,
        *,
        strict: bool = False,
        adapters: ServedAdapters | None = None,
    ) -> None:
        self.live = live
        self._adapters = adapters or ServedAdapters()
        self._factory = factory
        self._resized = resized
        self._strict = strict
        self._numbers: WeakValueDictionary[str, SlotNumbers] = WeakValueDictionary()  # by component; its pools own them
        self._places: dict[str, CopyPlaces] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._fresh: set[ComponentPool] = set()  # that do not serve yet
        self._said: dict[str, tuple[object, ...]] = {}  # by component, what `behind` has said it for
        self._closed = False

    @property
    def places(self) -> list[CopyPlaces]:
        """The places of each production variant that has had copies, or may have."""
        for name, pool in self.live.production.items():
            if pool.variant.for_components:
                self._places_on(name)
        return list(self._places.values())

    async def become(self, variant: Variant) -> None:
        """Have the copies of this variant. Raises ComponentFailed, and then those before go on serving."""
        if fault := await self._factory.fault(variant, self.live.arn):
            raise ComponentFailed(fault)
        present = self.live.pools.get(variant.name)
        pool = self._pool_for(variant)
        before, after, why = pool.size, variant.instance_count, "updated" if present is pool else "deployed"
        with ExitStack() as unfinished:
            unfinished.callback(self._undo, pool, before, present is not pool)
            if present is not pool:
                self._fresh.add(pool)
                unfinished.callback(self._fresh.discard, pool)
            pool.at_least = after
            pool.scale(max(before, after), why)
            await _all_ready(pool, after)
            if self._closed:
                raise ComponentFailed(GONE.format(component=pool.copies.component))
            unfinished.pop_all()
        self._fresh.discard(pool)
        pool.at_least = 0
        pool.become(variant)
        sleeps = size_range(variant, pool.settings.concurrency) is not None
        if not (sleeps and pool.traffic.in_flight):  # a request may have woken it meanwhile
            pool.scale(after, why)
        self._serve({**self.live.pools, variant.name: pool})
        if present is not None and present is not pool:
            self._dismiss(present, "it was replaced by an update")

    def start(self, variant: Variant) -> None:
        """Serve the copies of this variant after a restart: those that run already are adopted if they are the same,
        and the others start. Raises ComponentFailed if none can be served."""
        pool = self._pool_for(variant)
        self._serve({**self.live.pools, variant.name: pool})
        running = self._factory.running(self.live.name, variant)
        pool.adopt([number for number, same in running.items() if same])
        pool.end([number for number, same in running.items() if not same], "it was of another configuration")
        if variant.instance_count:
            pool.scale(variant.instance_count, "the endpoint started")

    async def close(self, why: str) -> None:
        """Stop what does not serve yet, and what serves no more: the endpoint is gone."""
        self._closed = True
        await asyncio.gather(*(pool.close(why) for pool in self._fresh), *self._beside)

    async def drop(self, variant: str, why: str) -> None:
        """Drain and stop the copies of this variant, and forget them."""
        pool = self.live.pools.get(variant)
        if pool is not None:
            self._serve({name: one for name, one in self.live.pools.items() if one is not pool})
            await pool.close(why)
        await asyncio.gather(*self._beside)
        await self._factory.vacated(self.live.name, variant)

    # -- an update by batches: two generations for a while -----------------------------------------------------------
    def two_generations(self, blue: Variant, green: Variant, old: int, new: int, share: float) -> None:
        """Want so many old and new copies, and give the new ones this share of the requests. Raises ComponentFailed."""
        pools = dict(self.live.pools)
        for variant, size, weight in ((blue, old, 1.0 - share), (green, new, share)):
            pool = pools[variant.name] = self._succeeding(variant)
            pool.become(replace(variant, instance_count=size, instances_min=None, instances_max=None, weight=weight))
            pool.scale(size, "its inference component is updated")
        self._serve(pools)

    async def one_generation(self, variant: Variant, other: str) -> None:
        """Serve by the copies of this variant alone, and end those of the other one."""
        pool = self._succeeding(variant)
        pool.become(variant)
        self._serve({**self.live.pools, variant.name: pool})
        await self.drop(other, "it was replaced by an update")
        if variant.instance_count:
            pool.scale(variant.instance_count, "its inference component is updated")

    def has_more(self, variant: str, other: str) -> bool:
        """Whether more copies of this variant are ready than of the other one."""
        counts = {name: len(pool.ready) for name, pool in self.live.pools.items()}
        return counts.get(variant, 0) > counts.get(other, 0)

    def end_left(self, variant: Variant) -> None:
        """End the copies of a variant that an earlier endpoint process has left, and that serves no more."""
        grace_s = self._factory.timing.grace_s
        for number in self._factory.running(self.live.name, variant):
            slot = Slot(self.live.name, variant.name, number)
            self._begin(self._factory.terminate(variant, slot, grace_s), variant)

    async def alone(self, variant: Variant, other: str) -> None:
        """As `one_generation`, after a restart: the host may run copies of the other one that no pool has. Raises
        ComponentFailed."""
        self.end_left(replace(variant, name=other))
        await self.one_generation(variant, other)

    def adapt(self) -> None:
        """Have the copies serve the present adapters from now on."""
        self._serve(dict(self.live.pools))

    async def ready(self, variant: str, size: int) -> None:
        """Wait until so many copies of this variant are ready. Raises ComponentFailed."""
        pool = self.live.pools.get(variant)
        if isinstance(pool, ComponentPool):
            await _all_ready(pool, size)

    async def left(self, variants: Collection[str]) -> None:
        """Wait until the copies of these variants that are not wanted any more have stopped."""
        for name in variants:
            if (pool := self.live.pools.get(name)) is not None:
                await pool.until_left()

    def look(self, now_s: float) -> None:
        """Let the instances follow their copies, and copies move to fewer instances where the variant asks for it.
        `now_s` is of a clock that only goes forward."""
        for places in self.places:
            for move in places.look(now_s):
                for pool in self.live.generations.get(move.copy.component, ()):
                    if isinstance(pool, ComponentPool) and move.copy.number in pool.numbers:
                        self._begin(pool.move(move.copy.number, move.to), pool.variant)

    def behind(self) -> list[str]:
        """The components whose copies have of their instances' variant what it had before an update of the endpoint,
        such as the instance type. Each update is said once."""
        found = []
        for name, pool in self.live.components.items():
            capacity = self.live.production.get(pool.variant.copies.placed_on) if pool.variant.copies else None
            if capacity is None or _is_of(pool.variant, capacity.variant):
                continue
            said = (*_given(capacity.variant), pools_of(capacity.variant))
            if said != self._said.get(name):
                self._said[name] = said
                found.append(name)
        return found

    def _places_on(self, variant: str) -> CopyPlaces:
        if variant not in self._places:
            self._places[variant] = CopyPlaces(self.live, variant, partial(self._resized, variant), strict=self._strict)
        return self._places[variant]

    def _pool_for(self, variant: Variant) -> ComponentPool:
        """The present copies if they can serve this variant, or none yet. Raises ComponentFailed."""
        present, copies = self.live.pools.get(variant.name), variant.copies
        assert copies is not None, "it stands for a component"
        if isinstance(present, ComponentPool) and same_machine(present.variant, variant):
            return present
        for container in variant.containers:
            if self._factory.images.find(container.image) is None:
                raise ComponentFailed(UNKNOWN_IMAGE.format(image=container.image, component=copies.component))
        numbers = self._numbers.setdefault(copies.component, SlotNumbers())  # places know both generations by number
        places = self._places_on(copies.placed_on)
        try:
            return self._factory.joined(ComponentPool(self.live.name, variant, self._factory, numbers, places))
        except BadSetting as error:
            raise ComponentFailed(BAD_SETTING.format(component=copies.component, error=error)) from error

    def _succeeding(self, variant: Variant) -> ComponentPool:
        """As `_pool_for`, for a pool that serves at once: those present end if the endpoint was updated meanwhile, so
        that they cannot serve this variant. Raises ComponentFailed."""
        present, pool = self.live.pools.get(variant.name), self._pool_for(variant)
        if present is not None and present is not pool:
            self._dismiss(present, "its endpoint was updated")
        return pool

    def _serve(self, pools: dict[str, InstancePool]) -> None:
        self._factory.updating()
        for pool in pools.values():
            if (copies := pool.variant.copies) is not None:
                adapted = self._adapters.served_by(copies.component, pool.variant)
                if adapted is not pool.variant:
                    pool.become(adapted)
        self.live.serve(pools, self.live.shift)
        self._factory.changed(self.live.name)

    def _undo(self, pool: InstancePool, before: int, fresh: bool) -> None:
        pool.at_least = 0
        pool.scale(before, "the update failed")
        if fresh:
            self._dismiss(pool, "its deployment failed")

    def _dismiss(self, pool: InstancePool, why: str) -> None:
        """Close a pool while the endpoint goes on."""
        self._begin(pool.close(why), pool.variant)

    def _begin(self, work: Coroutine[Any, Any, object], variant: Variant) -> None:
        """Do this beside all else."""
        task = asyncio.create_task(_told(work, self.live.name, variant))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


def _given(variant: Variant) -> tuple[object, ...]:
    """What copies have of the variant that they are on (see `copies_variant`)."""
    first = variant.copies.first_type if variant.copies is not None else ""
    return first or variant.instance_type, variant.capture, variant.asynchronous, variant.deployed_by


def _is_of(copies: Variant, capacity: Variant) -> bool:
    """Whether copies of this variant have all that they would have of the variant that they are on."""
    types = {one.instance_type for one in pools_of(capacity)}
    return _given(copies) == _given(capacity) and copies.instance_type in types


async def _told(work: Coroutine[Any, Any, object], endpoint: str, variant: Variant) -> None:
    with outer_edge(log, "copies of %s may stay", variant.name, fields=about(endpoint=endpoint)):
        await work


async def _all_ready(pool: ComponentPool, size: int) -> None:
    """Returns once so many copies are ready. Raises ComponentFailed."""
    component = pool.copies.component
    await pool.until(lambda: len(pool.ready) >= size or pool.hopeless or pool.closed)
    if len(pool.ready) >= size:
        return
    if pool.trouble is None:
        raise ComponentFailed(GONE.format(component=component))
    reason = pool.trouble.reason
    if pool.size < size:
        raise NoRoomForCopies(reason)
    raise ComponentFailed(NO_COPY.format(component=component, reason=reason)[:1024])
