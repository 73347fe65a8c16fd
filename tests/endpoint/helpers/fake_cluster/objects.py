"""The objects of a fake cluster, their versions, and what its controllers make of Deployments."""

import asyncio
import secrets
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Conflict(Exception):
    """There is an object of this name."""


class Objects:
    """Objects by resource and name. `happened` has every change; a watch waits for `change` and reads on."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], Object] = {}
        self.happened: list[tuple[str, str, Object]] = []  # resource, type of the event, object as it was then
        self.change = asyncio.Event()
        self.stopped: set[str] = set()  # resources whose controller does nothing: a Deployment gets no pod

    @property
    def by_name(self) -> dict[tuple[str, str], Object]:
        return self._by_name

    @property
    def version(self) -> int:
        return len(self.happened)

    def all(self, resource: str, selector: str = "") -> list[Object]:
        return [one for (of, _), one in self._by_name.items() if of == resource and selected(one, selector)]

    def create(self, resource: str, given: Object) -> Object:
        """Raises Conflict."""
        metadata = given["metadata"]
        if (resource, metadata["name"]) in self._by_name:
            raise Conflict(metadata["name"])
        made = {**given, "metadata": {**metadata, "uid": secrets.token_hex(8), "creationTimestamp": now()}}
        self._by_name[resource, metadata["name"]] = made
        self.tell(resource, "ADDED", made)
        return made

    def patch(self, resource: str, name: str, change: Object) -> Object:
        found = self._by_name[resource, name]
        found = {**found, **{key: {**found.get(key, {}), **value} for key, value in change.items()}}
        self._by_name[resource, name] = found
        self.tell(resource, "MODIFIED", found)
        return found

    def remove(self, resource: str, name: str) -> None:
        removed = self._by_name.pop((resource, name))
        self.tell(resource, "DELETED", removed)
        for of, dependent in list(self._by_name):
            owners = self._by_name[of, dependent]["metadata"].get("ownerReferences", [])
            if any(owner["uid"] == removed["metadata"]["uid"] for owner in owners) and of != "pods":
                self.remove(of, dependent)

    def tell(self, resource: str, event: str, about: Object) -> None:
        about["metadata"]["resourceVersion"] = str(self.version + 1)
        self.happened.append((resource, event, {**about, "metadata": dict(about["metadata"])}))
        self.change.set()
        self.change = asyncio.Event()

    def reconcile(self) -> None:
        """Give each Deployment its pod, as its controllers do, and end pods without one."""
        for found in self.all("deployments"):
            if found["spec"]["replicas"] and not self.pods_of(found) and "deployments" not in self.stopped:
                self.create("pods", _pod(found))
        uids = {one["metadata"]["uid"] for one in self.all("deployments")}
        for pod in self.all("pods"):
            if pod["metadata"]["ownerReferences"][0]["uid"] not in uids:
                self.end_pod(pod["metadata"]["name"], 30.0)

    def pods_of(self, found: Object) -> list[Object]:
        uid = found["metadata"]["uid"]
        pods = [pod for pod in self.all("pods") if pod["metadata"]["ownerReferences"][0]["uid"] == uid]
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def end_pod(self, name: str, grace_s: float) -> None:
        """As of a deletion: kubelet sees the mark. A later one may only shorten the grace period."""
        metadata = self._by_name["pods", name]["metadata"]
        if grace_s < metadata.get("deletionGracePeriodSeconds", float("inf")):
            change = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": grace_s}
            self.patch("pods", name, {"metadata": change})


def selected(about: Object, selector: str) -> bool:
    wanted = dict(one.split("=") for one in selector.split(",") if one)
    return bool(wanted.items() <= about["metadata"].get("labels", {}).items())


def _pod(found: Object) -> Object:
    metadata = found["metadata"]
    owner = {"kind": "ReplicaSet", "name": metadata["name"], "uid": metadata["uid"]}
    name = f"{metadata['name']}-{secrets.token_hex(3)}"
    template = found["spec"]["template"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], "name": name, "ownerReferences": [owner]},
        "spec": template["spec"],
        "status": {"phase": "Pending"},
    }
