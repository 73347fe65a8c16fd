"""Makes a Kubernetes host, and says before that in one line why there can be none."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from torpor_container.how_to_install import how_to_install
from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes import preflight
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import find_cluster
from torpor_endpoint.host.kubernetes.kubernetes_file import BadKubernetesFile, KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost
from torpor_endpoint.host.launch_names import deployment_digest

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers

MODULES = ("httpx", "yaml")
CHECKED_WITHIN_S = 30.0


def kubernetes_host(
    file: Path | None, deployment_secret: bytes, keep: bool, peers: "DeploymentPeers | None"
) -> KubernetesHost:
    """The host of the cluster that this process is to use. Raises BadKubernetesFile, HostError."""
    settings = KubernetesSettings.read(file)
    client = KubernetesClient(find_cluster(settings.context, settings.namespace))
    return KubernetesHost(client, settings, deployment_secret, keep, peers)


def fault(file: Path | None) -> str | None:
    """Why no instance can run there, with the option that is to be changed; None if the cluster takes them."""
    if not all(map(find_spec, MODULES)):
        return f"--instances-on kubernetes: httpx or PyYAML is not installed: {how_to_install('kubernetes')}"
    try:
        settings = KubernetesSettings.read(file)
    except BadKubernetesFile as error:
        return f"--kubernetes-file: {error}"
    try:
        asyncio.run(_checked(settings))
    except HostError as error:
        return f"--instances-on kubernetes: {error}"
    except TimeoutError:
        return f"--instances-on kubernetes: the cluster has not answered within {CHECKED_WITHIN_S:g} s"
    return None


async def _checked(settings: KubernetesSettings) -> None:
    client = KubernetesClient(find_cluster(settings.context, settings.namespace))
    try:
        async with asyncio.timeout(CHECKED_WITHIN_S):
            await preflight.check(client, settings, deployment_digest(b""))
    finally:
        await client.close()
