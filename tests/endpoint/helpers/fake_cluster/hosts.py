"""Makes hosts of a fake cluster for tests."""

from pathlib import Path

from tests.endpoint.helpers.fake_cluster.api import NAMESPACE, TOKEN, FakeCluster
from tests.endpoint.helpers.fake_cluster.containers import forked
from tests.endpoint.helpers.fake_cluster.kubelet import Kubelet
from tests.endpoint.helpers.fake_cluster.server import ClusterServer
from tests.endpoint.helpers.local_hosts import warm_parent
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import Cluster
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost

SETTINGS = KubernetesSettings("registry/torpor-instance:1", NAMESPACE)
SECRET = b"s" * 32


class ClusterGround:
    """A fake cluster, and hosts that use it. `close` ends everything."""

    def __init__(self, folder: Path) -> None:
        self._parent = warm_parent(folder / "kubelet")
        (folder / "kubelet").mkdir(parents=True, exist_ok=True)
        self.cluster = FakeCluster(Kubelet(forked(self._parent), folder / "pods"))
        self._server = ClusterServer(self.cluster)

    async def start(self) -> None:
        await self._server.start()

    def client(self, namespace: str = NAMESPACE, token: str = TOKEN) -> KubernetesClient:
        return KubernetesClient(Cluster(self._server.url, namespace, "a test", False, lambda: token))

    def host(
        self, settings: KubernetesSettings = SETTINGS, secret: bytes = SECRET, *, keep: bool = False
    ) -> KubernetesHost:
        return KubernetesHost(self.client(), settings, secret, keep)

    async def close(self) -> None:
        await self._server.close()
        await self._parent.close()
