"""Changes the capacity of variants and inference components for automatic scaling."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.components.component_records import ComponentStatus
from torpor_endpoint.core.lifecycle import EndpointEvent, may
from torpor_endpoint.services.autoscaling.acting.change import Busy, NotApplied
from torpor_endpoint.services.autoscaling.resources import COMPONENT, CONCURRENCY, VARIANT
from torpor_endpoint.services.sagemaker.context import Control

OPERATION = "UpdateEndpointWeightsAndCapacities"
NO_COMPONENT = "Could not find inference component {component}."
POLL_S = 0.1


class Rescaling:
    """Applies changes. `pause` sleeps for so many seconds."""

    def __init__(
        self,
        control: Control,
        account: str,
        region: str,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._control = control
        self._account = account
        self._region = region
        self._pause = pause

    async def apply(self, resource_id: str, to: int, dimension: str) -> None:
        """Change the capacity; return when it is there. Raises Busy or NotApplied."""
        if (component := COMPONENT.fullmatch(resource_id)) is not None:
            await self._apply_copies(component["component"], to)
        elif (named := VARIANT.fullmatch(resource_id)) is not None:
            await self._apply_to_variant(named["endpoint"], named["variant"], to, dimension)

    async def _apply_copies(self, component: str, to: int) -> None:
        await asyncio.to_thread(self._request_copies, component, to)
        while True:
            found = await asyncio.to_thread(self._control.store.component, component)
            if found is None:
                raise NotApplied(NO_COMPONENT.format(component=component))
            if found.status is not ComponentStatus.UPDATING:
                break
            await self._pause(POLL_S)
        if found.failure_reason:
            raise NotApplied(found.failure_reason)

    def _request_copies(self, component: str, to: int) -> None:
        from torpor_endpoint.services.sagemaker.components.component_operations import (
            rescale_component,  # an idle endpoint does not need it
        )

        found = self._control.store.component(component)
        if found is None:
            raise NotApplied(NO_COMPONENT.format(component=component))
        if found.status in (ComponentStatus.CREATING, ComponentStatus.UPDATING):
            raise Busy(f"Inference component {component} is {found.status}.")
        try:
            rescale_component(self._control, found, to)
        except AwsError as error:
            raise _not_applied(error) from error

    async def _apply_to_variant(self, endpoint: str, variant: str, to: int, dimension: str) -> None:
        await asyncio.to_thread(self._request, endpoint, variant, to, dimension)
        while True:
            found = await asyncio.to_thread(self._control.store.endpoint, endpoint)
            if found is None:
                raise NotApplied(f"Could not find endpoint {endpoint}.")
            if may(found.status, EndpointEvent.UPDATE):
                break
            await self._pause(POLL_S)
        if found.failure_reason:
            raise NotApplied(found.failure_reason)

    def _request(self, endpoint: str, variant: str, to: int, dimension: str) -> None:
        from torpor_endpoint.services.sagemaker.endpoints import (
            update_endpoint_weights_and_capacities,  # an idle endpoint does not need it
        )

        found = self._control.store.endpoint(endpoint)
        if found is not None and not may(found.status, EndpointEvent.UPDATE):
            raise Busy(f"Endpoint {endpoint} is {found.status}.")
        entry = {"VariantName": variant, **_desired(to, dimension)}
        params = {"EndpointName": endpoint, "DesiredWeightsAndCapacities": [entry]}
        try:
            update_endpoint_weights_and_capacities(
                self._control, Call(OPERATION, params, self._region, self._account, "")
            )
        except AwsError as error:
            raise _not_applied(error) from error


def _not_applied(error: AwsError) -> NotApplied:
    return NotApplied(
        f"{error.message} (Service: AmazonSageMaker; Status Code: {error.status}; Error Code: {error.code})"
    )


def _desired(to: int, dimension: str) -> dict[str, Any]:
    if dimension == CONCURRENCY:
        return {"ServerlessUpdateConfig": {"ProvisionedConcurrency": to}}
    return {"DesiredInstanceCount": to}
