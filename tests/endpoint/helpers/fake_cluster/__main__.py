"""`python -m tests.endpoint.helpers.fake_cluster FOLDER`: a fake cluster until its input ends, whose containers are
`torpor-container serve`. It writes FOLDER/kubeconfig, and prints its path."""

import asyncio
import sys
from pathlib import Path

from tests.endpoint.helpers.fake_cluster.api import NAMESPACE, TOKEN, FakeCluster
from tests.endpoint.helpers.fake_cluster.containers import served
from tests.endpoint.helpers.fake_cluster.kubelet import Kubelet
from tests.endpoint.helpers.fake_cluster.server import ClusterServer

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: fake
contexts: [{{name: fake, context: {{cluster: fake, user: torpor, namespace: {namespace}}}}}]
clusters: [{{name: fake, cluster: {{server: "{url}"}}}}]
users: [{{name: torpor, user: {{token: {token}}}}}]
"""


def kubeconfig(url: str, namespace: str = NAMESPACE, token: str = TOKEN) -> str:
    return KUBECONFIG.format(url=url, namespace=namespace, token=token)


async def main(folder: Path) -> None:
    server = ClusterServer(FakeCluster(Kubelet(served, folder / "pods")))
    await server.start()
    path = folder / "kubeconfig"
    path.write_text(kubeconfig(server.url))
    print(path, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
