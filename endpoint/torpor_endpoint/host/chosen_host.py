"""The host that an endpoint's options choose: this machine, a Kubernetes cluster, or a Ray cluster."""

from typing import TYPE_CHECKING

from torpor_account.storage.data_dir import DataDir
from torpor_endpoint.host import Host
from torpor_endpoint.host.local import LocalHost
from torpor_endpoint.options import KUBERNETES, LOCAL, Options

if TYPE_CHECKING:
    from torpor_endpoint.peers.deployment_peers import DeploymentPeers


def chosen_host(
    options: Options, folders: DataDir, secret: bytes, local: LocalHost, peers: "DeploymentPeers | None"
) -> Host:
    """Where instances run; `local` is this machine. On others they speak TLS by the certificates of `peers`. Raises
    HostError, BadKubernetesFile, OSError."""
    if options.instances_on == LOCAL:
        return local
    if options.instances_on == KUBERNETES:
        from torpor_endpoint.host.kubernetes.host_start import kubernetes_host

        return kubernetes_host(options.kubernetes_file, secret, options.keep_instances, peers)
    from torpor_endpoint.host.ray.ray_address import address_of
    from torpor_endpoint.host.ray.ray_host import RayHost

    address = address_of(options.instances_on)
    assert address is not None, options.instances_on
    called = options.instances_url if options.s3_endpoint is None else ""
    return RayHost(address, secret, folders.endpoint_logs, called, keep=options.keep_instances, peers=peers)
