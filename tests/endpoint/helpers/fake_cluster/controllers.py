"""What the controllers and the scheduler of a fake cluster make of its objects. Each looks at everything each time.

They are those of a real one that the host has to do with: of Deployments and ReplicaSets, of what belongs to a deleted
owner, of disruption budgets, quotas and taints.
"""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.endpoint.helpers.fake_cluster.admission import admit
from tests.endpoint.helpers.fake_cluster.objects import FOREGROUND, ORPHAN, OVER, Object, Objects, owners, selected
from tests.endpoint.helpers.fake_cluster.refusals import Refused

UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATED_S = 300
UNITS_MIB = {"Mi": 1, "Gi": 1024, "Ti": 1024**2}


class Controllers:
    """`around` has what belongs to no namespace. While they `rest`, nothing becomes of what changes."""

    def __init__(self, objects: Objects, around: Objects, namespace: str) -> None:
        self.rest = False
        self._objects = objects
        self._around = around
        self._namespace = namespace
        self._evictions: dict[str, asyncio.TimerHandle] = {}  # by the uid of a pod

    def look(self) -> None:
        """Once. What they change they see at the next look."""
        if self.rest:
            return
        for resource, controller in self._table().items():
            for one in self._objects.all(resource):
                if (resource, one["metadata"]["name"]) in self._objects.by_name:  # nobody has deleted it meanwhile
                    controller(one)
        self._collect()

    def close(self) -> None:
        for timer in self._evictions.values():
            timer.cancel()

    def _table(self) -> dict[str, Callable[[Object], None]]:
        return {
            "deployments": self._deployment,
            "replicasets": self._replica_set,
            "pods": self._pod,
            "poddisruptionbudgets": self._budget,
            "resourcequotas": self._quota,
        }

    # -- Deployments -----------------------------------------------------------------------------------------------
    def _deployment(self, found: Object) -> None:
        """Keep one ReplicaSet with its number of pods, and say of it what that says."""
        metadata, spec = found["metadata"], found["spec"]
        if "deletionTimestamp" in metadata:
            return
        sets = [one for one in self._objects.all("replicasets") if metadata["uid"] in owners(one)]
        if not sets:
            self._objects.create("replicasets", _replica_set(found))
        elif sets[0]["spec"]["replicas"] != spec["replicas"]:
            self._objects.patch("replicasets", sets[0]["metadata"]["name"], {"spec": {"replicas": spec["replicas"]}})
        failures = (sets[0].get("status") or {}).get("conditions", []) if sets else []
        self._say("deployments", metadata["name"], observedGeneration=metadata["generation"], conditions=failures)

    def _replica_set(self, found: Object) -> None:
        metadata, template = found["metadata"], found["spec"]["template"]
        if "deletionTimestamp" in metadata:
            return
        active = [one for one in self._pods_of(metadata["uid"]) if _active(one)]
        for pod in active[found["spec"]["replicas"] :]:
            self._objects.delete("pods", pod["metadata"]["name"], {})
        failures: list[Object] = []
        for _ in range(found["spec"]["replicas"] - len(active)):
            name = f"{metadata['name']}-{secrets.token_hex(3)}"
            pod = {
                "metadata": {**template["metadata"], "name": name, "ownerReferences": [_owner("ReplicaSet", found)]},
                "spec": {"terminationGracePeriodSeconds": 30, **template["spec"]},
                "status": {"phase": "Pending"},
            }
            try:
                admit("pods", pod, self._objects, self._around.get("namespaces", self._namespace))
                self._objects.create("pods", pod)
            except Refused as refused:
                said = str(refused).replace(name, "a-pod")  # each try has another name, and is no news
                failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": said}
                failures = [failure]
        self._say("replicasets", metadata["name"], conditions=failures)

    def _pods_of(self, uid: str) -> list[Object]:
        return [one for one in self._objects.all("pods") if uid in owners(one)]

    def _say(self, resource: str, name: str, **status: Any) -> None:
        self._objects.patch(resource, name, {"status": status})

    # -- pods: the scheduler, and taints ---------------------------------------------------------------------------
    def _pod(self, pod: Object) -> None:
        nodes = {one["metadata"]["name"]: one for one in self._around.all("nodes")}
        if not (of := pod["spec"].get("nodeName")):
            self._schedule(pod, list(nodes.values()))
        elif of in nodes:
            self._evict_from(nodes[of], pod)

    def _schedule(self, pod: Object, nodes: list[Object]) -> None:
        name = pod["metadata"]["name"]
        if "deletionTimestamp" in pod["metadata"]:
            return
        open_nodes = [one for one in nodes if not (one.get("spec") or {}).get("taints")]
        fitting = [one for one in open_nodes if _memory_mib(pod) <= _room_mib(one)]
        if fitting:
            self._objects.patch("pods", name, {"spec": {"nodeName": fitting[0]["metadata"]["name"]}})
            return
        tainted, small = len(nodes) - len(open_nodes), len(open_nodes)
        reasons = [f"{tainted} node(s) had untolerated taint(s)"] * bool(tainted)
        reasons += [f"{small} Insufficient memory"] * bool(small)
        why = f"0/{len(nodes)} nodes are available: {', '.join(reasons)}."
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        self._say("pods", name, conditions=[waits])

    def _evict_from(self, node: Object, pod: Object) -> None:
        """A machine that is lost has a taint. A pod goes after the time for which it tolerates that."""
        taints = [one["key"] for one in (node.get("spec") or {}).get("taints", ()) if one["effect"] == "NoExecute"]
        uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
        if not taints or "deletionTimestamp" in pod["metadata"] or uid in self._evictions:
            return
        tolerated = [one for one in pod["spec"].get("tolerations", ()) if one.get("key") == taints[0]]
        within_s = tolerated[0].get("tolerationSeconds", TOLERATED_S) if tolerated else TOLERATED_S

        def evict() -> None:
            if self._objects.by_name.get(("pods", name), {}).get("metadata", {}).get("uid") == uid:
                disrupt(self._objects, name, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
                self._objects.delete("pods", name, {})

        self._evictions[uid] = asyncio.get_running_loop().call_later(max(0, within_s), evict)

    # -- counts ----------------------------------------------------------------------------------------------------
    def _budget(self, budget: Object) -> None:
        """Count the healthy pods of a budget. Only `maxUnavailable`, a number, and labels are known."""
        spec, metadata = budget["spec"], budget["metadata"]
        selector = ",".join(f"{name}={value}" for name, value in spec["selector"]["matchLabels"].items())
        pods = [one for one in self._objects.all("pods", selector) if _active(one)]
        healthy, desired = len([one for one in pods if ready(one)]), max(0, len(pods) - spec["maxUnavailable"])
        self._say(
            "poddisruptionbudgets",
            metadata["name"],
            observedGeneration=metadata["generation"],
            disruptionsAllowed=max(0, healthy - desired),
            currentHealthy=healthy,
            desiredHealthy=desired,
        )

    def _quota(self, quota: Object) -> None:
        self._say("resourcequotas", quota["metadata"]["name"], hard=quota["spec"]["hard"])

    # -- the garbage collector -------------------------------------------------------------------------------------
    def _collect(self) -> None:
        """Delete what has lost its owners, and let go of owners that wait for what belongs to them."""
        present = {one["metadata"]["uid"] for one in self._objects.by_name.values()}
        for (resource, name), one in list(self._objects.by_name.items()):
            if "deletionTimestamp" in one["metadata"]:
                self._let_go(resource, name, one)
            elif owners(one) and not present & {*owners(one)}:
                with suppress(Refused):
                    self._objects.delete(resource, name, {"propagationPolicy": "Background"})

    def _let_go(self, resource: str, name: str, leaving: Object) -> None:
        finalizers = leaving["metadata"].get("finalizers", [])
        belongings = self._objects.owned_by(leaving["metadata"]["uid"])
        if ORPHAN in finalizers:
            for key in belongings:
                self._objects.patch(*key, {"metadata": {"ownerReferences": None}})
            rest = [one for one in finalizers if one != ORPHAN]
            self._objects.patch(resource, name, {"metadata": {"finalizers": rest}})
        elif FOREGROUND in finalizers:
            for key in belongings:
                if "deletionTimestamp" not in self._objects.get(*key)["metadata"]:
                    self._objects.delete(*key, {"propagationPolicy": "Foreground" if key[0] == "replicasets" else ""})
            if not [
                key for key in self._objects.owned_by(leaving["metadata"]["uid"]) if key[0] in ("replicasets", "pods")
            ]:
                rest = [one for one in finalizers if one != FOREGROUND]
                self._objects.patch(resource, name, {"metadata": {"finalizers": rest}})


def evict(objects: Objects, name: str) -> None:
    """The eviction of a pod, as a drain asks for it. Raises Refused while a disruption budget holds it up."""
    pod = objects.get("pods", name)
    for budget in objects.all("poddisruptionbudgets"):
        selector = ",".join(f"{key}={value}" for key, value in budget["spec"]["selector"]["matchLabels"].items())
        always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if not selected(pod, selector) or not _active(pod) or pod["status"]["phase"] == "Pending":
            continue
        if always and not ready(pod):
            continue
        status = budget.get("status") or {}
        if status.get("observedGeneration") != budget["metadata"]["generation"]:
            raise _held_up("is still being processed by the server.", budget, 10)
        if not status["disruptionsAllowed"]:
            counts = f"needs {status['desiredHealthy']} healthy pods and has {status['currentHealthy']} currently"
            raise _held_up(counts, budget, 0)
        left = {"disruptionsAllowed": status["disruptionsAllowed"] - 1}
        objects.patch("poddisruptionbudgets", budget["metadata"]["name"], {"status": left})
    disrupt(objects, name, "EvictionByEvictionAPI", "Eviction API: evicting")
    objects.delete("pods", name, {})


def disrupt(objects: Objects, name: str, reason: str, message: str) -> None:
    """Say in a pod's conditions why it is going to be deleted."""
    known = (objects.get("pods", name).get("status") or {}).get("conditions", [])
    target = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}
    objects.patch("pods", name, {"status": {"conditions": [*known, target]}})


def ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _held_up(why: str, budget: Object, retry_after_s: int) -> Refused:
    said = "Cannot evict pod as it would violate the pod's disruption budget."
    cause = ("DisruptionBudget", f"The disruption budget {budget['metadata']['name']} {why}")
    return Refused(429, "TooManyRequests", said, cause, retry_after_s=retry_after_s)


def _active(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and (pod.get("status") or {}).get("phase") not in OVER


def _memory_mib(pod: Object) -> int:
    wanted = str((pod["spec"]["containers"][0].get("resources") or {}).get("requests", {}).get("memory", "0Mi"))
    return int(wanted[:-2]) * UNITS_MIB[wanted[-2:]]


def _room_mib(node: Object) -> int:
    room = str(node["status"]["allocatable"]["memory"])
    return int(room[:-2]) * UNITS_MIB[room[-2:]]


def _owner(kind: str, found: Object) -> Object:
    metadata = found["metadata"]
    named = {"apiVersion": "apps/v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**named, "controller": True, "blockOwnerDeletion": True}


def _replica_set(found: Object) -> Object:
    metadata, template = found["metadata"], found["spec"]["template"]
    told_apart = secrets.token_hex(4)
    labels = {**template["metadata"]["labels"], "pod-template-hash": told_apart}
    return {
        "metadata": {
            "name": f"{metadata['name']}-{told_apart}",
            "labels": labels,
            "ownerReferences": [_owner("Deployment", found)],
        },
        "spec": {
            "replicas": found["spec"]["replicas"],
            "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
        },
    }
