"""Keeps a disruption budget for each variant with instances, so that a drain never takes them all at once.

One for the whole installation would let one pod that waits for a machine hold up every drain. A budget that cannot be
made or deleted is said in the log, and stops no launch: it guards the instances, and they serve without it.
"""

import logging
from collections.abc import Collection
from typing import Any

from torpor_endpoint.host import HostError, Slot
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient, refused_with
from torpor_endpoint.host.kubernetes.manifests import disruption_budget
from torpor_endpoint.host.kubernetes.object_names import DEPLOYMENT, budget_name

log = logging.getLogger(__name__)

Object = dict[str, Any]
RESOURCE = "poddisruptionbudgets"


class DisruptionBudgets:
    """Those of one Torpor, by its digest. A variant is an endpoint's name and its own."""

    def __init__(self, client: KubernetesClient, deployment: str) -> None:
        self._client = client
        self._deployment = deployment
        self._owner: Object | None = None
        self._covered: set[tuple[str, str]] = set()

    async def open(self, owner: Object | None, kept: Collection[tuple[str, str]]) -> None:
        """Learn which there are, and delete those of variants that are not kept. Raises HostError."""
        self._owner = owner
        query = {"labelSelector": f"{DEPLOYMENT}={self._deployment}"}
        for found in (await self._client.call("list", RESOURCE, query=query))["items"]:
            annotations = found["metadata"].get("annotations") or {}
            variant = (annotations.get("torpor/endpoint", ""), annotations.get("torpor/variant", ""))
            self._covered.add(variant)
            if variant not in kept:
                await self._delete(variant)

    async def cover(self, slot: Slot) -> None:
        """Have the cluster keep all but one of the instances of this slot's variant when it drains machines."""
        variant = (slot.endpoint, slot.variant)
        if variant in self._covered:
            return
        try:
            with refused_with(409):
                await self._client.call(
                    "create", RESOURCE, body=disruption_budget(*variant, self._deployment, self._owner)
                )
            self._covered.add(variant)
        except HostError as fault:
            log.warning("%s/%s has no disruption budget: %s", *variant, fault)

    async def uncover(self, endpoint: str, variant: str | None = None) -> None:
        """Delete the budget of a variant without instances, or those of all variants of an endpoint."""
        for one in [one for one in self._covered if one[0] == endpoint and variant in (None, one[1])]:
            await self._delete(one)

    async def close(self) -> None:
        """Delete all of them."""
        for one in list(self._covered):
            await self._delete(one)

    async def _delete(self, variant: tuple[str, str]) -> None:
        try:
            with refused_with(404):
                await self._client.call("delete", RESOURCE, budget_name(*variant, self._deployment))
            self._covered.discard(variant)
        except HostError as fault:
            log.warning("the disruption budget of %s/%s stays: %s", *variant, fault)
