"""Ends a launch in the cluster: deletes its Deployment and its pods, and waits until these are gone."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient, refused_with
from torpor_endpoint.host.kubernetes.manifests import deletion, deletion_of
from torpor_endpoint.host.kubernetes.object_names import GENERATION
from torpor_endpoint.host.kubernetes.slots import LaunchedDeployment, PodSlot

AGAIN_S = 5.0
SWEPT_WITHIN_S = 5.0
"""How long the cluster may take to end the pods of a Deployment that is deleted, before they are deleted one by one."""

log = logging.getLogger(__name__)

Object = dict[str, Any]


class SlotEnd:
    """The end of one launch. It goes on until nothing is left, however often the cluster must be asked.

    `pods` gives those that the cluster shows now. One that it had begun to make may still appear. `deleted` is set once
    its Deployment is: another launch may have the name then.
    """

    def __init__(
        self, client: KubernetesClient, ended: PodSlot, pods: Callable[[], Iterable[Object]], grace_s: float
    ) -> None:
        self.ended = ended
        self._client = client
        self._pods = pods
        self._grace_s = grace_s
        self.deleted = asyncio.Event()
        self._asked: set[str] = set()  # the pods that were told to end
        self._come_again = False
        self.task = asyncio.create_task(self._run(), name=f"end of {ended.slot}")

    def hasten(self) -> None:
        """Nobody waits any longer: its pods end now."""
        self._grace_s = 0.0
        self._asked.clear()
        self.ended.wake()

    async def _run(self) -> None:
        await self.ended.close()
        while True:
            try:
                await delete_launch(self._client, self.ended.made)
                break
            except HostError as fault:
                await self._again(fault)
        self.deleted.set()
        swept_s = asyncio.get_running_loop().time() + SWEPT_WITHIN_S
        while pods := self.ended.pods(self._pods()):
            try:
                await self._shorten(pods, swept_s)
            except HostError as fault:
                await self._again(fault)

    async def _shorten(self, pods: list[Object], swept_s: float) -> None:
        """Give the pods that end their own grace period, each once, or wait for a change.

        A pod that the cluster does not end yet may still be replaced, if it is deleted now: its ReplicaSet is there.
        """
        left_s = swept_s - asyncio.get_running_loop().time()
        ending = [pod["metadata"]["name"] for pod in pods if left_s <= 0 or pod["metadata"].get("deletionTimestamp")]
        late = [name for name in ending if name not in self._asked]
        if not late:
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s if left_s > 0 else None):
                    await self.ended.changed()
        if left_s <= 0 and self._asked and late:
            await self._slowed(pods)
        for name in late:
            self._asked.add(name)
            with refused_with(404):
                await self._client.call("delete", "pods", name, deletion(self._grace_s))

    async def _slowed(self, pods: list[Object]) -> None:
        """Pods come again after each deletion where somebody has deleted the Deployment and left its ReplicaSet."""
        if not self._come_again:
            self._come_again = True
            sets = {owner["name"] for pod in pods for owner in pod["metadata"].get("ownerReferences", ())}
            text = "%s: its pods come again after each deletion: delete their ReplicaSet %s"
            log.warning(text, self.ended.slot, ", ".join(sorted(sets)))
        await asyncio.sleep(AGAIN_S)

    async def _again(self, fault: HostError) -> None:
        log.warning("%s: %s", self.ended.slot, fault)
        self._asked.clear()
        await asyncio.sleep(AGAIN_S)


async def delete_launch(client: KubernetesClient, made: LaunchedDeployment) -> None:
    """Have the cluster delete the Deployment of this launch. If its name is free, or another one's, it is gone."""
    name, uid = made.launch.name, made.uid
    with refused_with(404):
        if not uid:
            found = (await client.call("get", "deployments", name))["metadata"]
            uid = found["uid"] if found["labels"].get(GENERATION) == made.launch.generation else ""
        if uid:
            await delete_deployment(client, name, uid)


async def delete_deployment(client: KubernetesClient, name: str, uid: str) -> None:
    """Have the cluster delete it with all that belongs to it. If it is not there, or another one, it is gone."""
    with refused_with(404), refused_with(409):
        await client.call("delete", "deployments", name, deletion_of(uid))
