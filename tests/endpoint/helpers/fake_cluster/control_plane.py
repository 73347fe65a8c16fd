"""A real control plane for tests, from Kubernetes 1.24 on: etcd, API server, scheduler, controllers.

TORPOR_KUBERNETES_BINARIES names the folder of their programs. The user TORPOR is the service account of the Helm
chart's endpoint, and has the rights that the chart gives it.
"""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import create_server
from typing import Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import Cluster

BINARIES = os.environ.get("TORPOR_KUBERNETES_BINARIES", "")
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
AT_HAND = bool(BINARIES) and all((Path(BINARIES) / name).exists() for name in PROGRAMS)
ADMIN, TORPOR = "the-admins-token", "the-endpoints-token"
NAMESPACE = "models"
SECURITY = "pod-security.kubernetes.io/enforce"
RESTRICTED = {SECURITY: "restricted", f"{SECURITY}-version": "latest"}
"""The labels of a namespace whose pods keep the strictest of the Pod Security Standards."""
STRICT = {"fieldValidation": "Strict"}
"""An object with a field that the API does not know is refused."""
NODE = "machine"
STARTED_WITHIN_S = 60.0
EVERYBODYS = "system:discovery"
"""Who may ask for the version: the API server makes its own roles a moment after it answers."""
CONTROLLERS = "deployment,replicaset,garbagecollector,namespace,serviceaccount,disruption,resourcequota,nodelifecycle"
TAINTS = "taint-eviction-controller"
"""From 1.29 on a controller of its own evicts pods from machines with taints
(https://kubernetes.io/blog/2023/12/19/kubernetes-1-29-taint-eviction-controller/), and needs that of nodes too."""
NEVER = ("--node-monitor-grace-period=24h", "--node-startup-grace-period=24h")
"""Nobody renews the lease of the machine here."""
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
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
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
            ("kube-controller-manager", (*_controllers(), "--use-service-account-credentials=false")),
        ):
            self._run(name, "--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0", *further)
        await admin.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": RESTRICTED}})
        await add_machine(admin, NODE)
        await admin.close()

    async def install(self, objects: list[dict[str, Any]]) -> None:
        """Create the objects of the chart."""
        admin = self.client(ADMIN)
        for one in objects:
            if one["kind"] in PATHS:
                await admin.ask("POST", f"/{PATHS[one['kind']]}", one, STRICT)
        await admin.close()

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """A program of these stands still."""
        self._processes[name].send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._processes[name].send_signal(signal.SIGCONT)

    async def restart_api(self) -> None:
        """Kill the API server and start it again. Of what was before, etcd knows no more than how it is now."""
        version = self._ask_etcd("range", {"key": "AA=="})["header"]["revision"]
        self._ask_etcd("compaction", {"revision": version})
        self._processes["kube-apiserver"].kill()
        self._processes["kube-apiserver"].wait()
        self._start_api()
        admin = self.client(ADMIN)
        await _reached(admin)
        await admin.close()

    def stop(self) -> None:
        """One after the other: an API server without its etcd takes a minute to end."""
        for process in reversed(self._ordered()):
            process.terminate()
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _ordered(self) -> list[subprocess.Popen[bytes]]:
        """Each needs those before it."""
        return [self._processes[name] for name in PROGRAMS if name in self._processes]

    def _ask_etcd(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self._etcd}/v3/kv/{what}"
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())) as answer:
            read: dict[str, Any] = json.load(answer)
            return read

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
            command = [str(Path(BINARIES) / name), *arguments]
            self._processes[name] = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)


def _controllers() -> tuple[str, ...]:
    """The options that choose the controllers of this release."""
    program = str(Path(BINARIES) / "kube-controller-manager")
    known = subprocess.run([program, "--help"], capture_output=True, check=True, text=True).stdout
    further = f",{TAINTS}" if TAINTS in known else ""
    return (f"--controllers={CONTROLLERS}{further}", *NEVER)


async def _reached(client: KubernetesClient) -> None:
    async with asyncio.timeout(STARTED_WITHIN_S):
        while True:
            with suppress(HostError):
                await client.ask("GET", "/api/v1/namespaces/default")
                await client.ask("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{EVERYBODYS}")
                return
            await asyncio.sleep(0.2)


async def add_machine(admin: KubernetesClient, name: str, cpus: int = 16, memory_gib: int = 64) -> None:
    """A machine with room for so much, which nobody looks after."""
    await admin.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    room = {"cpu": f"{cpus}", "memory": f"{memory_gib}Gi", "pods": "200", "ephemeral-storage": "5000Gi"}
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "it is"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    merge = "application/merge-patch+json"
    await admin.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content_type=merge)
