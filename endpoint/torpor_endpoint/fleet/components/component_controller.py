"""Brings each inference component from what runs to what its stored record asks for, and writes the result."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from math import inf

from torpor_account.log_lines import about
from torpor_endpoint.core.components.component_lifecycle import ANSWERING, ComponentEvent, component_after
from torpor_endpoint.core.components.component_records import (
    ComponentRecord,
    ComponentSpecification,
    ComponentStatus,
    specification_on,
)
from torpor_endpoint.core.components.component_variants import copies_name, copies_variant
from torpor_endpoint.core.resource_records import Variant
from torpor_endpoint.fleet.components.component_deployment import ComponentDeployment, ComponentFailed
from torpor_endpoint.fleet.components.settling import Settling
from torpor_endpoint.fleet.controller import wanted_variants
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.fleet.instance_factory import InstanceFactory
from torpor_endpoint.storage.store import Store

log = logging.getLogger(__name__)

NO_ENDPOINT = "Endpoint {endpoint} of inference component {component} is not in service."
NO_VARIANT = "Endpoint {endpoint} has no production variant {variant} for inference components."
NO_SPECIFICATION = "Inference component {component} has no specification for instances of {instance_type}."


def served_variants(store: Store) -> set[tuple[str, str]]:
    """Each endpoint and variant that is served, or will be once its creation or update ends, those of inference
    components among them."""
    variants = {(one.name, variant.name) for one in store.endpoints() for variant in wanted_variants(one)}
    return variants | {(one.endpoint_name, copies_name(one.name)) for one in store.components()}


class ComponentController:
    """Acts on the records of components. Any thread may call `changed`; everything else runs on the event loop.

    `strict`: no request wakes a component without copies. `resizing` is called with the name of an endpoint before the
    number of its instances changes. `deleted` is called with the names of an endpoint and of the variant whose
    instances the copies were, once these have ended.
    """

    def __init__(
        self,
        store: Store,
        roster: FleetRoster,
        factory: InstanceFactory,
        epoch: Callable[[], float],
        deleted: Callable[[str, str], None],
        resizing: Callable[[str], None],
        strict: bool,
    ) -> None:
        self._store = store
        self._roster = roster
        self._factory = factory
        self._epoch = epoch
        self._deleted = deleted
        self._resizing = resizing
        self._strict = strict
        self._deployments: dict[str, ComponentDeployment] = {}
        self._settling = Settling(self._bring, "inference component")
        self.changed = self._settling.changed
        self.under_way = self._settling.under_way
        self.close = self._settling.close

    async def start(self) -> None:
        """Serve every component of an endpoint in service, and finish what a restart interrupted."""
        self._settling.start()
        for component in await asyncio.to_thread(self._store.components):
            if component.status in ANSWERING:
                self._serve(component)
            self._settling.schedule(component.name)

    def look(self, now_s: float) -> None:
        """Let the instances of all endpoints follow their copies. `now_s` is of a clock that only goes forward."""
        for live in self._roster:
            if live.takes_components and (deployment := self._deployment(live.name)) is not None:
                for places in deployment.places:
                    places.look(now_s)

    def quiet_s(self, now_s: float) -> float:
        """Seconds in which no instance leaves, if no copy comes or goes."""
        found = [self._deployment(live.name) for live in self._roster if live.takes_components]
        return min((one.quiet_s(now_s) for each in found if each is not None for one in each.places), default=inf)

    # -- one component -----------------------------------------------------------------------------------------------
    async def _bring(self, name: str) -> None:
        component = await asyncio.to_thread(self._store.component, name)
        if component is None:
            return
        match component.status:
            case ComponentStatus.CREATING | ComponentStatus.UPDATING:
                await self._deploy(component)
            case ComponentStatus.DELETING:
                await self._delete(component)
            case ComponentStatus.IN_SERVICE | ComponentStatus.FAILED:
                pass

    async def _deploy(self, component: ComponentRecord) -> None:
        """Have the copies that the record asks for. What fails in an update leaves the copies before it."""
        wanted = component.pending_specifications or component.specifications
        try:
            deployment, variant = self._wanted(component, wanted, component.desired_copies)
            await deployment.become(variant)
        except ComponentFailed as failure:
            creating = component.status is ComponentStatus.CREATING
            event = ComponentEvent.FAILED if creating else ComponentEvent.ROLLED_BACK
            await self._record(component, event, str(failure))
        else:
            await self._record(component, ComponentEvent.READY)

    async def _delete(self, component: ComponentRecord) -> None:
        deployment, variant = self._deployment(component.endpoint_name), copies_name(component.name)
        if deployment is not None:
            await deployment.drop(variant, "its inference component is deleted")
        self._deleted(component.endpoint_name, variant)
        await asyncio.to_thread(self._store.remove_component, component.name)

    async def _record(self, component: ComponentRecord, event: ComponentEvent, reason: str | None = None) -> None:
        moved = replace(component_after(component, event, reason), modified_s=self._epoch())
        await asyncio.to_thread(self._store.replace_component, moved, expected_status=component.status)

    def _serve(self, component: ComponentRecord) -> None:
        try:
            deployment, variant = self._wanted(component, component.specifications, component.copies)
            deployment.start(variant)
        except ComponentFailed as failure:
            fields = about(endpoint=component.endpoint_name)
            log.error("inference component %s cannot be served: %s", component.name, failure, extra=fields)

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
        specification = specification_on(specifications, pool.variant.instance_type)
        if specification is None:
            told = {"component": component.name, "instance_type": str(pool.variant.instance_type)}
            raise ComponentFailed(NO_SPECIFICATION.format(**told))
        wakes = not self._strict
        return deployment, copies_variant(component, specification, pool.variant, count, wakes=wakes)

    def _deployment(self, endpoint: str) -> ComponentDeployment | None:
        """The components of an endpoint in service; None if it is not."""
        live = self._roster.get(endpoint)
        if live is None:
            self._deployments.pop(endpoint, None)
            return None
        present = self._deployments.get(endpoint)
        if present is None or present.live is not live:
            present = ComponentDeployment(live, self._factory, lambda: self._resizing(endpoint))
            self._deployments[endpoint] = present
        return present
