"""The API of a fake cluster: HTTP on loopback, with the calls that the host makes and no others."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.endpoint.helpers.fake_cluster.kubelet import Kubelet
from tests.endpoint.helpers.fake_cluster.objects import Conflict, Object, Objects, selected

NAMESPACE = "models"
TOKEN = "let-me-in"


class Refused(Exception):
    """An answer of the API that is no success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class FakeCluster:
    """A cluster of one namespace. `denied` has pairs of a verb and a resource that its callers may not use."""

    def __init__(self, kubelet: Kubelet) -> None:
        self.objects = Objects()
        self.kubelet = kubelet
        self.denied: set[tuple[str, str]] = set()
        self.asked: list[str] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self._controllers = asyncio.create_task(self._run())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        self._server.close()
        for task in (self._controllers, *self._connections):
            task.cancel()
        await asyncio.gather(self._controllers, *self._connections, return_exceptions=True)
        await self.kubelet.close()

    async def _run(self) -> None:
        """The controllers and kubelet: after each change they look at everything."""
        while True:
            change = self.objects.change
            self.objects.reconcile()
            self.kubelet.look(self.objects)
            if change is self.objects.change:
                await change.wait()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while line := await reader.readline():
                await self._request(line.decode(), reader, writer)
        writer.close()

    async def _request(self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, _ = line.split()
        headers = {}
        while (field := (await reader.readline()).decode().strip()) != "":
            name, _, value = field.partition(":")
            headers[name.lower()] = value.strip()
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append(f"{method} {target}")
        try:
            if headers.get("authorization") != f"Bearer {TOKEN}":
                raise Refused(401, "Unauthorized")
            if query.get("watch") or query.get("follow"):
                await _stream(writer, self._followed(parts.path, query))
            else:
                await _answer(writer, 200, self._answered(method, parts.path, query, body))
        except Refused as refused:
            await _answer(writer, refused.status, {"kind": "Status", "message": str(refused)})

    def _answered(self, method: str, path: str, query: dict[str, str], body: Object) -> Object | str:
        if path == "/version":
            return {"gitVersion": "v1.37.0"}
        if path.endswith("selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
            return {"status": {"allowed": (asked["verb"], resource) not in self.denied}}
        _, _, rest = path.partition("/namespaces/")
        namespace, resource, name, of = (*rest.split("/"), "", "")[:4]
        if namespace != NAMESPACE and method == "POST":
            raise Refused(404, f'namespaces "{namespace}" not found')
        if of == "log":
            return "".join(f"{line}\n" for line in self.kubelet.output(name, query.get("previous") == "true"))
        return self._acted(method, resource, name, query, body)

    def _acted(self, method: str, resource: str, name: str, query: dict[str, str], body: Object) -> Object:
        objects = self.objects
        if method == "POST":
            if query.get("dryRun"):
                return body
            try:
                return objects.create(resource, body)
            except Conflict:
                raise Refused(409, f"{resource} {body['metadata']['name']} already exists") from None
        if not name:
            items = objects.all(resource, query.get("labelSelector", ""))
            return {"items": items, "metadata": {"resourceVersion": str(objects.version)}}
        if (resource, name) not in objects.by_name:
            raise Refused(404, f'{resource} "{name}" not found')
        if method == "PATCH":
            return objects.patch(resource, name, body)
        if method == "DELETE" and resource == "pods":
            objects.end_pod(name, float(body.get("gracePeriodSeconds", 30)))
        elif method == "DELETE":
            if body.get("preconditions", {}).get("uid") not in (
                None,
                objects.by_name[resource, name]["metadata"]["uid"],
            ):
                raise Refused(409, f"{resource} {name} is another one")
            objects.remove(resource, name)
            return {}
        return objects.by_name[resource, name]

    async def _followed(self, path: str, query: dict[str, str]) -> AsyncIterator[str]:
        if path.endswith("/log"):
            pod = path.split("/")[-2]
            async for line in self.kubelet.followed(pod):
                yield line
            return
        resource, at = path.rsplit("/", 1)[1], int(query["resourceVersion"])
        while True:
            for of, event, about in self.objects.happened[at:]:
                if of == resource and selected(about, query.get("labelSelector", "")):
                    yield json.dumps({"type": event, "object": about})
            at = self.objects.version
            await self.objects.change.wait()


async def _answer(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    writer.write(f"HTTP/1.1 {status} .\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)
    await writer.drain()


async def _stream(writer: asyncio.StreamWriter, lines: AsyncIterator[str]) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    async for line in lines:
        content = f"{line}\n".encode()
        writer.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
