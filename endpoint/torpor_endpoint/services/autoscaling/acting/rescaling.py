"""Connects automatic scaling with the fleet: reads a variant's load, and changes its capacity."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from torpor_account.aws.calls import Call
from torpor_account.aws.errors import AwsError
from torpor_endpoint.core.autoscaling.samples import VariantLoad
from torpor_endpoint.core.lifecycle import EndpointEvent, may
from torpor_endpoint.fleet.endpoint_roster import FleetRoster
from torpor_endpoint.services.autoscaling.acting.change import Busy, NotApplied
from torpor_endpoint.services.autoscaling.resources import CONCURRENCY
from torpor_endpoint.services.sagemaker.context import Control

OPERATION = "UpdateEndpointWeightsAndCapacities"
POLL_S = 0.1


class Rescaling:
    """Reads loads and applies changes. `pause` sleeps for so many seconds."""

    def __init__(
        self,
        roster: FleetRoster,
        control: Control,
        account: str,
        region: str,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._roster = roster
        self._control = control
        self._account = account
        self._region = region
        self._pause = pause

    def load(self, endpoint: str, variant: str) -> VariantLoad | None:
        """The variant's present load; None if it does not serve."""
        live = self._roster.get(endpoint)
        pool = live.pools.get(variant) if live else None
        if pool is None:
            return None
        traffic, serverless = pool.traffic, pool.variant.serverless
        provisioned = serverless.provisioned_concurrency if serverless else 0
        return VariantLoad(traffic.invocations, traffic.in_flight, pool.size, len(pool.ready), provisioned)

    async def apply(self, endpoint: str, variant: str, to: int, dimension: str) -> None:
        """Change the variant's capacity; return when the endpoint has it. Raises Busy or NotApplied."""
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
            raise NotApplied(
                f"{error.message} (Service: AmazonSageMaker; Status Code: {error.status}; Error Code: {error.code})"
            ) from error


def _desired(to: int, dimension: str) -> dict[str, Any]:
    if dimension == CONCURRENCY:
        return {"ServerlessUpdateConfig": {"ProvisionedConcurrency": to}}
    return {"DesiredInstanceCount": to}
