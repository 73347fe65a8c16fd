"""The objects of a real cluster, as the kubelet of the tests knows them: pods that are its machine's, and Secrets."""

import asyncio
import base64
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from tests.endpoint.helpers.fake_cluster.objects import Object
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import MERGE, KubernetesClient
from torpor_endpoint.host.kubernetes.api.watching import ObjectWatch
from torpor_endpoint.host.kubernetes.manifests import deletion


class RemoteObjects:
    """Follows pods and Secrets. What the kubelet says of a pod goes to the API in its order."""

    def __init__(
        self, client: KubernetesClient, look: Callable[["RemoteObjects"], None], lost: Collection[str] = ()
    ) -> None:
        """The kubelet has no pods of the machines that are `lost`."""
        self._client = client
        self._look = look
        self._lost = lost
        self._said: asyncio.Queue[tuple[str, Object | None]] = asyncio.Queue()
        self._watches = {name: ObjectWatch(client, name, "", self._changed) for name in ("pods", "secrets")}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for watch in self._watches.values():
            await watch.begin()
        self._tasks = [asyncio.create_task(watch.run()) for watch in self._watches.values()]
        self._tasks.append(asyncio.create_task(self._tell()))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()

    # -- as `Objects` ----------------------------------------------------------------------------------------------
    @property
    def by_name(self) -> dict[tuple[str, str], Object]:
        pods = {("pods", name): pod for name, pod in self._watches["pods"].objects.items()}
        return pods | {("secrets", name): _read(one) for name, one in self._watches["secrets"].objects.items()}

    def all(self, resource: str) -> list[Object]:
        ready = set(self._watches["secrets"].objects)
        pods = self._watches[resource].objects.values()
        placed = [pod for pod in pods if pod["spec"].get("nodeName") and pod["spec"]["nodeName"] not in self._lost]
        return [pod for pod in placed if _has(pod, ready)]

    def patch(self, resource: str, name: str, change: Object) -> Object:
        self._said.put_nowait((name, change))
        return change

    def remove(self, resource: str, name: str) -> None:
        self._said.put_nowait((name, None))

    def _changed(self, slots: Collection[str] | None) -> None:
        if all(watch.objects is not None for watch in self._watches.values()):
            self._look(self)

    async def _tell(self) -> None:
        while True:
            name, change = await self._said.get()
            with suppress(HostError):
                if change is None:
                    await self._client.call("delete", "pods", name, {**deletion(0.0), "gracePeriodSeconds": 0})
                else:
                    path = self._client.path("pods", name, "status")
                    await self._client.ask("PATCH", path, change, content_type=MERGE)


def _has(pod: Object, secrets: set[str]) -> bool:
    """Whether its Secrets are known: kubelet waits for them. A pod that ends has lost them already."""
    if "deletionTimestamp" in pod["metadata"]:
        return True
    return {one["secretRef"]["name"] for one in pod["spec"]["containers"][0].get("envFrom", [])} <= secrets


def _read(one: Object) -> dict[str, Any]:
    return {"stringData": {name: base64.b64decode(value).decode() for name, value in (one.get("data") or {}).items()}}
