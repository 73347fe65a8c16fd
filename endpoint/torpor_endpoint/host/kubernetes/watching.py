"""Follows the objects of one Torpor in a cluster: a list, and then what changes, for ever.

A watch ends by itself after some seconds, and goes on where it was. It starts over with a list where the cluster no
longer knows that place, or could not be reached.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.client import KubernetesClient

WATCH_S = 50
QUIET_S = 70.0
PAUSES_S = (1.0, 2.0, 5.0, 10.0)

log = logging.getLogger(__name__)

Object = dict[str, Any]


class ObjectWatch:
    """The present objects of one resource, by name. `changed` is called after each change."""

    def __init__(self, client: KubernetesClient, resource: str, selector: str, changed: Callable[[], None]) -> None:
        self.objects: dict[str, Object] = {}
        self._client = client
        self._resource = resource
        self._selector = selector
        self._changed = changed
        self._version = ""

    async def begin(self) -> None:
        """List what there is. Raises HostError."""
        found = await self._client.call("list", self._resource, query={"labelSelector": self._selector})
        self.objects = {one["metadata"]["name"]: one for one in found["items"]}
        self._version = found["metadata"]["resourceVersion"]
        self._changed()

    async def run(self) -> None:
        """Follow for ever, after `begin`."""
        faults = 0
        while True:
            try:
                if not self._version:
                    await self.begin()
                await self._follow()
                faults = 0
            except HostError as fault:
                if not faults:
                    log.warning("%s of the cluster are not followed for a moment: %s", self._resource, fault)
                self._version = ""
                await asyncio.sleep(PAUSES_S[min(faults, len(PAUSES_S) - 1)])
                faults += 1

    async def _follow(self) -> None:
        query = {
            "labelSelector": self._selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
            "resourceVersion": self._version,
        }
        path, about = self._client.path(self._resource), ("watch", self._resource)
        async with aclosing(self._client.lines(path, query, QUIET_S, about)) as lines:
            async for line in lines:
                if line and not self._took(json.loads(line)):
                    return

    def _took(self, event: Object) -> bool:
        """Take an event. False if the watch must start over with a list."""
        kind, about = event["type"], event["object"]
        if kind == "ERROR":
            self._version = ""
            return False
        self._version = about["metadata"]["resourceVersion"]
        if kind != "BOOKMARK":
            name = about["metadata"]["name"]
            if kind == "DELETED":
                self.objects.pop(name, None)
            else:
                self.objects[name] = about
            self._changed()
        return True
