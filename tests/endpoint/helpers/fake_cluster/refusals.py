"""What an API server answers when it refuses a call: HTTP's status, and a Status with the reason for programs."""

from typing import Any


class Refused(Exception):
    """`reason` and `causes` are for programs. `retry_after_s` is when to call again, if the server says so."""

    def __init__(
        self, status: int, reason: str, message: str, *causes: tuple[str, str], retry_after_s: int = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        details: dict[str, Any] = {"causes": [{"reason": of, "message": said} for of, said in causes]} if causes else {}
        self.said = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details | ({"retryAfterSeconds": retry_after_s} if retry_after_s else {}),
            "code": status,
        }


def not_found(resource: str, name: str) -> Refused:
    return Refused(404, "NotFound", f'{full_name(resource)} "{name}" not found')


def already_exists(resource: str, name: str, leaves: bool) -> Refused:
    first = "object is being deleted: " if leaves else ""
    return Refused(409, "AlreadyExists", f'{first}{full_name(resource)} "{name}" already exists')


def other_uid(resource: str, name: str, wanted: str, present: str) -> Refused:
    message = (
        f'Operation cannot be fulfilled on {full_name(resource)} "{name}": the UID in the precondition ({wanted}) does '
        f"not match the UID in record ({present}). The object might have been deleted and then recreated"
    )
    return Refused(409, "Conflict", message)


def forbidden(resource: str, name: str, why: str, *causes: tuple[str, str]) -> Refused:
    return Refused(403, "Forbidden", f'{full_name(resource)} "{name}" is forbidden: {why}', *causes)


def too_old(version: int, oldest: int) -> Refused:
    return Refused(410, "Expired", f"too old resource version: {version} ({oldest})")


def full_name(resource: str) -> str:
    """As messages have it: with the group that is not the core's."""
    group = GROUPS.get(resource)
    return f"{resource}.{group}" if group else resource


GROUPS = {"deployments": "apps", "replicasets": "apps", "poddisruptionbudgets": "policy"}
KINDS = {
    "deployments": ("apps/v1", "Deployment"),
    "replicasets": ("apps/v1", "ReplicaSet"),
    "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
    "pods": ("v1", "Pod"),
    "secrets": ("v1", "Secret"),
    "configmaps": ("v1", "ConfigMap"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "nodes": ("v1", "Node"),
    "namespaces": ("v1", "Namespace"),
}
