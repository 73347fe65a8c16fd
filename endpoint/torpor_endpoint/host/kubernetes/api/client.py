"""Calls the API of a cluster: JSON in and out, and lines that follow. Every call has a time limit.

It is httpx and nothing more. docs/architecture.md (The cluster's API) says what client libraries lack.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torpor_endpoint.host import HostError
from torpor_endpoint.host.kubernetes.api.cluster import Cluster
from torpor_endpoint.host.kubernetes.api.role_rules import refusal

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport, Response

WITHIN_S = 10.0
CROWDED_S = 20.0
"""How long a call to a server that has too much to do goes on, beyond WITHIN_S."""
TOKEN_S = 60.0
"""How long a token is used before it is asked for again. The cluster's own are good for some minutes more."""
CALLS_MAX = 32
"""How many calls a client makes at once. The others wait for their turn, and none of their time has begun."""
CROWDED = 429
CONTENDED_S = 0.25
JSON = "application/json"
MERGE = "application/merge-patch+json"
SHOWN_MAX = 400
NO_RIGHT = re.compile(r'\bUser "[^"]*" cannot ')
"""What the server says of a right that lacks. It forbids for other reasons too: quotas, rules of the namespace."""
LINE_MAX_BYTES = 4 * 1024 * 1024
"""An object of a cluster takes 1.5 MiB at most (etcd's --max-request-bytes)."""

Object = dict[str, Any]


class ClusterRefused(HostError):
    """The cluster refused a call. `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubernetesClient:
    """Calls one cluster, and one namespace in it. `transport` carries the requests; HTTP does by default.

    Each answer whose lines are followed has a connection of its own, as many as there are: the output of a pod is one.
    """

    def __init__(self, cluster: Cluster, transport: "AsyncBaseTransport | None" = None) -> None:
        import httpx  # nobody else needs it

        self.cluster = cluster
        self._http = httpx.AsyncClient(
            base_url=cluster.url,
            verify=cluster.tls,
            timeout=WITHIN_S,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=CALLS_MAX),
            trust_env=False,
            transport=transport,
        )
        self._turns = asyncio.Semaphore(CALLS_MAX)
        self._token, self._token_until_s = "", 0.0

    def path(self, resource: str, name: str = "", of: str = "") -> str:
        """The path of a resource of the namespace, `of` is what follows a name, such as `log`."""
        parts = ["", GROUPS.get(resource, "api/v1"), "namespaces", self.cluster.namespace, resource, name, of]
        return "/".join(parts).rstrip("/")

    async def call(
        self,
        verb: str,
        resource: str,
        name: str = "",
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Object:
        """One call of a verb of Kubernetes on a resource of the namespace. Raises HostError, ClusterRefused."""
        method, content_type = VERBS[verb]
        return await self.ask(method, self.path(resource, name), body, query, content_type, (verb, resource))

    async def ask(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        about: tuple[str, str] = ("call", "this"),
    ) -> Object:
        """One call of a path. `about` is the verb and the resource, for messages. A server that has too much to do says
        when to call again: nothing of the call was done."""
        import httpx

        content = None if body is None else json.dumps(body).encode()
        try:
            async with self._turns, asyncio.timeout(WITHIN_S + CROWDED_S):
                while True:
                    headers = {"content-type": content_type, **await self._authorization()}
                    answer = await self._http.request(method, path, content=content, params=query, headers=headers)
                    if (pause_s := _pause_s(method, answer)) is None:
                        break
                    await asyncio.sleep(pause_s)
        except (httpx.HTTPError, OSError) as error:  # TimeoutError is an OSError
            raise self._unreached(error) from error
        if answer.status_code >= 400:
            raise self._refused(answer.status_code, answer.text, about)
        try:
            read: Object = answer.json() if answer.content else {}
        except ValueError as error:
            raise self._unreached(error) from error
        return read

    async def lines(
        self, path: str, query: Mapping[str, str], quiet_s: float, about: tuple[str, str]
    ) -> AsyncGenerator[list[bytes], None]:
        """The lines of an answer as they come, those together that come together. An answer that is silent for
        `quiet_s` has ended. Raises HostError."""
        import httpx

        limits = httpx.Timeout(WITHIN_S, read=quiet_s)
        try:
            headers = await self._authorization()
            async with self._http.stream("GET", path, params=query, headers=headers, timeout=limits) as answer:
                if answer.status_code >= 400:
                    raise self._refused(answer.status_code, (await answer.aread()).decode(errors="replace"), about)
                reader = LineReader()
                async for chunk in answer.aiter_bytes():
                    if lines := reader.read(chunk):
                        yield lines
                if rest := reader.line():
                    yield [rest]
        except httpx.ReadTimeout:
            return
        except (httpx.HTTPError, OSError) as error:
            raise self._unreached(error) from error

    async def close(self) -> None:
        await self._http.aclose()

    async def _authorization(self) -> dict[str, str]:
        now_s = time.monotonic()
        if now_s >= self._token_until_s:
            try:
                self._token = await asyncio.to_thread(self.cluster.token)
            except OSError as error:
                raise HostError(f"the token of {self.cluster.source} cannot be read: {error}") from error
            self._token_until_s = now_s + TOKEN_S
        return {"authorization": f"Bearer {self._token}"} if self._token else {}

    def _unreached(self, error: Exception) -> HostError:
        why = str(error) or type(error).__name__
        return HostError(
            f"the cluster at {self.cluster.url} cannot be reached ({why}): it is that of {self.cluster.source}"
        )

    def _refused(self, status: int, text: str, about: tuple[str, str]) -> ClusterRefused:
        verb, resource = about
        namespace, source = self.cluster.namespace, self.cluster.source
        said = _message(text)
        if status == 401:
            self._token_until_s = 0.0
            return ClusterRefused(
                status, f"the cluster at {self.cluster.url} does not accept the credentials of {source}"
            )
        if status == 403 and NO_RIGHT.search(said):
            return ClusterRefused(status, refusal(verb, resource, namespace))
        if status == 404 and said.startswith('namespaces "'):
            return ClusterRefused(
                status, f"the cluster has no namespace {namespace}: create it, or name another in --kubernetes-file"
            )
        return ClusterRefused(
            status, f"the cluster refused to {verb} {resource} in {namespace}: {said} (HTTP {status})"
        )


class LineReader:
    """Splits what comes into lines. Of a line that is too long it keeps the beginning, and says how much is cut."""

    def __init__(self, longest_bytes: int = LINE_MAX_BYTES) -> None:
        self._longest_bytes = longest_bytes
        self._begun = bytearray()
        self._cut_bytes = 0

    def read(self, chunk: bytes) -> list[bytes]:
        """The lines that end in what came now."""
        *ends, rest = chunk.split(b"\n")
        lines = []
        for end in ends:
            self._add(end)
            lines.append(self.line())
        self._add(rest)
        return lines

    def line(self) -> bytes:
        """The line as far as it has come, which ends here."""
        cut = b" (and %d bytes more, which Torpor left out)" % self._cut_bytes if self._cut_bytes else b""
        line = bytes(self._begun) + cut
        self._begun, self._cut_bytes = bytearray(), 0
        return line

    def _add(self, piece: bytes) -> None:
        kept = piece[: self._longest_bytes - len(self._begun)]
        self._begun += kept
        self._cut_bytes += len(piece) - len(kept)


GROUPS = {
    "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1",
    "poddisruptionbudgets": "apis/policy/v1",
}
"""Where resources are that are not of the core API."""

VERBS = {
    "get": ("GET", JSON),
    "list": ("GET", JSON),
    "create": ("POST", JSON),
    "patch": ("PATCH", MERGE),
    "delete": ("DELETE", JSON),
}


def _pause_s(method: str, answer: "Response") -> float | None:
    """The seconds after which the server wants the call again; None if it has answered. An eviction that a disruption
    budget holds up has no such header, and is an answer
    (https://kubernetes.io/docs/concepts/cluster-administration/flow-control/). A creation that conflicts was counted by
    a quota at the same time as another one; a name that is taken has another reason."""
    status, retry_after = answer.status_code, answer.headers.get("retry-after", "")
    if status == CROWDED and retry_after.isdecimal():
        return max(0.1, float(retry_after))
    return CONTENDED_S if (method, status) == ("POST", 409) and _member(answer.text, "reason") == "Conflict" else None


def _message(text: str) -> str:
    return " ".join(str(_member(text, "message") or text).split())[:SHOWN_MAX]


def _member(text: str, name: str) -> object:
    """A member of the document that a refusal comes with; None for any other text."""
    try:
        return json.loads(text)[name]
    except (ValueError, KeyError, TypeError):
        return None


@contextmanager
def refused_with(status: int) -> Iterator[None]:
    """This refusal is no fault: what is to be is already so."""
    try:
        yield
    except ClusterRefused as refused:
        if refused.status != status:
            raise
