"""An API server for the contract: the fake one in virtual time, or a real one. Its caller is an administrator."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager
from itertools import count
from typing import Any, Protocol

import httpx

from tests.endpoint.helpers.fake_cluster.api import NAMESPACE, NODE, POWERLESS, TOKEN
from tests.endpoint.helpers.fake_cluster.control_plane import ADMIN, TORPOR, ControlPlane
from tests.endpoint.helpers.fake_cluster.in_process import ClusterInProcess, cluster_in_process
from tests.endpoint.helpers.fake_cluster.objects import Object
from tests.endpoint.helpers.virtual_time import ThreadlessTime

MERGE = "application/merge-patch+json"
LOOK_S = 0.05
WITHIN_S = 60.0
_namespaces = count()


class ApiServer:
    """`namespace` is the story's own. `powerless` calls as somebody without rights."""

    def __init__(self, http: httpx.AsyncClient, powerless: httpx.AsyncClient, namespace: str) -> None:
        self.powerless = powerless
        self.namespace = namespace
        self._http = http

    def path(self, resource: str, name: str = "", of: str = "", namespace: str = "") -> str:
        groups = {
            "deployments": "apis/apps/v1",
            "replicasets": "apis/apps/v1",
            "poddisruptionbudgets": "apis/policy/v1",
        }
        parts = [groups.get(resource, "api/v1"), "namespaces", namespace or self.namespace, resource, name, of]
        return "/" + "/".join(filter(None, parts))

    async def get(self, resource: str, name: str = "", of: str = "", **query: str) -> httpx.Response:
        return await self._http.get(self.path(resource, name, of), params=query)

    async def create(self, resource: str, body: Object, name: str = "", of: str = "") -> httpx.Response:
        return await self._http.post(self.path(resource, name, of), json=body)

    async def patch(self, resource: str, name: str, change: Object, of: str = "") -> httpx.Response:
        return await self.merge(self.path(resource, name, of), change)

    async def merge(self, path: str, change: Object) -> httpx.Response:
        return await self._http.patch(path, content=json.dumps(change).encode(), headers={"content-type": MERGE})

    async def delete(self, resource: str, name: str, **options: Any) -> httpx.Response:
        return await self.ask(
            "DELETE", self.path(resource, name), {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        )

    async def ask(self, method: str, path: str, body: Object) -> httpx.Response:
        return await self._http.request(method, path, json=body)

    async def version(self, resource: str) -> str:
        """From which a watch shows what comes now."""
        return str((await self.get(resource)).json()["metadata"]["resourceVersion"])

    async def watch(self, resource: str, version: str, **query: str) -> list[Object]:
        """The events of a watch, until it ends."""
        async with aclosing(self.events(resource, version, **query)) as events:
            return [event async for event in events]

    async def events(self, resource: str, version: str, **query: str) -> AsyncGenerator[Object, None]:
        asked = {"watch": "true", "resourceVersion": version, **query}
        async with self._http.stream("GET", self.path(resource), params=asked) as answer:
            assert answer.status_code == 200
            async for line in answer.aiter_lines():
                yield json.loads(line)

    async def until(self, true: Callable[[], Awaitable[Any]]) -> Any:
        """The first value that is true. Controllers take their time."""
        async with asyncio.timeout(WITHIN_S):
            while not (value := await true()):
                await asyncio.sleep(LOOK_S)
            return value

    async def close(self) -> None:
        await self._http.aclose()
        await self.powerless.aclose()


Story = Callable[[ApiServer], Coroutine[Any, Any, None]]


class ApiGround(Protocol):
    """Where a story is told."""

    def tell(self, story: Story) -> None: ...

    def controllers_rest(self) -> AbstractContextManager[None]:
        """Controllers do nothing meanwhile."""

    async def restart(self) -> None:
        """The API server ends without a word, and comes back without its history."""


class FakeGround:
    """Each story has a cluster of its own. It plays the kubelet."""

    def __init__(self) -> None:
        self._now: ClusterInProcess

    def tell(self, story: Story) -> None:
        async def told() -> None:
            async with cluster_in_process() as self._now:
                self._now.kubelet.lost.add(NODE)
                http, powerless = (_caller("http://fake", token, self._now.wire) for token in (TOKEN, POWERLESS))
                api = ApiServer(http, powerless, NAMESPACE)
                try:
                    await story(api)
                finally:
                    await api.close()

        with asyncio.Runner(loop_factory=ThreadlessTime) as runner:
            runner.run(asyncio.wait_for(told(), 3600.0))

    @contextmanager
    def controllers_rest(self) -> Iterator[None]:
        self._now.cluster.controllers.rest = True
        yield
        self._now.cluster.controllers.rest = False

    async def restart(self) -> None:
        self._now.objects.compact()
        self._now.wire.break_off()


class RealGround:
    """Each story has a namespace of its own, in one control plane."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def tell(self, story: Story) -> None:
        async def told() -> None:
            namespace = f"story-{next(_namespaces)}"
            http, powerless = (_caller(self._plane.url, token) for token in (ADMIN, TORPOR))
            api = ApiServer(http, powerless, namespace)
            try:
                made = await api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
                assert made.status_code == 201
                await story(api)
            finally:
                await api.close()

        asyncio.run(asyncio.wait_for(told(), 120.0))

    @contextmanager
    def controllers_rest(self) -> Iterator[None]:
        with self._plane.paused("kube-controller-manager"):
            yield

    async def restart(self) -> None:
        await self._plane.restart_api()


def _caller(url: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=url, headers=headers, transport=transport, verify=False, timeout=WITHIN_S)
