"""Asks a cluster, before the first launch, whether it lets Torpor do what it needs, and who owns its instances."""

import asyncio
from typing import Any

from torpor_endpoint.host import HostError, LaunchSpec, Slot
from torpor_endpoint.host.kubernetes.api.client import ClusterRefused, KubernetesClient
from torpor_endpoint.host.kubernetes.api.role_rules import BUDGET_RIGHTS, RIGHTS, refusal
from torpor_endpoint.host.kubernetes.kubernetes_file import OWNERS, KubernetesSettings
from torpor_endpoint.host.kubernetes.manifests import Generation, deployment

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SAMPLE = Slot("preflight", "AllTraffic", 0)

Object = dict[str, Any]


async def check(client: KubernetesClient, settings: KubernetesSettings, digest: str) -> Object | None:
    """The owner's reference, or None. Raises HostError for a cluster, a namespace, a right or an owner that is not
    there."""
    version = await client.ask("GET", "/version", about=("get", "version"))
    if "gitVersion" not in version:
        raise HostError(f"{client.cluster.url} is no Kubernetes: it tells no version")
    needed = RIGHTS + BUDGET_RIGHTS if settings.disruption_budgets else RIGHTS
    reviews = [_allowed(client, one.group, one.resource, verb) for one in needed for verb in one.verbs]
    for fault in await asyncio.gather(*reviews, return_exceptions=True):
        if fault is not None:
            raise fault
    owner = await _owner(client, settings.owner) if settings.owner else None
    sample = deployment(Generation(SAMPLE, digest, "0"), LaunchSpec(SAMPLE), settings, owner)
    try:
        await client.call("create", "deployments", body=sample, query={"dryRun": "All"})
    except ClusterRefused as refused:
        if refused.status != 409:
            raise
    return owner


async def _allowed(client: KubernetesClient, group: str, resource: str, verb: str) -> None:
    """Raises HostError with the rule that lacks."""
    named, _, of = resource.partition("/")
    asked = {"namespace": client.cluster.namespace, "verb": verb, "group": group, "resource": named}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {**asked, **({"subresource": of} if of else {})}},
    }
    answer = await client.ask("POST", REVIEWS, body, about=("create", "selfsubjectaccessreviews"))
    if not answer["status"]["allowed"]:
        raise HostError(refusal(verb, resource, client.cluster.namespace))


async def _owner(client: KubernetesClient, owner: str) -> Object:
    """The reference to the object that owns all instances."""
    kind, _, name = owner.partition("/")
    version, resource = OWNERS[kind]
    try:
        found = await client.call("get", resource, name)
    except ClusterRefused as refused:
        if refused.status == 404:
            raise HostError(f"the owner {owner} is not in the namespace {client.cluster.namespace}") from refused
        raise
    return {"apiVersion": version, "kind": kind, "name": name, "uid": found["metadata"]["uid"]}
