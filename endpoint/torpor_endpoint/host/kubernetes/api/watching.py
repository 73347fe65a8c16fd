"""Follows the objects of one Torpor in a cluster: a list, and then what changes, for ever.

A watch ends by itself after some seconds, and goes on where it was. After a pause it starts over with a list where the
cluster no longer knows that place, could not be reached, or told what cannot be taken.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Collection
from contextlib import aclosing
from math import inf
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.object_names import SLOT

WATCH_S = 50
QUIET_S = 70.0
PAUSES_S = (1.0, 2.0, 5.0, 10.0)
STEADY_S = 20.0
"""After a watch that held for so long, the pauses begin anew."""
LEAST_S = 1.0
"""A watch that ends sooner is a fault: the next one would end as soon."""

log = logging.getLogger(__name__)

Object = dict[str, Any]


class ObjectWatch:
    """The present objects of one resource, by name, and by the label of their slot.

    `changed` is called after each change with the labels of the slots that it is about; with None after a list, which
    may be about any.
    """

    def __init__(
        self, client: KubernetesClient, resource: str, selector: str, changed: Callable[[Collection[str] | None], None]
    ) -> None:
        self.objects: dict[str, Object] = {}
        self._by_slot: dict[str, dict[str, Object]] = {}
        self._client = client
        self._resource = resource
        self._selector = selector
        self._changed = changed
        self._version = ""

    async def begin(self) -> None:
        """List what there is. Raises HostError."""
        found = await self._client.call("list", self._resource, query={"labelSelector": self._selector})
        self.objects, self._by_slot = {}, {}
        for one in found["items"]:
            self._put(one)
        self._version = found["metadata"]["resourceVersion"]
        self._changed(None)

    def of_slot(self, label: str) -> Collection[Object]:
        """The present objects of one slot. An event costs the same however many slots there are."""
        return self._by_slot.get(label, {}).values()

    async def run(self) -> None:
        """Follow for ever, after `begin`."""
        faults, clock = 0, asyncio.get_running_loop().time
        while True:
            steady_s = inf
            try:
                if not self._version:
                    await self.begin()
                steady_s = clock() + STEADY_S
                await self._follow()
                faults = 0
            except Exception as fault:  # an outer edge: without this task nobody sees what becomes of instances
                faults = 1 if clock() >= steady_s else faults + 1
                if faults == 1:
                    known = isinstance(fault, HostError)
                    text = "%s of the cluster are not followed for a moment: %s"
                    log.warning(text, self._resource, fault, exc_info=not known)
                self._version = ""
                await asyncio.sleep(PAUSES_S[min(faults, len(PAUSES_S)) - 1])

    async def _follow(self) -> None:
        """Follow until the watch ends. Raises HostError, or whatever comes of what cannot be taken."""
        query = {
            "labelSelector": self._selector,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_S),
            "resourceVersion": self._version,
        }
        path, about = self._client.path(self._resource), ("watch", self._resource)
        clock = asyncio.get_running_loop().time
        least_s = clock() + LEAST_S
        async with aclosing(self._client.lines(path, query, QUIET_S, about)) as came:
            async for lines in came:
                for line in filter(None, lines):
                    self._take(json.loads(line))
        if clock() < least_s:
            raise HostError("the cluster ended the watch at once")

    def _take(self, event: Object) -> None:
        """Take an event. Raises HostError for one that ends the watch, such as 410 for a place that is too old."""
        kind, about = event["type"], event["object"]
        if kind == "ERROR":
            raise HostError(f"the cluster ended the watch: {about.get('message')} ({about.get('code')})")
        self._version = about["metadata"]["resourceVersion"]
        if kind != "BOOKMARK":
            slots = {self._drop(about["metadata"]["name"]), _slot_label(about)}
            if kind != "DELETED":
                self._put(about)
            self._changed(slots)

    def _put(self, found: Object) -> None:
        name = found["metadata"]["name"]
        self.objects[name] = self._by_slot.setdefault(_slot_label(found), {})[name] = found

    def _drop(self, name: str) -> str:
        """Forget one, if it is known. Returns the label of the slot that it had."""
        if (known := self.objects.pop(name, None)) is None:
            return ""
        label = _slot_label(known)
        of_slot = self._by_slot[label]
        del of_slot[name]
        if not of_slot:
            del self._by_slot[label]
        return label


def _slot_label(found: Object) -> str:
    """Empty for an object whose label somebody took away."""
    return str((found["metadata"].get("labels") or {}).get(SLOT, ""))
