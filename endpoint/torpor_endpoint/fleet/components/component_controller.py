"""Brings each inference component from what runs to what its stored record asks for, and writes the result."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf

from torpor_account.log_lines import about
from torpor_endpoint.core.components.component_lifecycle import (
    ANSWERING,
    REASON_MAX,
    ComponentEvent,
    component_after,
)
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
)
from torpor_endpoint.core.components.component_variants import GENERATIONS, copies_name
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.core.rollouts.rollout import FleetTarget, Rollout
from torpor_endpoint.core.rollouts.rollout_policy import NOTHING
from torpor_endpoint.fleet.components.batch_updates import ComponentRollouts
from torpor_endpoint.fleet.components.component_deployment import ComponentDeployment, ComponentFailed
from torpor_endpoint.fleet.components.left_behind import leave_behind, leave_orphans_behind, with_endpoint
from torpor_endpoint.fleet.components.served_adapters import ServedAdapters
from torpor_endpoint.fleet.components.wanted_copies import wanted_copies
from torpor_endpoint.fleet.controller import wanted_variants
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.fleet.rollouts.rollout_watch import AlarmsOn, no_alarm
from torpor_endpoint.fleet.settling import Settling
from torpor_endpoint.storage.store import Store

log = logging.getLogger(__name__)

NO_ENDPOINT = "Endpoint {endpoint} of inference component {component} is not in service."
NO_VARIANT = "Endpoint {endpoint} has no production variant {variant} for inference components."
NO_BASE = "Inference component {base}, of which {component} is an adapter, is not in service."
NO_WAY_BACK = "After a restart the old specification cannot be served any more, and the new one is served: {why}"


def _memory_mib(component: ComponentRecord) -> int:
    """What each of its copies sets aside."""
    return max((one.resources.min_memory_mib for one in component.specifications if one.resources), default=0)


def served_variants(store: Store) -> set[tuple[str, str]]:
    """Each endpoint and variant that is served, or will be once its creation or update ends, those of inference
    components among them. At a start the host ends all others: also what a deletion had not ended yet."""
    variants = {(one.name, variant.name) for one in store.endpoints() for variant in wanted_variants(one)}
    ended = (ComponentStatus.DELETING, ComponentStatus.FAILED)
    served = [one for one in with_endpoint(store) if one.status not in ended]
    copies = [(one, GENERATIONS if one.rollout else (one.generation,)) for one in served]
    return variants | {(one.endpoint_name, copies_name(one.name, number)) for one, two in copies for number in two}


class ComponentController:
    """Acts on the records of components. Any thread may call `changed`; everything else runs on the event loop.

    `strict`: no request wakes a component without copies. `resized` is called with the names of an endpoint and a
    variant and the new number of its instances. `deleted` is awaited with a component whose copies have ended.
    """

    def __init__(
        self,
        store: Store,
        roster: FleetRoster,
        factory: InstanceFactory,
        epoch: Callable[[], float],
        deleted: Callable[[ComponentRecord], Awaitable[None]],
        resized: Callable[[str, str, int], None],
        strict: bool,
        *,
        alarms_on: AlarmsOn = no_alarm,
        pace: float = 1.0,
    ) -> None:
        self._store = store
        self._roster = roster
        self._factory = factory
        self._epoch = epoch
        self._deleted = deleted
        self._resized = resized
        self._strict = strict
        self._deployments: dict[str, ComponentDeployment] = {}
        self._adapters = ServedAdapters()
        self._behind: set[str] = set()  # whose copies are to follow an update of the endpoint
        self._rollouts = ComponentRollouts(epoch, self._stored, alarms_on, pace=pace)
        self._settling = Settling(self._bring, "inference component")
        self.changed = self._settling.changed
        self.under_way = self._settling.under_way

    async def start(self) -> None:
        """Serve every component of an endpoint in service, and finish what a restart interrupted."""
        self._settling.start()
        await asyncio.to_thread(leave_orphans_behind, self._store, self.changed)
        components = await asyncio.to_thread(self._store.components)
        for component in components:
            if component.status in ANSWERING:
                self._adapters.put(component)
        for component in sorted(components, key=self._placed_first, reverse=True):
            if component.status in ANSWERING and component.base_name is None:
                await self._serve(component)
            self._settling.schedule(component.name)

    async def close(self) -> None:
        """Stop the tasks. The copies end, or run on, with their endpoints."""
        await self._settling.close()
        await asyncio.gather(*(one.close("the endpoint stops") for one in self._deployments.values()))

    async def endpoint_deleted(self, endpoint: str) -> None:
        """The endpoint is gone, with the copies that served. The records of its components stay, as on AWS."""
        record = await asyncio.to_thread(self._store.endpoint, endpoint)
        if record is not None:
            await asyncio.to_thread(leave_behind, self._store, self.changed, record)
        deployment = self._deployments.pop(endpoint, None)
        if deployment is not None:
            await deployment.close("its endpoint is deleted")

    def look(self, now_s: float) -> None:
        """Let the instances of all endpoints follow their copies. `now_s` is of a clock that only goes forward."""
        for live in self._roster:
            if live.takes_components and (deployment := self._deployment(live.name)) is not None:
                deployment.look(now_s)
                for name in deployment.behind():
                    self._behind.add(name)
                    self._settling.schedule(name)
        for name in self._rollouts.due():
            self._settling.schedule(name)

    def quiet_s(self, now_s: float) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        found = [self._deployment(live.name) for live in self._roster if live.takes_components]
        leave_s = [one.quiet_s(now_s) for each in found if each is not None for one in each.places]
        return min((*leave_s, self._rollouts.quiet_s()), default=inf)

    # -- one component -----------------------------------------------------------------------------------------------
    async def _bring(self, name: str) -> None:
        component = await asyncio.to_thread(self._store.component, name)
        if component is None:
            return
        match component.status:
            case ComponentStatus.CREATING | ComponentStatus.UPDATING if component.base_name is not None:
                await self._adapt(component, component.base_name)
            case ComponentStatus.CREATING | ComponentStatus.UPDATING:
                await self._deploy(component)
            case ComponentStatus.DELETING:
                await self._delete(component)
            case ComponentStatus.IN_SERVICE:
                await self._follow(component)
            case ComponentStatus.FAILED:
                self._adapters.drop(component)

    async def _adapt(self, adapter: ComponentRecord, base: str) -> None:
        """Have the copies of its base serve an adapter: each fetches it when a request names it there first."""
        deployment = self._deployment(adapter.endpoint_name)
        if deployment is None or base not in deployment.live.components:
            event = ComponentEvent.FAILED if adapter.status is ComponentStatus.CREATING else ComponentEvent.ROLLED_BACK
            await self._record(adapter, event, NO_BASE.format(base=base, component=adapter.name))
            return
        self._adapters.put(adapter)
        deployment.adapt()
        await self._record(adapter, ComponentEvent.READY)

    async def _deploy(self, component: ComponentRecord) -> None:
        """Have the copies that the record asks for. What fails in an update leaves the copies before it."""
        wanted = component.pending_specifications or component.specifications
        try:
            if component.rollout is not None:
                deployment, blue, green = self._generations(component)
                await self._rollouts.drive(component, deployment, blue, green)
                return
            deployment, variant = self._wanted(component, wanted, component.desired_copies)
            await deployment.become(variant)
        except ComponentFailed as failure:
            creating = component.status is ComponentStatus.CREATING
            event = ComponentEvent.FAILED if creating else ComponentEvent.ROLLED_BACK
            await self._record(component, event, str(failure))
        else:
            await self._record(component, ComponentEvent.READY)

    async def _follow(self, component: ComponentRecord) -> None:
        """Have copies for what the endpoint was updated to. Those before it go on serving if that fails."""
        if component.name not in self._behind:
            return
        self._behind.discard(component.name)
        try:
            deployment, variant = self._wanted(component, component.specifications, component.copies)
            await deployment.become(variant)
        except ComponentFailed as failure:
            text = "the copies of inference component %s stay as they were before the update of their endpoint: %s"
            log.error(text, component.name, failure, extra=about(endpoint=component.endpoint_name))

    async def _delete(self, component: ComponentRecord) -> None:
        self._rollouts.forget(component.name)
        self._behind.discard(component.name)
        self._adapters.drop(component)
        deployment = self._deployment(component.endpoint_name)
        if deployment is not None and component.base_name is not None:
            deployment.adapt()
        elif deployment is not None:
            for generation in GENERATIONS:
                await deployment.drop(copies_name(component.name, generation), "its inference component is deleted")
        await self._deleted(component)
        await asyncio.to_thread(self._store.remove_component, component.name)

    async def _record(self, component: ComponentRecord, event: ComponentEvent, reason: str | None = None) -> None:
        moved = replace(component_after(component, event, reason), modified_s=self._epoch())
        await asyncio.to_thread(self._store.replace_component, moved, expected_status=component.status)

    async def _stored(self, was: ComponentRecord, component: ComponentRecord) -> bool:
        moved = replace(component, modified_s=self._epoch())
        return await asyncio.to_thread(self._store.replace_component, moved, expected_status=was.status)

    def _generations(self, component: ComponentRecord) -> tuple[ComponentDeployment, Variant, Variant]:
        """The old copies and the new ones of an update by batches. Raises ComponentFailed."""
        deployment, blue = self._wanted(component, component.specifications, component.copies)
        wanted = component.pending_specifications or component.specifications
        other = replace(component, generation=1 - component.generation)
        _, green = self._wanted(other, wanted, component.desired_copies)
        return deployment, blue, green

    def _placed_first(self, component: ComponentRecord) -> tuple[bool, int]:
        """The sort key of components at a start. As many as before have room again where those come first that do not
        fit on instances of the first type, for which empty ones make way, and then the largest."""
        with suppress(ComponentFailed):
            _, variant = self._wanted(component, component.specifications, component.copies)
            return bool(variant.copies and variant.copies.first_type), _memory_mib(component)
        return False, 0

    async def _serve(self, component: ComponentRecord) -> None:
        try:
            if component.rollout is not None:
                await self._resume(component, component.rollout)
                return
            deployment, variant = self._wanted(component, component.specifications, component.copies)
            deployment.start(variant)
        except ComponentFailed as failure:
            fields = about(endpoint=component.endpoint_name)
            log.error("inference component %s cannot be served: %s", component.name, failure, extra=fields)
            await self._serve_pending(component, failure)

    async def _serve_pending(self, component: ComponentRecord, why: ComponentFailed) -> None:
        """After a restart in the middle of an update, where the old specification can no longer be served: the new one
        is, at once. Where that cannot be either, the update has failed."""
        if component.pending_specifications is None:
            return
        by_batches = component.rollout is not None
        other = replace(component, generation=1 - component.generation) if by_batches else component
        try:
            deployment, variant = self._wanted(other, component.pending_specifications, component.desired_copies)
            deployment.start(variant)
        except ComponentFailed as failure:
            with suppress(ComponentFailed):  # all copies are of the old one then, if that can be served
                deployment, variant = self._wanted(component, component.specifications, component.copies)
                await deployment.alone(variant, copies_name(component.name, 1 - component.generation))
            await self._record(component, ComponentEvent.ROLLED_BACK, str(failure))
            return
        if by_batches:
            deployment.end_left(replace(variant, name=copies_name(component.name, component.generation)))
        ready = component_after(other, ComponentEvent.READY)
        await self._stored(component, replace(ready, failure_reason=NO_WAY_BACK.format(why=why)[:REASON_MAX]))

    async def _resume(self, component: ComponentRecord, rollout: Rollout) -> None:
        """After a restart, in the middle of an update: both generations serve again as the record says. Raises
        ComponentFailed."""
        deployment, blue, green = self._generations(component)
        target = rollout.targets().get(component.name, FleetTarget(component.copies, 0, NOTHING))
        for variant in (blue, green):  # no slot number is given out before both have theirs back
            deployment.start(replace(variant, instance_count=0))
        deployment.two_generations(blue, green, target.blue, target.green, target.share.fraction)
        moved = rollout.resumed(self._epoch())
        text = "inference component %s: its update %s after a restart, at batch %d (%s)"
        going = "is rolled back" if moved.going_back else "goes on"
        log.warning(text, component.name, going, moved.step, moved.phase, extra=about(endpoint=component.endpoint_name))
        await self._stored(component, replace(component, rollout=moved))

    def _wanted(
        self, component: ComponentRecord, specifications: tuple[ComponentSpecification, ...], count: int
    ) -> tuple[ComponentDeployment, Variant]:
        """Raises ComponentFailed."""
        deployment = self._deployment(component.endpoint_name)
        if deployment is None:
            raise ComponentFailed(NO_ENDPOINT.format(endpoint=component.endpoint_name, component=component.name))
        pool = deployment.live.production.get(component.variant_name)
        if pool is None or not pool.variant.for_components:
            told = {"endpoint": component.endpoint_name, "variant": component.variant_name}
            raise ComponentFailed(NO_VARIANT.format(**told))
        return deployment, wanted_copies(component, specifications, pool.variant, count, strict=self._strict)

    def _deployment(self, endpoint: str) -> ComponentDeployment | None:
        """The components of an endpoint in service; None if it is not."""
        live = self._roster.get(endpoint)
        if live is None:
            self._deployments.pop(endpoint, None)
            return None
        present = self._deployments.get(endpoint)
        if present is None or present.live is not live:
            resized = partial(self._resized, endpoint)
            present = ComponentDeployment(live, self._factory, resized, strict=self._strict, adapters=self._adapters)
            self._deployments[endpoint] = present
        return present
