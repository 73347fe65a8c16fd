"""The API of a fake cluster: a request and its answer, whatever carries them. It knows the calls that the host makes,
and those by which a test plays an administrator or a kubelet."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

from tests.endpoint.helpers.fake_cluster.admission import admit, broken_rules
from tests.endpoint.helpers.fake_cluster.controllers import Controllers, evict
from tests.endpoint.helpers.fake_cluster.objects import Object, Objects
from tests.endpoint.helpers.fake_cluster.refusals import Refused, full_name, not_found
from tests.endpoint.helpers.fake_cluster.watches import watched

NAMESPACE = "models"
TOKEN = "let-me-in"
POWERLESS = "let-me-ask"
"""The token of somebody who may do nothing."""
NODE = "machine"
ROOM = "64Gi"


@dataclass(frozen=True)
class Answer:
    """What is answered: one document, or `lines` that follow."""

    status: int
    document: Object | str
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: AsyncIterator[str] | None = None


class KubeletOfPods(Protocol):
    """What runs the pods of a fake cluster."""

    def look(self, objects: Objects) -> None: ...

    def output(self, pod: str, previous: bool) -> list[str]: ...

    def followed(self, pod: str) -> AsyncIterator[str]: ...

    async def close(self) -> None: ...


class FakeCluster:
    """A cluster of one namespace, with one machine that has ROOM.

    `denied` has pairs of a verb and a resource that its callers may not use. The next `crowded` calls are put off, and
    the next `contended` creations conflict with another one in their quota.
    """

    def __init__(self, kubelet: KubeletOfPods) -> None:
        self.objects = Objects()
        self.around = Objects()
        self.kubelet = kubelet
        self.controllers = Controllers(self.objects, self.around, NAMESPACE)
        self.denied: set[tuple[str, str]] = set()
        self.crowded = self.contended = 0
        self.around.create("namespaces", {"metadata": {"name": NAMESPACE}})
        self.around.create("nodes", {"metadata": {"name": NODE}, "status": {"allocatable": {"memory": ROOM}}})

    async def run(self) -> None:
        """The controllers and the kubelet: after each change they look at everything."""
        try:
            while True:
                changes = self.objects.change, self.around.change
                self.controllers.look()
                self.kubelet.look(self.objects)
                if changes == (self.objects.change, self.around.change):
                    waits = [asyncio.ensure_future(change.wait()) for change in changes]
                    try:
                        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for one in waits:
                            one.cancel()
                else:
                    await asyncio.sleep(0)
        finally:
            self.controllers.close()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: Object) -> Answer:
        """What a request is answered, whose headers have names in lower case."""
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        try:
            token = headers.get("authorization", "").removeprefix("Bearer ")
            if token not in (TOKEN, POWERLESS):
                raise Refused(401, "Unauthorized", "Unauthorized")
            if self.crowded:
                self.crowded -= 1
                raise Refused(429, "TooManyRequests", "too many requests, please try again later", retry_after_s=1)
            return self._routed(method, parts.path, query, body, token == POWERLESS)
        except Refused as refused:
            again = {"retry-after": str(refused.retry_after_s)} if refused.retry_after_s else {}
            return Answer(refused.status, refused.said, again)

    def _routed(self, method: str, path: str, query: dict[str, str], body: Object, powerless: bool) -> Answer:
        if path == "/version":
            return Answer(200, {"gitVersion": "v1.37.0"})
        if path.endswith("selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
            return Answer(201, {"status": {"allowed": (asked["verb"], resource) not in self.denied}})
        *_, rest = path.split("/api/v1/" if path.startswith("/api/") else "/v1/", 1)
        if rest.split("/")[0] == "namespaces" and rest.count("/") > 1:
            _, namespace, resource, name, of = (*rest.split("/"), "", "")[:5]
        else:
            namespace, (resource, name, of) = "", (*rest.split("/"), "", "")[:3]
        objects = self.objects if namespace else self.around
        if namespace not in ("", NAMESPACE) and method == "POST":
            raise not_found("namespaces", namespace)
        verb = "watch" if query.get("watch") == "true" else VERBS[method] if method != "GET" or name else "list"
        if powerless or (verb, f"{resource}/{of}" if of else resource) in self.denied:
            raise _no_right(verb, resource, namespace)
        if of == "log":
            return self._log(name, query)
        if query.get("watch") == "true":
            return Answer(200, "", lines=watched(objects, resource, query))
        if method == "GET" and not name:
            items = objects.all(resource, query.get("labelSelector", "")) if namespace in ("", NAMESPACE) else []
            return Answer(200, {"items": items, "metadata": {"resourceVersion": str(objects.version)}})
        if method == "POST":
            return self._created(objects, resource, name, of, query, body)
        acts: dict[str, Callable[[], Object]] = {
            "GET": lambda: objects.get(resource, name),
            "PATCH": lambda: objects.patch(resource, name, _changes(body, of)),
            "DELETE": lambda: objects.delete(resource, name, body),
        }
        return Answer(200, acts[method]())

    def _created(
        self, objects: Objects, resource: str, name: str, of: str, query: Mapping[str, str], body: Object
    ) -> Answer:
        if of == "eviction":
            evict(objects, name)
            return Answer(201, {"kind": "Status", "status": "Success", "code": 201})
        warned = {}
        if objects is self.objects:
            namespace = self.around.get("namespaces", NAMESPACE)
            admit(resource, body, objects, namespace)
            if self.contended:
                self.contended -= 1
                why = "the object has been modified; please apply your changes to the latest version and try again"
                raise Refused(409, "Conflict", f'Operation cannot be fulfilled on resourcequotas "small": {why}')
            if resource == "deployments" and (broken := broken_rules(body["spec"]["template"]["spec"], namespace)):
                said = broken.replace("violates", "would violate", 1).replace('"', '\\"')
                warned = {"warning": f'299 - "{said}"'}
        if query.get("dryRun"):
            return Answer(201, body, warned)
        return Answer(201, objects.create(resource, _without_status(body)), warned)

    def _log(self, pod: str, query: Mapping[str, str]) -> Answer:
        if not self.objects.get("pods", pod)["spec"].get("nodeName"):
            return Answer(204, "")
        if query.get("follow"):
            return Answer(200, "", lines=self.kubelet.followed(pod))
        return Answer(200, "".join(f"{line}\n" for line in self.kubelet.output(pod, query.get("previous") == "true")))


VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}


def _no_right(verb: str, resource: str, namespace: str) -> Refused:
    named = full_name(resource)
    group = named.removeprefix(resource).lstrip(".")
    who = f'User "torpor" cannot {verb} resource "{resource}" in API group "{group}" in the namespace "{namespace}"'
    return Refused(403, "Forbidden", f"{named} is forbidden: {who}")


def _changes(body: Object, of: str) -> Object:
    """A status is written by its own path alone, and nothing else is there."""
    return {"status": body["status"]} if of == "status" else _without_status(body)


def _without_status(body: Object) -> Object:
    return {name: value for name, value in body.items() if name != "status"}
