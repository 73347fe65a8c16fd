"""A real control plane with the chart of Torpor, and a kubelet of the tests."""

import os
import tomllib
from pathlib import Path

import yaml

from tests.deploy.helm.rendering import RENDERED
from tests.endpoint.helpers.fake_cluster.containers import StartContainer
from tests.endpoint.helpers.fake_cluster.control_plane import ADMIN, TORPOR, ControlPlane
from tests.endpoint.helpers.fake_cluster.hosts import SECRET
from tests.endpoint.helpers.fake_cluster.kubelet import Kubelet
from tests.endpoint.helpers.fake_cluster.remote_objects import RemoteObjects
from tests.helpers.processes import children
from torpor_endpoint.host.kubernetes.kubernetes_file import KubernetesSettings
from torpor_endpoint.host.kubernetes.kubernetes_host import KubernetesHost


class RealGround:
    """The control plane with the chart installed, and a kubelet of all machines, which starts containers by `start`."""

    def __init__(self, folder: Path, start: StartContainer) -> None:
        self.plane = ControlPlane(folder / "plane")
        self.lost: set[str] = set()  # machines on which no kubelet runs
        self._kubelet = Kubelet(start, folder / "pods")

    async def start(self) -> None:
        await self.plane.start()
        objects = list(yaml.safe_load_all((RENDERED / "smallest.yaml").read_text()))
        await self.plane.install(objects)
        self._objects = RemoteObjects(self.plane.client(ADMIN), self._kubelet.look, self.lost)
        await self._objects.start()
        config = next(one for one in objects if one["kind"] == "ConfigMap")
        self.settings = KubernetesSettings(**tomllib.loads(config["data"]["kubernetes.toml"]))

    def host(self, keep: bool = False) -> KubernetesHost:
        return KubernetesHost(self.plane.client(TORPOR), self.settings, SECRET, keep)

    def containers(self) -> list[int]:
        """The processes of all containers."""
        parents = [pid for pid in children(os.getpid()) if pid not in self.plane.pids()]
        return [pid for parent in parents for pid in children(parent)]

    async def close(self) -> None:
        await self._kubelet.close()
        await self._objects.close()
        self.plane.stop()
