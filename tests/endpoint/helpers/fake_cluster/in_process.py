"""A fake cluster in the test's own event loop, so that it works in virtual time; and a kubelet without processes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.endpoint.helpers.fake_cluster.api import NAMESPACE, TOKEN, FakeCluster
from tests.endpoint.helpers.fake_cluster.objects import Object, Objects
from tests.endpoint.helpers.fake_cluster.server import content_of
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.api.cluster import Cluster
from torpor_endpoint.host.kubernetes.manifests import CONTAINER

NEVER_S = 3600.0
ANSWERED_S = 0.01


class QuietKubelet:
    """Says of each pod that it runs, at once, until it is deleted or a test `says` otherwise. It starts nothing.

    The pods of `lost` machines stay as they are.
    """

    def __init__(self) -> None:
        self.lost: set[str] = set()

    def look(self, objects: Objects) -> None:
        for pod in objects.all("pods"):
            metadata, node = pod["metadata"], pod["spec"].get("nodeName")
            if not node or node in self.lost:
                continue
            if "deletionTimestamp" in metadata:
                objects.remove("pods", metadata["name"])
            elif pod["status"]["phase"] == "Pending" and "containerStatuses" not in pod["status"]:
                objects.patch("pods", metadata["name"], {"status": running()})

    def output(self, pod: str, previous: bool) -> list[str]:
        return []

    async def followed(self, pod: str) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    async def close(self) -> None:
        """There is nothing to end."""


def running(restarts: int = 0, **last: Any) -> Object:
    """The status of a pod whose container runs."""
    of_last = {"lastState": {"terminated": last}} if last else {}
    container = {
        "name": CONTAINER,
        "restartCount": restarts,
        "containerID": f"c://{restarts}",
        "state": {"running": {}},
    }
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "conditions": conditions,
        "containerStatuses": [{**container, **of_last}],
    }


class InProcess(httpx.AsyncBaseTransport):
    """Carries requests to a fake cluster without sockets. What is asked is done even if nobody waits for the answer.

    While the cluster is `away` it cannot be reached. The answer to the call of `unanswered`, a method and a resource,
    does not come. `asked` has the queries of what was asked.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self.away = False
        self.unanswered: tuple[str, str] | None = None
        self.asked: list[dict[str, str]] = []
        self._broken = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(ANSWERED_S)
        if self.away:
            raise httpx.ConnectError("nobody answers", request=request)
        self.asked.append(dict(request.url.params))
        body = json.loads(await request.aread() or b"{}")
        target, headers = request.url.raw_path.decode(), dict(request.headers)
        answer = self._cluster.answer(request.method, target, headers, body)
        if self.unanswered == (request.method, _resource(request.url.path)):
            await asyncio.sleep(NEVER_S)
        if answer.lines is None:
            return httpx.Response(answer.status, headers=dict(answer.headers), content=content_of(answer))
        quiet_s = request.extensions["timeout"]["read"]
        return httpx.Response(answer.status, stream=_Lines(answer.lines, quiet_s, self._broken))

    def break_off(self) -> None:
        """All watches end in the middle."""
        self._broken.set()
        self._broken = asyncio.Event()


class _Lines(httpx.AsyncByteStream):
    def __init__(self, lines: AsyncIterator[str], quiet_s: float, broken: asyncio.Event) -> None:
        self._lines = lines
        self._quiet_s = quiet_s
        self._broken = broken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        broken = asyncio.ensure_future(self._broken.wait())
        try:
            while True:
                line = asyncio.ensure_future(anext(self._lines, None))
                await asyncio.wait({line, broken}, timeout=self._quiet_s, return_when=asyncio.FIRST_COMPLETED)
                if not line.done():
                    line.cancel()
                    await asyncio.wait({line})
                    raise httpx.RemoteProtocolError("cut off") if broken.done() else httpx.ReadTimeout("quiet")
                if (text := line.result()) is None:
                    return
                yield f"{text}\n".encode()
        finally:
            broken.cancel()


class ClusterInProcess:
    """A fake cluster, its kubelet, and clients of it."""

    def __init__(self) -> None:
        self.kubelet = QuietKubelet()
        self.cluster = FakeCluster(self.kubelet)
        self.wire = InProcess(self.cluster)
        self.objects = self.cluster.objects

    def client(self, namespace: str = NAMESPACE, token: str = TOKEN) -> KubernetesClient:
        of = Cluster("http://fake", namespace, "a test", False, lambda: token)
        return KubernetesClient(of, self.wire)

    async def until(self, true: Callable[[], Any], within_s: float = 60.0) -> None:
        """Wait in the loop's own time."""
        async with asyncio.timeout(within_s):
            while not true():
                await asyncio.sleep(ANSWERED_S)


@asynccontextmanager
async def cluster_in_process() -> AsyncIterator[ClusterInProcess]:
    """One whose controllers run as long as the context."""
    shared = ClusterInProcess()
    controllers = asyncio.create_task(shared.cluster.run())
    try:
        yield shared
    finally:
        controllers.cancel()
        await asyncio.wait({controllers})
        if not controllers.cancelled():
            controllers.result()


def _resource(path: str) -> str:
    """The resource of a path in a namespace."""
    parts = path.partition("/namespaces/")[2].split("/")
    return parts[1] if len(parts) > 1 else ""
