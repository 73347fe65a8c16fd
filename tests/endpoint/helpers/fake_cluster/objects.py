"""The objects of a fake cluster: their versions, their changes, and how they are deleted.

What an API server does with an object whoever asks is here; what controllers make of it is in `controllers`.
"""

import asyncio
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.endpoint.helpers.fake_cluster.refusals import KINDS, already_exists, not_found, other_uid, too_old

Object = dict[str, Any]
POD_GRACE_S = 30
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
OVER = ("Failed", "Succeeded")


def moment(in_s: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=in_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Happened:
    """One change: the object as it was then, and as it was before."""

    resource: str
    kind: str
    now: Object
    before: Object

    def shown(self, selector: str) -> Object | None:
        """The event for who watches the objects of a selector. One that leaves these is DELETED, as it was."""
        is_there, was_there = selected(self.now, selector), selected(self.before, selector)
        if self.kind != "MODIFIED":
            return {"type": self.kind, "object": self.now} if is_there else None
        if is_there:
            return {"type": "MODIFIED" if was_there else "ADDED", "object": self.now}
        version = self.now["metadata"]["resourceVersion"]
        left = {**self.before, "metadata": {**self.before["metadata"], "resourceVersion": version}}
        return {"type": "DELETED", "object": left} if was_there else None


class Objects:
    """Objects by resource and name. A watch reads what `happened` since a version, waits for `change`, and reads on."""

    def __init__(self) -> None:
        self.by_name: dict[tuple[str, str], Object] = {}
        self.change = asyncio.Event()
        self._happened: list[Happened] = []
        self._forgotten = 0  # how many changes no watch can begin before

    @property
    def version(self) -> int:
        return self._forgotten + len(self._happened)

    def since(self, version: int) -> list[Happened]:
        """Raises Refused for a version that is forgotten."""
        if version < self._forgotten:
            raise too_old(version, self.version)
        return self._happened[version - self._forgotten :]

    def compact(self) -> None:
        """Forget what happened: a watch from before now has to start over with a list."""
        self._forgotten += len(self._happened)
        self._happened = []

    def all(self, resource: str, selector: str = "") -> list[Object]:
        return [one for (of, _), one in self.by_name.items() if of == resource and selected(one, selector)]

    def get(self, resource: str, name: str) -> Object:
        """Raises Refused."""
        if (found := self.by_name.get((resource, name))) is None:
            raise not_found(resource, name)
        return found

    def owned_by(self, uid: str) -> list[tuple[str, str]]:
        """The resource and name of each object with this owner."""
        return [key for key, one in self.by_name.items() if uid in owners(one)]

    def create(self, resource: str, given: Object) -> Object:
        """Raises Refused."""
        metadata = given["metadata"]
        if (present := self.by_name.get((resource, metadata["name"]))) is not None:
            raise already_exists(resource, metadata["name"], "deletionTimestamp" in present["metadata"])
        version, kind = KINDS[resource]
        own = {"uid": secrets.token_hex(8), "creationTimestamp": moment(), "generation": 1}
        made = {"apiVersion": version, "kind": kind, **given, "metadata": {**metadata, **own}}
        return self._put("ADDED", resource, made, made)

    def patch(self, resource: str, name: str, change: Object) -> Object:
        """Apply a merge patch (RFC 7386). One that is being deleted goes with its last finalizer. Raises Refused."""
        before = self.get(resource, name)
        merged = dict(_merged(before, change))
        if merged == before:
            return before
        if merged["metadata"].get("finalizers") == []:
            del merged["metadata"]["finalizers"]
        if merged.get("spec") != before.get("spec"):
            merged["metadata"]["generation"] += 1
        if (
            "deletionTimestamp" in merged["metadata"]
            and resource != "pods"
            and not merged["metadata"].get("finalizers")
        ):
            self.remove(resource, name)
            return merged
        return self._put("MODIFIED", resource, merged, before)

    def delete(self, resource: str, name: str, options: Object) -> Object:
        """As a call for it: the object if it stays for a while, else a Status. Raises Refused."""
        metadata = (found := self.get(resource, name))["metadata"]
        wanted = (options.get("preconditions") or {}).get("uid")
        if wanted not in (None, metadata["uid"]):
            raise other_uid(resource, name, wanted, metadata["uid"])
        if resource == "pods":
            return self._end_pod(found, options.get("gracePeriodSeconds"))
        finalizers = list(metadata.get("finalizers", ()))
        if (further := FINALIZERS.get(options.get("propagationPolicy", ""))) and further not in finalizers:
            finalizers.append(further)
        if not finalizers:
            self.remove(resource, name)
            return {"kind": "Status", "status": "Success", "details": {"name": name, "uid": metadata["uid"]}}
        ends = {"deletionTimestamp": moment(), "deletionGracePeriodSeconds": 0}
        marked = {} if "deletionTimestamp" in metadata else ends
        return self.patch(resource, name, {"metadata": {**marked, "finalizers": finalizers}})

    def remove(self, resource: str, name: str) -> None:
        """At once, whatever holds it."""
        removed = self.by_name.pop((resource, name))
        self._put("DELETED", resource, removed, removed)

    def _end_pod(self, pod: Object, grace_s: float | None) -> Object:
        """Mark it for its kubelet. A later deletion may only shorten the grace. A pod that no kubelet runs goes."""
        metadata, name = pod["metadata"], pod["metadata"]["name"]
        own_s = pod["spec"].get("terminationGracePeriodSeconds", POD_GRACE_S)
        grace_s = own_s if grace_s is None else grace_s
        if not pod["spec"].get("nodeName") or (pod.get("status") or {}).get("phase") in OVER:
            grace_s = 0
        if grace_s < metadata.get("deletionGracePeriodSeconds", float("inf")):
            ends = {"deletionTimestamp": moment(grace_s), "deletionGracePeriodSeconds": grace_s}
            pod = self.patch("pods", name, {"metadata": ends})
        if grace_s == 0 and not metadata.get("finalizers"):
            self.remove("pods", name)
        return pod

    def _put(self, kind: str, resource: str, now: Object, before: Object) -> Object:
        """Note a change. Objects are never changed in place: who watches is shown what was."""
        now = {**now, "metadata": {**now["metadata"], "resourceVersion": str(self.version + 1)}}
        if kind != "DELETED":
            self.by_name[resource, now["metadata"]["name"]] = now
        self._happened.append(Happened(resource, kind, now, before))
        self.change.set()
        self.change = asyncio.Event()
        return now


def owners(one: Object) -> list[str]:
    """The uids of its owners."""
    return [owner["uid"] for owner in one["metadata"].get("ownerReferences", ())]


def selected(about: Object, selector: str) -> bool:
    wanted = dict(one.split("=") for one in selector.split(",") if one)
    return bool(wanted.items() <= about["metadata"].get("labels", {}).items())


def _merged(before: Any, change: Any) -> Any:
    """The null of a member takes it away; a list is replaced as a whole."""
    if not isinstance(change, dict):
        return change
    merged = dict(before) if isinstance(before, dict) else {}
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
