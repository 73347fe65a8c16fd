"""Brings the output of a pod's container to a file of the endpoint, line by line.

Each line comes with its moment, so that a follower that lost its connection goes on where it was. What the disk does
not take is lost, and the log says so.
"""

import asyncio
import logging
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path

from torpor_endpoint.host import HostError
from torpor_endpoint.host.exits import last_output
from torpor_endpoint.host.kubernetes.api.client import KubernetesClient
from torpor_endpoint.host.kubernetes.manifests import CONTAINER

QUIET_S = 300.0
AGAIN_S, AGAIN_MAX_S = 1.0, 30.0
"""A follower waits so long before it asks again, and twice as long after each refusal: a machine that is lost answers
for none of its pods, and many of them would keep the cluster from other calls."""
LAST_WITHIN_S = 5.0

log = logging.getLogger(__name__)


class PodOutput:
    """The output of one incarnation. `path` is the file, which a follower of an earlier process may have begun."""

    def __init__(self, client: KubernetesClient, pod: str, path: Path) -> None:
        self._client = client
        self._pod = pod
        self._path = path
        self._last = _modified(path)
        self._took_any = False
        self._loses = False  # what comes now
        self._ended = asyncio.Event()
        self._follower: asyncio.Task[None] | None = None

    def follow(self) -> None:
        """Follow the output until `finish` or `close`."""
        self._follower = asyncio.create_task(self._follow(), name=f"output of {self._pod}")

    async def finish(self, *, replaced: bool) -> None:
        """Take what is left of a container that has ended. `replaced`: another one has begun in the pod."""
        self._ended.set()
        with suppress(HostError, TimeoutError):  # the pod is gone, and its output with it
            async with asyncio.timeout(LAST_WITHIN_S):
                if self._follower is not None:
                    await asyncio.wait({self._follower})
                if not replaced:
                    await self._take({}, LAST_WITHIN_S)
                elif not self._took_any:
                    await self._take({"previous": "true"}, LAST_WITHIN_S)
        await self.close()

    async def close(self) -> None:
        """Follow it no longer."""
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.wait({self._follower})

    async def _follow(self) -> None:
        pause_s = AGAIN_S
        while not self._ended.is_set():
            try:
                await self._take({"follow": "true"}, QUIET_S)
                pause_s = AGAIN_S
            except HostError:
                pause_s = min(2 * pause_s, AGAIN_MAX_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._ended.wait()

    async def last_line(self) -> str:
        """The end of the output, to add to a message."""
        return await asyncio.to_thread(last_output, self._path)

    async def _take(self, query: dict[str, str], quiet_s: float) -> None:
        query = {"container": CONTAINER, "timestamps": "true", **query}
        known = self._last
        if known:
            query["sinceTime"] = known[:19] + "Z"
        path = self._client.path("pods", self._pod, "log")
        async with aclosing(self._client.lines(path, query, quiet_s, ("get", "pods/log"))) as came:
            async for lines in came:
                texts = []
                for line in lines:
                    moment, _, text = line.partition(b" ")
                    at = moment.decode(errors="replace")
                    if at > known:
                        self._last, self._took_any = at, True
                        texts.append(text + b"\n")
                if texts:
                    await self._keep(b"".join(texts))

    async def _keep(self, text: bytes) -> None:
        """Write on a thread. A disk that takes nothing must not end the follower: it may have room again."""
        try:
            await asyncio.to_thread(_append, self._path, text)
            self._loses = False
        except OSError as error:
            if not self._loses:
                log.warning("output of %s is lost until it can be written again: %s", self._pod, error)
            self._loses = True


def _append(path: Path, text: bytes) -> None:
    """Each time anew, since whoever bounds the file truncates it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(text)


def _modified(path: Path) -> str:
    """When the file was written, as the moments of lines are; empty if there is none."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    except OSError:
        return ""
