"""What a pod's status says of an instance."""

from typing import Any

import pytest

from torpor_endpoint.host import Phase
from torpor_endpoint.host.kubernetes.pods import newest, seen, why_no_pod

Json = dict[str, Any]


def pod(status: Json, name: str = "p", **metadata: str) -> Json:
    return {"metadata": {"name": name, "uid": f"u-{name}", **metadata}, "status": status}


def of_container(restarts: int = 0, ip: str = "10.0.0.7", last: Json | None = None, **state: Json) -> Json:
    container = {"name": "instance", "restartCount": restarts, "state": state, "lastState": last or {}}
    begun = {"containerID": "c://1"} if last or "waiting" not in state else {}
    return {"phase": "Running", "podIP": ip, "containerStatuses": [{**container, **begun}]}


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available:\n3 Insufficient memory.",
}
ENDED: Json = {"terminated": {"exitCode": 3}}

CASES: list[tuple[Json, Phase, str, str]] = [
    ({"phase": "Pending"}, Phase.PENDING, "its pod waits for a machine", ""),
    (
        {"phase": "Pending", "conditions": [UNSCHEDULABLE]},
        Phase.PENDING,
        "Unschedulable: 0/3 nodes are available: 3 Insufficient memory.",
        "",
    ),
    (of_container(waiting={"reason": "ContainerCreating"}), Phase.PENDING, "ContainerCreating", ""),
    (
        of_container(waiting={"reason": "ImagePullBackOff", "message": "not found"}),
        Phase.EXITED,
        "ImagePullBackOff: not found",
        "",
    ),
    (of_container(waiting={"reason": "ErrImagePull", "message": "reset"}), Phase.PENDING, "ErrImagePull: reset", ""),
    (of_container(running={}), Phase.RUNNING, "", "u-p-0"),
    (of_container(ip="", running={}), Phase.PENDING, "its pod has no address yet", "u-p-0"),
    (of_container(restarts=2, last=ENDED, running={}), Phase.RUNNING, "", "u-p-2"),
    (of_container(terminated={"exitCode": 137}), Phase.EXITED, "its process was ended by signal 9", "u-p-0"),
    (of_container(terminated={"exitCode": 0}), Phase.EXITED, "it ended", "u-p-0"),
    (
        of_container(terminated={"exitCode": 137, "reason": "OOMKilled"}),
        Phase.EXITED,
        "the machine ended it: it took more memory than its limit (OOMKilled)",
        "u-p-0",
    ),
    (
        of_container(restarts=1, last=ENDED, waiting={"reason": "CrashLoopBackOff"}),
        Phase.EXITED,
        "its process ended with exit code 3",
        "u-p-1",
    ),
    (
        {"phase": "Failed", "reason": "Evicted", "message": "low on disk"},
        Phase.EXITED,
        "its pod ended: low on disk",
        "",
    ),
]


@pytest.mark.parametrize(("status", "phase", "reason", "incarnation"), CASES)
def test_a_status_is_read(status: Json, phase: Phase, reason: str, incarnation: str) -> None:
    found = seen(pod(status))
    assert (found.phase, found.reason, found.incarnation) == (phase, reason, incarnation)


def test_a_pod_that_is_being_deleted_has_ended() -> None:
    found = seen(pod(of_container(running={}), deletionTimestamp="2026-01-01T00:00:00Z"))
    assert (found.phase, found.reason) == (Phase.EXITED, "its pod is being deleted")


def test_the_pod_that_stays_counts_before_one_that_leaves() -> None:
    leaves = pod(of_container(running={}), "old", creationTimestamp="2026-01-02", deletionTimestamp="2026-01-02")
    stays = pod(of_container(running={}), "new", creationTimestamp="2026-01-01")
    assert newest([leaves, stays]).pod == "new"


def test_a_quota_is_the_reason_for_no_pod() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: cpu"}
    assert why_no_pod({"status": {"conditions": [condition]}}) == "FailedCreate: exceeded quota: cpu"
    assert why_no_pod({}) == "it has no pod yet"
