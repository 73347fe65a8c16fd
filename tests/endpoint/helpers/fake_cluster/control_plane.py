"""A real control plane for tests, from Kubernetes 1.24 on: etcd, API server, scheduler, controllers.

TORPOR_KUBERNETES_BINARIES names the folder of their programs. The user TORPOR is the service account of the Helm
chart's endpoint, and has the rights that the chart gives it.
"""

import asyncio
import os
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path
from socket import create_server
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import Cluster

BINARIES = os.environ.get("TORPOR_KUBERNETES_BINARIES", "")
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
ADMIN, TORPOR = "the-admins-token", "the-endpoints-token"
NAMESPACE = "models"
NODE = "machine"
STARTED_WITHIN_S = 60.0
EVERYBODYS = "system:discovery"
"""Who may ask for the version: the API server makes its own roles a moment after it answers."""
CONTROLLERS = "deployment,replicaset,garbagecollector,namespace,serviceaccount,disruption"
PATHS = {
    "ConfigMap": "api/v1/namespaces/models/configmaps",
    "ServiceAccount": "api/v1/namespaces/models/serviceaccounts",
    "Service": "api/v1/namespaces/models/services",
    "Role": "apis/rbac.authorization.k8s.io/v1/namespaces/models/roles",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1/namespaces/models/rolebindings",
    "NetworkPolicy": "apis/networking.k8s.io/v1/namespaces/models/networkpolicies",
    "StatefulSet": "apis/apps/v1/namespaces/models/statefulsets",
}
"""The kinds of the chart that every version of Kubernetes has."""

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: real
contexts: [{{name: real, context: {{cluster: real, user: admin}}}}]
clusters: [{{name: real, cluster: {{server: "{url}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
"""


def free_ports(count: int) -> list[int]:
    listeners = [create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class ControlPlane:
    """The processes. `client` calls as somebody, by a token."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._etcd, peer, self._port = free_ports(3)
        self._peer = peer
        self.url = f"https://127.0.0.1:{self._port}"

    def client(self, token: str) -> KubernetesClient:
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        return KubernetesClient(Cluster(self.url, NAMESPACE, "a test", tls, lambda: token))

    async def start(self) -> None:
        """Start all, with a namespace and a machine that has room."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._start_etcd()
        self._start_api()
        admin = self.client(ADMIN)
        await _reached(admin)
        for name, further in (
            ("kube-scheduler", ()),
            ("kube-controller-manager", (f"--controllers={CONTROLLERS}", "--use-service-account-credentials=false")),
        ):
            self._run(name, "--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0", *further)
        await admin.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await _add_machine(admin)
        await admin.close()

    async def install(self, objects: list[dict[str, Any]]) -> None:
        """Create the objects of the chart."""
        admin = self.client(ADMIN)
        for one in objects:
            if one["kind"] in PATHS:
                await admin.ask("POST", f"/{PATHS[one['kind']]}", one)
        await admin.close()

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def stop(self) -> None:
        """One after the other: an API server without its etcd takes a minute to end."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start_etcd(self) -> None:
        here, peers = f"http://127.0.0.1:{self._etcd}", f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd",
            "--data-dir=etcd",
            f"--listen-client-urls={here}",
            f"--advertise-client-urls={here}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        )

    def _start_api(self) -> None:
        subprocess.run(
            ["openssl", "genrsa", "-out", "accounts.key", "2048"], cwd=self._folder, check=True, capture_output=True
        )
        user = f"system:serviceaccount:{NAMESPACE}:mine-torpor"
        (self._folder / "tokens").write_text(f'{ADMIN},admin,1,"system:masters"\n{TORPOR},{user},2\n')
        (self._folder / "kubeconfig").write_text(KUBECONFIG.format(url=self.url, token=ADMIN))
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._port}",
            "--cert-dir=certificates",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            "--token-auth-file=tokens",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=accounts.key",
            "--service-account-signing-key-file=accounts.key",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        )

    def _run(self, name: str, *arguments: str) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen([str(Path(BINARIES) / name), *arguments], cwd=self._folder, stdout=log, stderr=log)
            )


async def _reached(client: KubernetesClient) -> None:
    async with asyncio.timeout(STARTED_WITHIN_S):
        while True:
            with suppress(HostError):
                await client.ask("GET", "/api/v1/namespaces/default")
                await client.ask("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{EVERYBODYS}")
                return
            await asyncio.sleep(0.2)


async def _add_machine(admin: KubernetesClient) -> None:
    await admin.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
    room = {"cpu": "16", "memory": "64Gi", "pods": "100", "ephemeral-storage": "500Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "it is"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    merge = "application/merge-patch+json"
    await admin.ask("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, content_type=merge)
