"""What a fake cluster lets in: names, labels and selectors that are valid, within quotas and the namespace's rules."""

import re
from typing import Any

from tests.endpoint.helpers.fake_cluster.objects import Object, Objects
from tests.endpoint.helpers.fake_cluster.refusals import KINDS, Refused, forbidden, full_name

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
NAME_MAX, LABEL_MAX = 253, 63
ENFORCED = "pod-security.kubernetes.io/enforce"


def admit(resource: str, given: Object, objects: Objects, namespace: Object) -> None:
    """Raises Refused."""
    name, metadata = given["metadata"]["name"], given["metadata"]
    if "deletionTimestamp" in namespace["metadata"]:
        of = namespace["metadata"]["name"]
        why = f"unable to create new content in namespace {of} because it is being terminated"
        raise forbidden(resource, name, why, ("NamespaceTerminating", f"namespace {of} is being terminated"))
    if not NAME.fullmatch(name) or len(name) > NAME_MAX:
        raise _invalid(resource, name, f'metadata.name: Invalid value: "{name}": a lowercase RFC 1123 subdomain …')
    for value in metadata.get("labels", {}).values():
        if not LABEL.fullmatch(value) or len(value) > LABEL_MAX:
            raise _invalid(resource, name, f'metadata.labels: Invalid value: "{value}": a valid label …')
    if resource == "deployments":
        selector = given["spec"]["selector"]["matchLabels"].items()
        if not selector <= given["spec"]["template"]["metadata"]["labels"].items():
            raise _invalid(resource, name, "spec.template.metadata.labels: `selector` does not match template `labels`")
    if resource == "pods" and (broken := broken_rules(given["spec"], namespace)):
        raise forbidden(resource, name, broken)
    _within_quotas(resource, name, objects)


def broken_rules(pod: Object, namespace: Object) -> str:
    """What the namespace's level of PodSecurity does not allow of a pod. Only `restricted` is known."""
    if namespace["metadata"].get("labels", {}).get(ENFORCED) != "restricted":
        return ""
    found = [rule for rule, kept in _rules(pod).items() if not kept]
    return f'violates PodSecurity "restricted:latest": {", ".join(found)}' if found else ""


def _rules(pod: Object) -> dict[str, bool]:
    of_pod: Object = pod.get("securityContext") or {}
    of_all: list[Object] = [one.get("securityContext") or {} for one in pod["containers"]]

    def everywhere(name: str, value: Any) -> bool:
        return all(one.get(name, of_pod.get(name)) == value for one in of_all)

    profiles = [(one.get("seccompProfile") or of_pod.get("seccompProfile") or {}).get("type") for one in of_all]
    return {
        "allowPrivilegeEscalation != false": all(one.get("allowPrivilegeEscalation") is False for one in of_all),
        "unrestricted capabilities": all("ALL" in (one.get("capabilities") or {}).get("drop", ()) for one in of_all),
        "runAsNonRoot != true": everywhere("runAsNonRoot", True),
        "seccompProfile": all(profile in ("RuntimeDefault", "Localhost") for profile in profiles),
    }


def _within_quotas(resource: str, name: str, objects: Objects) -> None:
    counted = {resource, f"count/{full_name(resource)}"}
    for quota in objects.all("resourcequotas"):
        for of, limit in ((quota.get("status") or {}).get("hard") or {}).items():
            used = len(objects.all(resource))
            if of in counted and used + 1 > int(limit):
                about = f"exceeded quota: {quota['metadata']['name']}"
                why = f"{about}, requested: {of}=1, used: {of}={used}, limited: {of}={limit}"
                raise forbidden(resource, name, why)


def _invalid(resource: str, name: str, why: str) -> Refused:
    group = full_name(resource).removeprefix(resource)
    return Refused(422, "Invalid", f'{KINDS[resource][1]}{group} "{name}" is invalid: {why}')
