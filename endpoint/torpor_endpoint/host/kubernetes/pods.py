"""Reads what a pod's status says of an instance. It does no I/O.

A container that kubelet starts again in the same pod is another incarnation: its memory is empty.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_endpoint.host import Phase
from torpor_endpoint.host.exits import exit_reason
from torpor_endpoint.host.kubernetes.manifests import CONTAINER

Json = Mapping[str, Any]

FAULTS = (
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerError",
    "RunContainerError",
    "StartError",
)
"""What a container waits for that does not come by itself. After one pull that failed kubelet waits before the next."""

ENDED = ("Failed", "Succeeded")
"""The phases of a pod whose containers are not started again."""


@dataclass(frozen=True)
class SeenPod:
    """An instance as its pod shows it. `incarnation` is empty before its container has begun. `before` says how the one
    before it in the same pod ended."""

    phase: Phase
    reason: str = ""
    incarnation: str = ""
    pod: str = ""
    ip: str = ""
    before: str = ""


NO_POD = SeenPod(Phase.PENDING, "it has no pod yet")
NO_MACHINE, NO_ADDRESS = "its pod waits for a machine", "its pod has no address yet"
ORDINARY = frozenset((NO_POD.reason, NO_MACHINE, NO_ADDRESS, "ContainerCreating", "PodInitializing"))
"""The reasons for which every pod waits for a moment."""


def seen(pod: Json) -> SeenPod:
    """The state of one pod."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    name, uid = metadata["name"], metadata["uid"]
    container = _container(status)
    begun = container.get("containerID") or container.get("lastState") or container.get("state", {}).get("running")
    incarnation = f"{uid}-{container.get('restartCount', 0)}" if begun else ""

    def found(phase: Phase, reason: str = "") -> SeenPod:
        return SeenPod(phase, reason, incarnation, name, status.get("podIP", ""), _ended(container).removeprefix(": "))

    if metadata.get("deletionTimestamp"):
        return found(
            Phase.EXITED, _sentence("its pod is being deleted", _condition(status, "DisruptionTarget", "True"))
        )
    if status.get("phase") in ENDED:
        return found(Phase.EXITED, _sentence("its pod ended", status) + _ended(container))
    state = container.get("state") or {}
    if "running" in state:
        return found(Phase.RUNNING) if status.get("podIP") else found(Phase.PENDING, NO_ADDRESS)
    if "terminated" in state or "terminated" in (container.get("lastState") or {}):
        return found(Phase.EXITED, _ended(container).removeprefix(": "))
    waiting = state.get("waiting") or {}
    if waiting.get("reason") in FAULTS:
        return found(Phase.EXITED, _sentence(waiting["reason"], {"message": waiting.get("message", "")}))
    return found(Phase.PENDING, _why_pending(status, waiting))


def newest(pods: Iterable[Json]) -> SeenPod:
    """The state of the instance whose pods these are. One that is being deleted or has ended counts only if there is no
    other: creation times are whole seconds, and the pod that replaces an evicted one may be made in the same second."""

    def order(pod: Json) -> tuple[bool, bool, str]:
        metadata, ended = pod["metadata"], (pod.get("status") or {}).get("phase") in ENDED
        return not metadata.get("deletionTimestamp"), not ended, metadata.get("creationTimestamp") or ""

    last = max(pods, key=order, default=None)
    return NO_POD if last is None else seen(last)


def why_no_pod(deployment: Json) -> str:
    """Why a Deployment has no pod: a quota, or a rule of the namespace."""
    failure = _condition(deployment.get("status") or {}, "ReplicaFailure", "True")
    return _sentence(failure.get("reason", ""), failure) if failure else NO_POD.reason


def _container(status: Json) -> Json:
    known: Iterable[Json] = status.get("containerStatuses") or ()
    return next((one for one in known if one.get("name") == CONTAINER), {})


def _why_pending(status: Json, waiting: Json) -> str:
    if unscheduled := _condition(status, "PodScheduled", "False"):
        return _sentence(unscheduled.get("reason", "Unschedulable"), unscheduled)
    if waiting:
        return _sentence(waiting.get("reason", "waiting"), waiting)
    return _sentence(status.get("reason") or NO_MACHINE, status)


def _condition(status: Json, kind: str, value: str) -> Json:
    """The condition of this kind with this value; empty if there is none."""
    known: Iterable[Json] = status.get("conditions") or ()
    return next((one for one in known if (one.get("type"), one.get("status")) == (kind, value)), {})


def _ended(container: Json) -> str:
    """How the container ended, with a colon before it; empty if that is not known."""
    states = (container.get("state") or {}, container.get("lastState") or {})
    ended = next((state["terminated"] for state in states if "terminated" in state), None)
    if ended is None:
        return ""
    code, reason = ended.get("exitCode", 0), ended.get("reason", "")
    if reason == "OOMKilled":
        return ": the machine ended it: it took more memory than its limit (OOMKilled)"
    return f": {exit_reason(128 - code if code > 128 else code)}"  # a machine's kernel writes a signal so


def _sentence(first: str, about: Json) -> str:
    message = " ".join(str(about.get("message") or "").split())[:400]
    return f"{first}: {message}" if message else first
